"""Scores of a one-to-one matching of latents and factors: MCC, weak MCC and SNC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_random_state
from geodis.scores.card import COLUMNS, QUICK, Score
from geodis.scores.groups import FactorBlock, varying_blocks
from geodis.scores.information.estimates import discrete_information
from geodis.scores.inputs import ScoredFactors, check_latents, check_scored, of_order_one
from geodis.scores.predictive.boosting import bin_for_splits
from geodis.scores.predictive.cross_validation import TRAIN_SHARE, split_rows, standardise
from geodis.scores.registry import register_score

CorrelationBy = Literal["pearson", "spearman"]


@register_score(
    "mcc_spearman",
    family="identifiability",
    options={"method": "spearman"},
    takes_continuous=True,
    cost=QUICK,
    answers="completeness",
    shapes=COLUMNS,
)
@register_score(
    family="identifiability",
    takes_continuous=True,
    cost=QUICK,
    answers="completeness",
    shapes=COLUMNS,
)
def mcc(latents: Any, factors: Any, *, method: CorrelationBy = "pearson") -> Score:
    """Mean correlation coefficient of the best one-to-one matching (Hyvärinen and Morioka 2016).

    ``max over matchings of 1/f sum_j |corr(z_m(j), v_j)|``. If there are fewer latents than
    factors, factors without a latent count as zero.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or Factors
        Numbers or ordered labels; labels without an order are left out. The columns of a factor
        with several, and the cosine and sine of a cyclic factor, are matched individually, and
        averaged.
    method : {"pearson", "spearman"}
        Spearman's rank correlation is invariant to monotone maps of a latent.

    Returns
    -------
    Score
        Has `per_factor`; `matrix` has the absolute correlations of latents and columns of factors,
        and `details["matched"]` the latent of every column, -1 for none.

    Rewards
    -------
    Each factor, up to scale and sign, in a latent of its own.

    Rewards (mcc_spearman)
    ----------------------
    Each factor, any increasing or decreasing map of it, in a latent of its own.

    Cannot see
    ----------
    Bent encodings, which it takes for noise; what spare latents hold; factors on circles as angles.
    It is lenient: turned codes keep two thirds and more. Correlated factors lift it, and so do many
    latents and few rows.

    Cannot see (mcc_spearman)
    -------------------------
    Maps that are not monotone; what spare latents hold; factors on circles as angles. It is
    lenient: turned codes keep three quarters and more. Correlated factors lift it, and so do many
    latents and few rows.

    By chance
    ---------
    0.02 to 0.03 for 5,000 rows; about 1/sqrt(n) times the luck of z latents

    Source
    ------
    Hyvärinen and Morioka 2016, section 5

    Examples
    --------
    >>> factors = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> float(mcc(-2 * factors[:, ::-1], factors))
    1.0
    """
    check_choice(method, "method", get_args(CorrelationBy))
    z = check_latents(latents)
    blocks, varying = ordered_blocks(factors, len(z), "mcc")
    matrix = absolute_correlations(z, np.column_stack([block.values for block in blocks]), method)
    matched, parts = matched_correlations(matrix)
    return varying.score(
        "mcc",
        varying.spread(means_of_blocks(parts, blocks)),
        matrix=matrix,
        details={"matched": matched, "method": method},
    )


def ordered_blocks(factors: Any, n: int, score: str) -> tuple[list[FactorBlock], ScoredFactors]:
    """Select the factors that vary and have an order."""
    blocks, varying = varying_blocks(factors, n)
    blocks = [blocks[j] for j in varying.kept]
    labels = [block.name for block in blocks if not block.numeric]
    if len(labels) == len(blocks):
        raise InputError(
            f"{score} needs factors that are numbers or ordered; got labels in {labels[0]!r}."
        )
    note = f"left out, labels without an order: {', '.join(labels)}" if labels else ""
    usable = np.array([block.numeric for block in blocks])
    return [block for block in blocks if block.numeric], varying.only(usable, note)


def means_of_blocks(parts: np.ndarray, blocks: Sequence[FactorBlock]) -> list[float]:
    """Average over the columns of every factor."""
    ends = np.cumsum([block.values.shape[1] for block in blocks])[:-1]
    return [part.mean() for part in np.split(parts, ends)]


def absolute_correlations(
    a: np.ndarray, b: np.ndarray, method: CorrelationBy = "pearson"
) -> np.ndarray:
    """Return absolute correlations of columns, shape (z, f); zero for constant columns.

    Examples
    --------
    >>> a, b = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [-1.0], [-9.0]])
    >>> absolute_correlations(a, b, "spearman")
    array([[1.]])
    """
    if method == "spearman":
        from scipy.stats import rankdata

        a, b = rankdata(a, axis=0), rankdata(b, axis=0)
    unit_a, unit_b = _unit_columns(a), _unit_columns(b)
    return np.minimum(np.abs(unit_a.T @ unit_b), 1.0)


def _unit_columns(a: np.ndarray) -> np.ndarray:
    scaled = of_order_one(a)
    constant = scaled.max(axis=0) == scaled.min(axis=0)
    centred = np.where(constant, 0.0, scaled - scaled.mean(axis=0))
    length = np.sqrt((centred**2).sum(axis=0))
    return centred / np.where(length > 0, length, 1.0)


def matched_correlations(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Match columns to rows with the largest sum; return the rows (-1 for none) and the entries.

    Examples
    --------
    >>> matched_correlations(np.array([[0.9, 0.8], [0.7, 0.1]]))
    (array([1, 0]), array([0.7, 0.8]))
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-matrix)
    matched, parts = np.full(matrix.shape[1], -1), np.zeros(matrix.shape[1])
    matched[columns], parts[columns] = rows, matrix[rows, columns]
    return matched, parts


LinkBy = Literal["linear", "cca"]
# Relative singular values below this are rounding errors.
RANK_TOLERANCE = 1e-8


@register_score(
    "weak_mcc_cca",
    family="identifiability",
    options={"method": "cca"},
    takes_continuous=True,
    halves=True,
    cost=QUICK,
    answers="information",
    shapes=COLUMNS,
)
@register_score(
    "weak_mcc_linear",
    family="identifiability",
    options={"method": "linear"},
    takes_continuous=True,
    halves=True,
    cost=QUICK,
    answers="information",
    shapes=COLUMNS,
)
def weak_mcc(
    latents: Any,
    factors: Any,
    *,
    method: LinkBy = "linear",
    correlation: CorrelationBy = "pearson",
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    random_state: Any = None,
) -> Score:
    """Mean correlation coefficient after a linear map, on test rows (Khemakhem et al. 2020).

    It measures identifiability up to an invertible linear map: the map is fitted to the training
    rows, and `mcc` is computed on the test rows.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or Factors
        As in `mcc`.
    method : {"linear", "cca"}
        Map latents to factors by least squares, or both to their canonical variates.
    correlation : {"pearson", "spearman"}
    train_share, shuffle, random_state
        As in `sap`.

    Returns
    -------
    Score
        Has `per_factor` for "linear". `matrix` has the absolute correlations on test rows.

    Rewards (weak_mcc_cca)
    ----------------------
    Latents and factors that span the same, up to a linear map on either side.

    Rewards (weak_mcc_linear)
    -------------------------
    Every factor a linear function of the latents.

    Cannot see (weak_mcc_cca)
    -------------------------
    Which latent holds which factor: turned latents score as before. Directions that neither side
    varies along much count as much as others.

    Cannot see (weak_mcc_linear)
    ----------------------------
    Which latent holds which factor: turned latents score as before. Bent encodings.

    By chance
    ---------
    0.03 to 0.05 for 5,000 rows

    Source
    ------
    Khemakhem et al. 2020 (ICE-BeeM), section 5

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.standard_normal((300, 2))
    >>> turned = factors @ [[3.0, 1.0], [1.0, -1.0]]
    >>> round(float(weak_mcc(turned, factors, random_state=0)), 6)
    1.0
    """
    check_choice(method, "method", get_args(LinkBy))
    check_choice(correlation, "correlation", get_args(CorrelationBy))
    z = check_latents(latents)
    blocks, varying = ordered_blocks(factors, len(z), "weak_mcc")
    targets = np.column_stack([block.values for block in blocks])
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    train, test = standardise(z, split)
    known, wanted = targets[split.train], targets[split.test]
    per_factor = None
    if method == "linear":
        mapped = test @ np.linalg.lstsq(train, known - known.mean(axis=0), rcond=None)[0]
        matrix = absolute_correlations(mapped, wanted, correlation)
        parts = matched_correlations(matrix)[1]
        per_factor = varying.spread(means_of_blocks(parts, blocks))
        value = float(per_factor[varying.kept].mean())
    else:
        left, right = canonical_directions(train, known)
        matrix = absolute_correlations(test @ left, wanted @ right, correlation)
        value = float(matched_correlations(matrix)[1].mean()) if matrix.size else 0.0
    return varying.score(
        "weak_mcc", per_factor, value=value, matrix=matrix, details={"method": method}
    )


def canonical_directions(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Canonical correlation analysis of two sets of columns (Hotelling 1936).

    With ``a = U S V^T`` and ``b = U' S' V'^T`` centred, and ``U^T U' = P D Q^T``, the directions
    are ``V S^-1 P`` and ``V' S'^-1 Q``, and D has the correlations.

    Returns
    -------
    left : ndarray of shape (p, c)
    right : ndarray of shape (q, c)
        c is the smaller rank of the two.

    Examples
    --------
    >>> a = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 1.0]])
    >>> left, right = canonical_directions(a, a @ [[1.0, 2.0], [3.0, 4.0]])
    >>> np.abs(np.corrcoef(a @ left, a @ [[1.0, 2.0], [3.0, 4.0]] @ right, rowvar=False)).round(6)
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """
    left, right = _whitening(a), _whitening(b)
    p, _, q = np.linalg.svd(left[0].T @ right[0], full_matrices=False)
    return left[1] @ p, right[1] @ q.T


