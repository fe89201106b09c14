"""Discrete latents: columns of labels or of probabilities, and how much labels vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from geodis.base.check import InputError, check_int
from geodis.scores.active import UNUSED_KL

# Rows and counts of batches that are held at once.
CELLS = 2**22


@dataclass(frozen=True)
class MergedLatents:
    """Latents of which every discrete one is a column of codes.

    Attributes
    ----------
    table : ndarray of shape (n, z)
        Latents, and codes 0, 1, ... of the discrete ones.
    discrete : ndarray of bool, shape (z,)
    first : ndarray of int64, shape (z,)
        The first column of every latent in the table that was given.
    probabilities : dict of int to ndarray
        Of the discrete latents that were given as several columns.
    """

    table: np.ndarray
    discrete: np.ndarray
    first: np.ndarray
    probabilities: dict[int, np.ndarray] = field(default_factory=dict)

    def gini(self, typical: np.ndarray) -> np.ndarray:
        """Gini's variance of the discrete latents over these rows (t,), NaN for others, (z,)."""
        found = np.full(len(self.discrete), np.nan)
        for j in np.flatnonzero(self.discrete):
            found[j] = gini_variances(self.table[:, j], typical[None])[0]
        return found

    def used(self, typical: np.ndarray) -> np.ndarray:
        """Whether each discrete latent varies, and its probabilities leave equal chances."""
        answers = []
        for j in np.flatnonzero(self.discrete):
            used = len(np.unique(self.table[typical, j])) > 1
            if used and j in self.probabilities:
                used = _divergence(self.probabilities[j][typical]) > UNUSED_KL
            answers.append(used)
        return np.array(answers, dtype=bool)


def merge_discrete(table: np.ndarray, discrete: Sequence[int | Sequence[int]]) -> MergedLatents:
    """Put a column of codes in the place of every discrete latent.

    Parameters
    ----------
    table : ndarray of shape (n, columns)
    discrete : sequence of int, or of sequence of int
        Columns of labels, and groups of columns that hold probabilities.

    Examples
    --------
    >>> table = np.array([[0.5, 0.1, 0.9], [0.7, 0.8, 0.2]])
    >>> merge_discrete(table, [[1, 2]]).table.tolist()
    [[0.5, 1.0], [0.7, 0.0]]
    """
    groups = [
        [check_int(j, "A discrete latent", low=0, high=table.shape[1] - 1) for j in each]
        for each in (item if isinstance(item, Sequence) else [item] for item in discrete)
    ]
    every = [j for group in groups for j in group]
    if len({*every}) < len(every) or not all(groups):
        raise InputError(f"discrete must name every latent once; got {list(discrete)}.")
    of_column = {group[0]: group for group in groups}
    first = np.array([j for j in range(table.shape[1]) if j in of_column or j not in every])
    merged = table[:, first].astype(float)
    is_discrete = np.array([j in of_column for j in first])
    probabilities = {}
    for place in np.flatnonzero(is_discrete):
        columns = table[:, of_column[int(first[place])]]
        if columns.shape[1] > 1:
            probabilities[int(place)] = columns
            merged[:, place] = columns.argmax(axis=1)
        else:
            merged[:, place] = np.unique(columns, return_inverse=True)[1].reshape(-1)
    return MergedLatents(merged, is_discrete, first, probabilities)


def gini_variances(codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Gini's variance of a discrete latent within each batch: rows (b, l) -> (b,).

    ``sum_ij [c_i != c_j] / (2 l (l - 1))``, which is the variance (ddof 1) where differences are
    squared (seed 003, equation 4).

    Examples
    --------
    >>> gini_variances(np.array([0, 1, 1, 0]), np.array([[0, 1, 2, 3], [1, 1, 2, 2]])).round(4)
    array([0.3333, 0.    ])
    """
    values, coded = np.unique(codes, return_inverse=True)
    coded, n_values, size = coded.reshape(-1), len(values), rows.shape[1]
    same = np.empty(len(rows))
    step = max(1, CELLS // max(n_values, size))
    for start in range(0, len(rows), step):
        part = coded[rows[start : start + step]]  # (b, l)
        cells = part + n_values * np.arange(len(part))[:, None]
        counts = np.bincount(cells.ravel(), minlength=n_values * len(part))
        same[start : start + step] = (counts.reshape(len(part), -1).astype(float) ** 2).sum(axis=1)
    return (size**2 - same) / (2 * size * (size - 1))


def _divergence(probabilities: np.ndarray) -> float:
    """Mean over rows (n, J) of sum_j p_j log p_j + log J, in nats; rows are made to sum to 1."""
    positive = np.maximum(probabilities, 1e-12)
    p = positive / positive.sum(axis=1, keepdims=True)
    return float((p * np.log(p)).sum(axis=1).mean() + np.log(p.shape[1]))
