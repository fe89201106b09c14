"""BetaVAE score: a linear classifier of the factor that was fixed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.scores.active import varies
from geodis.scores.card import Card, Cost
from geodis.scores.intervention.fixed_source import (
    BATCH_SIZE,
    MIN_ROWS,
    N_EVAL,
    N_TRAIN,
    FixedSource,
    chunks,
    open_source,
)
from geodis.scores.registry import register_score
from geodis.scores.score import Score


@register_score(
    family="interventional",
    takes_grid=True,
    cost=Cost("0.15 s", many_latents=True),
    card=Card(
        rewards="Latents that stand still where one factor does.",
        blind="It saturates: mixed latents hardly lower it, and a factor that is missing is "
        "recognised by what is left.",
        answers="modularity",
        chance="1 / f",
        source="Higgins et al. 2017, section 3",
    ),
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

    A factor y is chosen, and L pairs of rows that agree in it; the classifier predicts y from

        z_diff = 1/L sum_l |z_l1 - z_l2|,

    the mean absolute difference of the pair's latents. The score is 1 also when one of the
    factors is not encoded at all: the classifier learns that no latent stands still (Kim and
    Mnih, 2018, section 4); `factor_vae` sees the difference.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
        With a grid: an array whose row is the grid index, or an encoder of float32 images
        (n, h, w, c).
    factors : array-like of shape (n, f), or FactorGrid
    n_train, n_eval : int
        Differences the classifier is fitted to and evaluated on.
    batch_size : int
        Pairs L behind each difference.
    standardise : bool
        Divide latents by their standard deviation first. The published classifier is regularised
        and fails to see latents on a scale far below 1.
    random_state : None, int or Generator

    Returns
    -------
    Score
        ``per_factor`` is the share of a factor's differences that is recognised, NaN where it
        was left out; ``matrix`` (z, f) holds the weights of the classifier. Chance is about 1/f.

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
    """Accuracy on points (n, z) of a linear classifier of labels (n,), learnt from the first."""
    from sklearn.linear_model import LogisticRegression

    train, test = slice(None, n_train), slice(n_train, None)
    # With few draws a factor may never have been chosen; one class has nothing to be told from.
    if len(np.unique(labels[train])) < 2:
        raise InputError(f"n_train must let every factor be drawn; got {n_train}.")
    model = LogisticRegression()
    with warnings.catch_warnings():
        # Latents on wild scales stop the optimiser early; the note below says so.
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
    """Mean over pairs of |z1 - z2|: rows (b, l) twice -> (b, z)."""
    out = np.empty((len(left), table.shape[1]))
    for part in chunks(left, table.shape[1]):
        out[part] = np.abs(table[left[part]] - table[right[part]]).mean(axis=1)
    return out
