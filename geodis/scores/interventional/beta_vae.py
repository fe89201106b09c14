"""BetaVAE score and Z-max variance: classification of the fixed or the free factor."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.scores.card import Cost, Score
from geodis.scores.inputs import active_latents, check_scored, of_order_one, varies
from geodis.scores.interventional.factor_vae import batch_variances, majority_score
from geodis.scores.interventional.fixed_factor import (
    BATCH_SIZE,
    MIN_ROWS,
    N_EVAL,
    N_TRAIN,
    FixedSource,
    chunks,
    open_source,
)
from geodis.scores.registry import register_score


@register_score(
    family="interventional",
    takes_grid=True,
    cost=Cost("0.15 s", many_latents=True),
    answers="modularity",
)
def beta_vae(
    latents: Any,
    factors: Any,
    *,
    n_train: int = N_TRAIN,
    n_eval: int = N_EVAL,
    batch_size: int = BATCH_SIZE,
    standardise: bool = False,
    random_state: Any = None,
) -> Score:
    """BetaVAE score (Higgins et al., 2017): accuracy of a linear classifier of the fixed factor.

    A factor y is drawn, and L pairs of rows that agree in it; the classifier predicts y from

        z_diff = 1/L sum_l |z_l1 - z_l2|,

    the mean absolute difference of latents over pairs. The score can be 1 even if one factor is not
    encoded at all: the classifier recognises it by elimination (Kim and Mnih, 2018, section 4).
    `factor_vae` does not have this defect.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
        With a grid: an array whose row is the grid index, or an encoder of float32 images
        (n, h, w, c).
    factors : array-like of shape (n, f), or FactorGrid
    n_train, n_eval : int
        Numbers of differences for training and evaluation of the classifier.
    batch_size : int
        Number L of pairs per difference.
    standardise : bool
        Divide latents by their standard deviation first. The published classifier is regularised
        and ignores latents on a scale far below 1.
    random_state : None, int or Generator

    Returns
    -------
    Score
        ``per_factor`` is the accuracy for each factor, NaN if it was left out; ``matrix`` (z, f)
        has the weights of the classifier. The chance level is about 1/f.

    Rewards
    -------
    Latents that stand still where one factor does.

    Cannot see
    ----------
    It saturates: mixed latents hardly lower it, and a factor that is missing is recognised by what
    is left.

    By chance
    ---------
    1 / f

    Source
    ------
    Higgins et al. 2017, section 3

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(1000, 3))
    >>> float(beta_vae(factors * 0.5, factors, random_state=0))
    1.0
    """
    n_train, n_eval = check_int(n_train, "n_train", low=10), check_int(n_eval, "n_eval", low=1)
    size = check_int(batch_size, "batch_size", low=1)
    random = check_random_state(random_state)
    source = open_source(latents, factors, "beta_vae", min_rows=MIN_ROWS)
    labels = source.draw_factors(n_train + n_eval, random)
    left, right = source.pairs(labels, size, random)
    table, (left, right) = source.latents(left, right)
    if standardise:
        spread = table.std(axis=0)
        table = table / np.where(varies(table), spread, 1.0)
    points = pair_differences(table, left, right)
    return linear_score(source, points, labels, n_train)


def linear_score(
    source: FixedSource, points: np.ndarray, labels: np.ndarray, n_train: int
) -> Score:
    """Score a linear classifier of labels (n,) from points (n, z), trained on the first."""
    from sklearn.linear_model import LogisticRegression

    train, test = slice(None, n_train), slice(n_train, None)
    # With few draws there may be a single class.
    if len(np.unique(labels[train])) < 2:
        raise InputError(f"n_train must let every factor be drawn; got {n_train}.")
    model = LogisticRegression()
    with warnings.catch_warnings():
        # The note below reports a lack of convergence.
        warnings.simplefilter("ignore")
        model.fit(points[train], labels[train])
    predicted = model.predict(points)
    right = predicted == labels
    weights = np.zeros((points.shape[1], source.n_factors))
    # Two classes share one row of coefficients.
    rows = model.coef_ if len(model.classes_) > 2 else np.stack([-model.coef_[0], model.coef_[0]])
    weights[:, model.classes_] = rows.T
    notes = [source.note] if source.note else []
    if int(np.max(model.n_iter_)) >= model.max_iter:
        notes.append("the classifier did not converge: try standardise=True")
    return Score(
        "beta_vae",
        float(right[test].mean()),
        per_factor=source.recognised(labels[test], right[test]),
        matrix=weights,
        details={
            "train_accuracy": float(right[train].mean()),
            "n_train": n_train,
            "n_eval": int(right[test].size),
        },
        note="; ".join(notes),
        factor_names=source.names,
    )


def pair_differences(table: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the mean over pairs of |z1 - z2|, (b, z), for row numbers (b, l)."""
    out = np.empty((len(left), table.shape[1]))
    for part in chunks(left, table.shape[1]):
        out[part] = np.abs(table[left[part]] - table[right[part]]).mean(axis=1)
    return out


