"""Scores for dependent factors: T-MEX, minimality and sufficiency."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_random_state, check_real
from geodis.scores.binning import bin_columns
from geodis.scores.card import BLOCKS, QUICK, Cost, Score
from geodis.scores.groups import read_latent_groups, varying_blocks
from geodis.scores.information.estimates import entropy
from geodis.scores.information.mutual_information import information_about
from geodis.scores.inputs import check_latents
from geodis.scores.predictive.cross_validation import (
    HeldOut,
    kernel_features,
    ridge_predict,
    standardise,
)
from geodis.scores.registry import register_score

LEVEL = 0.05  # of the tests, as published
# Residual variance, relative to the column, below which it is determined by the others.
DETERMINED = 1e-6
MOST_TESTED = 2_000  # rows: sufficient to detect correlations of a tenth


@register_score(
    family="dependence",
    takes_continuous=True,
    halves=True,
    default=False,
    lower_is_better=True,
    cost=Cost("1 s, in proportion to f (z + f)"),
    answers="modularity",
    shapes=BLOCKS,
)
def t_mex(
    latents: Any,
    factors: Any,
    *,
    groups: Any = None,
    level: float = LEVEL,
    random_state: Any = None,
) -> Score:
    """Test-based measurement exclusivity, lower is better (Yao et al. 2025).

    Group g of the latents should measure the factor m(g) that it is matched with, and no other. For
    every group and factor, ``z_g independent of v_j, given all other factors`` is tested; it should
    be rejected for j = m(g) only. The score is the mean of two error rates: the share of matched
    pairs that are not rejected, and the share of other pairs that are rejected. The published count
    of both errors is ``details["hamming"]``.

    The test is the generalised covariance measure: residuals of z_g and of v_j after kernel ridge
    regression on the other factors, cross-fitted on two halves of the rows. Under independence the
    normalised sum of products of residuals is normally distributed; the maximum over pairs of
    columns is used. The paper uses another test of the same hypothesis.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or Factors
        Of any kind, as in `block_r2`.
    groups : sequence of sequences of int or str, or GeoManCER, optional
        As in `block_r2`.
    level : float
        Significance level of the tests.
    random_state : int, Generator or None
        Draws up to 2,000 rows and their halves.

    Returns
    -------
    Score
        `matrix` has the p-values (groups, f); `details` "hamming", "missing", "unwanted" and
        "matched", the group of every factor.

    Rewards
    -------
    Groups of latents that each depend on one factor, and on no other once that one is known:
    dependent factors do no harm.

    Cannot see
    ----------
    How strongly: a faint dependence counts as much as a full one, and more rows find fainter ones.
    Dependence that no linear function of residuals shows.

    Range
    -----
    1 (worst) to 0

    By chance
    ---------
    0.1 to 0.5, mean 0.34; 0.5 where no dependence is found at all

    Source
    ------
    Yao et al. 2025; tests as Shah and Peters 2020, eq. 6

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> first = rng.standard_normal(500)
    >>> both = np.column_stack([first, 0.7 * first + 0.7 * rng.standard_normal(500)])
    >>> float(t_mex(3 * both[:, ::-1], both, random_state=0))
    0.0
    """
    from scipy.optimize import linear_sum_assignment

    alpha = check_real(level, "level", low=0.0, high=1.0)
    sets = read_latent_groups(latents, groups)
    blocks, varying = varying_blocks(factors, len(sets.blocks[0]))
    rows = np.flatnonzero(sets.complete)
    if len(rows) < 20:
        raise InputError(f"t_mex needs at least 20 rows with values; got {len(rows)}.")
    rows = check_random_state(random_state).permutation(rows)[:MOST_TESTED]
    codes = [_standard(block[rows]) for block in sets.blocks]
    alive = np.array([bool(code.any()) for code in codes])
    kept = varying.kept
    known = [blocks[j].values[rows] for j in kept]
    tested = np.ones((len(codes), len(kept)))
    strength = np.zeros_like(tested)
    for j in range(len(kept)):
        others = [value for k, value in enumerate(known) if k != j]
        left = _residuals(others, known[j])
        for g in np.flatnonzero(alive):
            tested[g, j], strength[g, j] = _independence(_residuals(others, codes[g]), left)
    groups_of, factors_of = linear_sum_assignment(-strength[alive])
    groups_of = np.flatnonzero(alive)[groups_of]
    wanted = np.zeros(tested.shape, bool)
    wanted[groups_of, factors_of] = True
    found = tested < alpha
    spare = alive[:, None] & ~wanted
    missing = float((~found[wanted]).mean()) if wanted.any() else 1.0
    unwanted = float(found[spare].mean()) if spare.any() else 0.0
    matrix, matched = np.ones((len(codes), len(blocks))), np.full(len(blocks), -1)
    matrix[:, kept] = tested
    matched[kept[factors_of]] = groups_of
    still = int((~alive).sum())
    return varying.score(
        "t_mex",
        value=(missing + unwanted) / 2,
        matrix=matrix,
        details={
            "hamming": int((found != wanted).sum()),
            "missing": missing,
            "unwanted": unwanted,
            "matched": matched,
        },
        notes=[sets.note, f"constant groups left out: {still}" if still else ""],
    )


def _standard(code: np.ndarray) -> np.ndarray:
    whole = HeldOut(np.arange(len(code)), np.arange(len(code)))
    return standardise(code, whole)[0]


def _residuals(given: list[np.ndarray], columns: np.ndarray) -> np.ndarray:
    """Return cross-fitted residuals of columns after regression on the given blocks.

    The residuals are zero for columns that are determined by the blocks.
    """
    if not given:
        return columns - columns.mean(axis=0)
    together = np.column_stack(given)
    half = len(columns) // 2
    left = np.empty_like(columns)
    for own, other in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
        places = np.arange(len(columns))
        split = HeldOut(places[other], places[own])
        train, test = standardise(kernel_features(together, split), split)
        left[own] = columns[own] - ridge_predict(train, columns[other], test)[0]
    determined = left.var(axis=0) <= DETERMINED * np.maximum(columns.var(axis=0), 1e-300)
    return np.where(determined, 0.0, left)


def _independence(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return the p-value of independence of residuals, and their largest correlation."""
    from scipy.special import ndtr

    products = a[:, :, None] * b[:, None, :]
    spread = products.std(axis=0)
    alive = spread > 0
    if not alive.any():
        return 1.0, 0.0
    normal = np.sqrt(len(a)) * np.abs(products.mean(axis=0)[alive]) / spread[alive]
    size = np.sqrt((a**2).mean(axis=0)[:, None] * (b**2).mean(axis=0))[alive]
    strength = np.abs(products.mean(axis=0)[alive]) / size
    return min(2 * float(ndtr(-normal.max())) * int(alive.sum()), 1.0), float(strength.max())


