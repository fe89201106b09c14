"""Gradient boosted trees of depth three on binned latents: importances and predictions, fast.

Friedman (2001), algorithms 3, 5 and 6, with the settings behind published DCI scores: 100 stages,
learning rate .1, depth 3, one tree a class and stage. Splits are searched between the bins of a
histogram instead of between all values; latents with fewer values than bins are split exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.scores.prediction.trees import BINARY, MULTINOMIAL, SQUARED, boost_trees

N_STAGES = 100
N_BINS = 256


@dataclass(frozen=True)
class Boosted:
    """What boosting learnt about one factor.

    Attributes
    ----------
    importance : ndarray of shape (z,)
        Squared error removed by the splits on every latent, over all trees; sums to one, or to
        zero where no tree found a split.
    train, test : ndarray of shape (n,)
        Predicted values: codes of classes, or numbers in a regression.
    """

    importance: np.ndarray
    train: np.ndarray
    test: np.ndarray


def bin_for_splits(
    train: np.ndarray, test: np.ndarray, n_bins: int = N_BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the bins of every column by edges of the training rows alone.

    Edges lie halfway between neighbouring values. A column with more different values than bins
    gets bins of about as many rows each.

    Returns
    -------
    train, test : ndarray of uint16, shape (z, n)
        A latent a row, since histograms are filled latent by latent.
    counts : ndarray of int64, shape (z,)
        Bins of every latent.

    Examples
    --------
    >>> codes, _, counts = bin_for_splits(np.array([[0.0], [2.0], [2.0], [4.0]]), np.zeros((1, 1)))
    >>> codes.tolist(), counts.tolist()
    ([[0, 1, 1, 2]], [3])
    """
    n, z = train.shape
    codes = np.empty((z, n), np.uint16)
    others = np.empty((z, len(test)), np.uint16)
    counts = np.ones(z, np.int64)
    even = np.arange(1, n_bins) * n // n_bins
    for j in range(z):
        ordered = np.sort(train[:, j])
        starts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1  # where a new value begins
        if len(starts) >= n_bins:
            nearest = np.minimum(np.searchsorted(starts, even), len(starts) - 1)
            starts = np.unique(starts[nearest])
        edges = ordered[starts - 1] + (ordered[starts] - ordered[starts - 1]) / 2
        codes[j] = np.searchsorted(edges, train[:, j])
        others[j] = np.searchsorted(edges, test[:, j])
        counts[j] += len(edges)
    return codes, others, counts


def boost(
    train: np.ndarray,
    test: np.ndarray,
    counts: np.ndarray,
    target: np.ndarray,
    *,
    regression: bool = False,
    n_stages: int = N_STAGES,
) -> Boosted:
    """Boost trees that predict a factor from binned latents.

    Parameters
    ----------
    train, test, counts
        From `bin_for_splits`.
    target : ndarray of shape (n_train,)
        Codes of classes, or numbers when `regression`.

    Returns
    -------
    Boosted

    Examples
    --------
    >>> latents = np.array([[0.0, 5.0], [0.1, 5.0], [0.9, 5.0], [1.0, 5.0]])
    >>> codes, _, counts = bin_for_splits(latents, latents)
    >>> boosted = boost(codes, codes, counts, np.array([0, 0, 1, 1]))
    >>> boosted.importance, boosted.test
    (array([1., 0.]), array([0, 0, 1, 1]))
    """
    if regression:
        classes, codes = np.zeros(1), np.zeros(len(target), np.int64)
        values, start, loss = target.astype(float)[None], np.array([target.mean()]), SQUARED
    else:
        classes, codes = np.unique(target, return_inverse=True)
        share = np.bincount(codes) / len(codes)
        if len(classes) == 1:
            everywhere = np.full(len(target), classes[0]), np.full(test.shape[1], classes[0])
            return Boosted(np.zeros(len(counts)), *everywhere)
        if len(classes) == 2:
            values, loss = (codes == 1).astype(float)[None], BINARY
            start = np.array([np.log(share[1] / share[0])])
        else:
            values = (codes == np.arange(len(classes))[:, None]).astype(float)
            start, loss = np.log(share), MULTINOMIAL
    raw = np.repeat(start[:, None], train.shape[1], axis=1)
    raw_test = np.repeat(start[:, None], test.shape[1], axis=1)
    gains = boost_trees(train, test, counts, values, raw, raw_test, loss, n_stages)
    importance = gains / gains.sum() if gains.sum() > 0 else gains
    if loss == SQUARED:
        return Boosted(importance, raw[0], raw_test[0])
    if loss == BINARY:
        return Boosted(
            importance, classes[(raw[0] > 0).astype(int)], classes[(raw_test[0] > 0).astype(int)]
        )
    return Boosted(importance, classes[raw.argmax(axis=0)], classes[raw_test.argmax(axis=0)])
