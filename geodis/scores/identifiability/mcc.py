"""Mean correlation coefficient: latents and factors matched one to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice
from geodis.scores.active import of_order_one
from geodis.scores.card import COLUMNS, QUICK, Card
from geodis.scores.grouping.factor_blocks import FactorBlock, varying_blocks
from geodis.scores.inputs import ScoredFactors, check_latents
from geodis.scores.registry import register_score
from geodis.scores.score import Score

CorrelationBy = Literal["pearson", "spearman"]


CARD = Card(
    rewards="Each factor, up to scale and sign, in a latent of its own.",
    blind="Bent encodings, which it takes for noise; what spare latents hold; factors on circles "
    "as angles. It is lenient: turned codes keep two thirds and more. Correlated factors lift it, "
    "and so do many latents and few rows.",
    answers="completeness",
    chance="0.02 to 0.03 for 5,000 rows; about 1/sqrt(n) times the luck of z latents",
    shapes=COLUMNS,
    source="Hyvärinen and Morioka 2016, section 5",
)


@register_score(
    "mcc_spearman",
    family="identifiability",
    options={"method": "spearman"},
    takes_continuous=True,
    cost=QUICK,
    card=replace(
        CARD,
        rewards="Each factor, any increasing or decreasing map of it, in a latent of its own.",
        blind="Maps that are not monotone; what spare latents hold; factors on circles as angles. "
        "It is lenient: turned codes keep three quarters and more. Correlated factors lift it, and "
        "so do many latents and few rows.",
    ),
)
@register_score(family="identifiability", takes_continuous=True, cost=QUICK, card=CARD)
def mcc(latents: Any, factors: Any, *, method: CorrelationBy = "pearson") -> Score:
    """Mean correlation coefficient of the best one-to-one matching (Hyvärinen and Morioka 2016).

    ``max over matchings of 1/f sum_j |corr(z_m(j), v_j)|``. A factor without a latent, where there
    are fewer latents than factors, counts as zero.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or Factors
        Numbers or ordered labels; labels without an order are left out. The columns of a factor of
        several, and the cosine and sine of a cyclic one, are matched like factors, and the factor
        has their mean.
    method : {"pearson", "spearman"}
        Spearman's correlation of ranks leaves monotone maps of a latent alone.

    Returns
    -------
    Score
        `per_factor`; `matrix` has the correlations, without sign, of latents and columns of
        factors, and `details["matched"]` the latent of every column, -1 for none.

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
    """The factors that vary and are no labels without an order."""
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
    """Mean over the columns of every factor."""
    ends = np.cumsum([block.values.shape[1] for block in blocks])[:-1]
    return [part.mean() for part in np.split(parts, ends)]


def absolute_correlations(
    a: np.ndarray, b: np.ndarray, method: CorrelationBy = "pearson"
) -> np.ndarray:
    """Absolute correlations of the columns of two arrays, shape (z, f); zero for a constant.

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
    """The row of every column in the matching of the largest sum (-1 for none), and its entry.

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