MINIMALITY_BINS = 15  # as published


@register_score(family="dependence", cost=QUICK, answers="modularity")
def minimality(latents: Any, factors: Any, *, bins: int = MINIMALITY_BINS) -> Score:
    """Minimality: whether each latent encodes its factor only (Almudévar et al. 2024).

    ``1/z sum_i max_j I(z_i; v_j) / H(z_i)``. A latent that is a function of one factor scores one,
    even if that factor is informative about another.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        They are binned with equal width.
    factors : array-like of shape (n, f)
        Classes.
    bins : int

    Returns
    -------
    Score
        `per_latent` is NaN for constant latents, which are left out; `matrix` is ``I / H(z)``.

    Rewards
    -------
    Latents that contain nothing beyond their factor. Latents may contain information about other
    factors as well, so the factors may depend on each other.

    Cannot see
    ----------
    Whether a latent that is finer than its factor is useful: noise and additional bins lower the
    score.

    By chance
    ---------
    near 0; (bins - 1)(values - 1) / 2n over the entropy

    Source
    ------
    Almudévar and Ortega 2024, section 5

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> minimality(np.column_stack([factors[:, 0], [0, 1, 2, 3]]), factors).per_latent
    array([1. , 0.5])
    """
    about = information_about(latents, factors, bins, "equal_width", None)
    spread = entropy(bin_columns(check_latents(latents), bins))
    alive = spread > 0
    share = np.minimum(about.information / np.where(alive, spread, 1.0)[:, None], 1.0)
    parts = np.where(alive, share.max(axis=1), np.nan)
    constant = int((~alive).sum())
    return about.score(
        "minimality",
        per_latent=parts,
        matrix=share,
        notes=[f"constant latents left out: {constant}"] if constant else [],
        value=float(parts[alive].mean()) if alive.any() else 0.0,
    )


@register_score(family="dependence", cost=QUICK, answers="completeness")
def sufficiency(latents: Any, factors: Any, *, bins: int = MINIMALITY_BINS) -> Score:
    """Sufficiency: whether one latent determines each factor (Almudévar et al. 2024).

    ``1/f sum_j max_i I(z_i; v_j) / H(v_j)``.

    Parameters
    ----------
    latents, factors, bins
        As in `minimality`.

    Returns
    -------
    Score
        Has `per_factor`; `matrix` is ``I / H(v)``.

    Rewards
    -------
    Factors that a single latent determines. The latent may contain information about other factors
    as well, so the factors may depend on each other.

    Cannot see
    ----------
    Factors that need several latents: a circular factor needs two, and neither is sufficient.

    By chance
    ---------
    near 0; (bins - 1)(values - 1) / 2n over the entropy

    Source
    ------
    Almudévar and Ortega 2024, section 5

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> sufficiency(np.column_stack([factors[:, 0], [0, 1, 2, 3]]), factors).per_factor
    array([1., 1.])
    """
    about = information_about(latents, factors, bins, "equal_width", None)
    return about.score("sufficiency", about.spread(about.share.max(axis=0)))