def _whitening(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an orthonormal basis of the centred columns, and the map onto it."""
    u, s, vt = np.linalg.svd(a - a.mean(axis=0), full_matrices=False)
    kept = s > RANK_TOLERANCE * max(s[0], 1e-300)
    return u[:, kept], vt[kept].T / s[kept]


@register_score(family="identifiability", halves=True, default=False, answers="completeness")
def snc(
    latents: Any,
    factors: Any,
    *,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    random_state: Any = None,
) -> Score:
    """Single-neuron classification accuracy (Mahon et al. 2023).

    Latents are cut into as many equal-frequency bins as the factor has values, and matched one to
    one with factors by the largest sum of mutual information. Bins are assigned to values one to
    one with the largest accuracy on the training rows; the score is the accuracy on the test rows.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes.
    train_share, shuffle, random_state
        As in `sap`.

    Returns
    -------
    Score
        `per_factor` is zero for a factor without a matched latent; `matrix` is the information;
        `details["matched"]` the latent of every factor, -1 for none.

    Rewards
    -------
    Each factor readable from one latent, another for every factor, by cutting its values into as
    many bins as the factor has classes.

    Cannot see
    ----------
    What else the latent holds, and other latents of the factor. Classes of unequal sizes fall into
    bins of equal ones. Factors on circles in two latents.

    By chance
    ---------
    a little above the share of a guess, 1 / classes

    Source
    ------
    Mahon, Sha and Lukasiewicz 2023, section 4

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> float(snc(factors[:, ::-1] * -3.0, factors, random_state=0))
    1.0
    """
    from scipy.optimize import linear_sum_assignment

    z, coded = check_scored(latents, factors)
    varying = coded.varying()
    kept = varying.kept
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    train, test = z[split.train], z[split.test]
    matrix = np.zeros((z.shape[1], len(coded.sizes)))
    for j in kept:
        binned = bin_for_splits(train, test, int(coded.sizes[j]))[0].T
        matrix[:, j] = discrete_information(binned, coded.codes[split.train, j : j + 1])[:, 0]
    # A constant latent would predict the most frequent class.
    moving = np.flatnonzero(train.max(axis=0) > train.min(axis=0))
    rows, columns = linear_sum_assignment(-matrix[np.ix_(moving, kept)])
    rows = moving[rows]
    matched, per_factor = np.full(len(coded.sizes), -1), np.full(len(coded.sizes), np.nan)
    matched[kept[columns]], per_factor[kept] = rows, 0.0
    for i, j in zip(rows, kept[columns], strict=True):
        size = int(coded.sizes[j])
        bins, others, _ = bin_for_splits(train[:, [i]], test[:, [i]], size)
        names = _names_of_bins(bins[0], coded.codes[split.train, j], size)
        per_factor[j] = (names[others[0]] == coded.codes[split.test, j]).mean()
    return varying.score("snc", per_factor, matrix=matrix, details={"matched": matched})


def _names_of_bins(bins: np.ndarray, known: np.ndarray, size: int) -> np.ndarray:
    """Assign classes to bins one to one, with the largest number of correct rows."""
    from scipy.optimize import linear_sum_assignment

    together = np.zeros((size, size))
    np.add.at(together, (bins, known), 1)
    return linear_sum_assignment(-together)[1]