# Z-max variance, with the settings of Carbonneau et al. (2022).
N_VOTES, BATCH = 800, 200
EQUAL = 1e-9  # relative difference below which variances are equal


@register_score(
    family="interventional", halves=True, default=False, cost=Cost("40 ms"), answers="modularity"
)
def z_max_variance(
    latents: Any,
    factors: Any,
    *,
    n_votes: int = N_VOTES,
    batch_size: int = BATCH,
    random_state: Any = None,
) -> Score:
    """Z-max variance score (Kim et al. 2019): accuracy of a majority vote on the free factor.

    The reverse of `factor_vae`: rows that agree in all factors but one are drawn, and the latent
    with the largest variance, ``argmax_i Var(z_i) / Var_all(z_i)``, votes for the free factor.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes, several rows of which agree in all factors but one.
    n_votes : int
        Number of training votes, and of test votes.
    batch_size : int
        Number of rows per vote, drawn with replacement.
    random_state : int, Generator or None

    Returns
    -------
    Score
        ``per_factor`` and ``matrix`` as in `factor_vae`.

    Rewards
    -------
    For each factor a latent that varies most, relative to all rows, where only that factor does.

    Cannot see
    ----------
    What else varies a little: the largest variance alone votes. It needs rows that agree in all
    factors but one.

    By chance
    ---------
    1 / f, and a little more

    Source
    ------
    Kim et al. 2019 (Relevance Factor VAE), section 5

    Examples
    --------
    >>> factors = np.array(list(np.ndindex(4, 4, 4)))
    >>> float(z_max_variance(factors * 1.0, factors, random_state=0))
    1.0
    """
    n_votes = check_int(n_votes, "n_votes", low=1)
    size = check_int(batch_size, "batch_size", low=2)
    rng = check_random_state(random_state)
    z, coded = check_scored(latents, factors)
    places = {j: _agreeing(coded.codes, j) for j in np.flatnonzero(coded.sizes > 1)}
    used = np.array([j for j, (_, starts, _) in places.items() if len(starts)], dtype=np.int64)
    if len(used) < 2:
        raise InputError(
            "z_max_variance needs two factors along which rows agree in all others; got "
            f"{len(used)}."
        )
    labels = used[rng.integers(len(used), size=2 * n_votes)]
    rows = np.empty((len(labels), size), np.int64)
    for j in used:
        own = np.flatnonzero(labels == j)
        order, starts, counts = places[int(j)]
        chosen = rng.integers(len(starts), size=len(own))
        within = rng.random((len(own), size)) * counts[chosen][:, None]
        rows[own] = order[starts[chosen][:, None] + within.astype(np.int64)]
    z, active = of_order_one(z), active_latents(z)
    votes = np.full(len(labels), -1)
    if active.any():
        alive = np.flatnonzero(active)
        ratios = batch_variances(z[:, alive], rows) / z[:, alive].var(axis=0, ddof=1)
        # The first of latents that are equal up to rounding.
        largest = ratios.max(axis=1, keepdims=True)
        votes = alive[(ratios >= largest * (1 - EQUAL)).argmax(axis=1)]
    source: FixedSource = open_source(z, coded.codes, "z_max_variance", min_rows=1)
    found = majority_score(replace(source, used=used), votes, labels, n_votes, active)
    left = [coded.called(j) for j in range(len(coded.sizes)) if j not in used]
    note = f"left out, no rows agree in all others: {', '.join(left)}" if left else ""
    return replace(found, name="z_max_variance", note=note, factor_names=coded.names)


def _agreeing(codes: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort rows by all factors but j; return the order, and starts and lengths of traversals.

    The rows of a traversal agree in all other factors and have several values of j.
    """
    others = np.delete(codes, j, axis=1)
    if others.shape[1]:
        runs = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
    else:
        runs = np.zeros(len(codes), np.int64)
    order = np.lexsort((codes[:, j], runs))
    counts = np.bincount(runs)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    value = codes[order, j]
    several = value[starts] != value[starts + counts - 1]
    return order, starts[several], counts[several]
