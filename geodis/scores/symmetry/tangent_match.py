"""Whether the directions that GeoManCER finds are those along which the given factors change."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.scores.card import Card
from geodis.scores.grouping.factor_blocks import FactorBlock, varying_blocks
from geodis.scores.grouping.latent_groups import FoundGeometry, read_latent_groups
from geodis.scores.inputs import check_latents
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.symmetry.local_gradients import (
    factor_dim,
    factor_directions,
    local_gradients,
    whitened,
)

# Points that stand for all: the mean over them is known to a hundredth.
MOST_POINTS = 1_000


@register_score(
    family="geometry",
    takes_continuous=True,
    takes_groups=True,
    needs_found=True,
    random=True,
    halves=True,
    default=False,
    card=Card(
        rewards="Factors found without labels whose directions are, at every point, those along "
        "which one given factor changes and the others do not. Axes need not be aligned, labels "
        "need no order, and factors may be spheres and rotations.",
        blind="Distances: a factor stretched unevenly keeps its directions. Labels, which have no "
        "directions. Factors of a grid so coarse that neighbours share all values.",
        answers="geometry",
        chance="the sum of the products of matched dimensions over the square of all; 0.5 for two "
        "factors of equal dimension, less for more",
        cost="30 ms after the fit; by default where groups are one",
        shapes="All but labels without an order, which are left out; a factor of several columns "
        "has as many directions as its columns show. The groups are the factors of a fit.",
        source="subspace angles as Pfau et al. 2020, section 4, against gradients of the factors",
    ),
)
def tangent_match(
    latents: Any,
    factors: Any,
    *,
    groups: Any = None,
    max_points: int = MOST_POINTS,
    random_state: Any = None,
) -> Score:
    """How well the factors that GeoManCER finds are the given ones, by their tangent spaces.

    At every point the gradients of the given factors within the tangent space are fitted on its
    neighbours (`local_gradients`), and from them the directions T_j along which factor j changes
    and no other (`factor_directions`). With P_a the projection onto the subspace of found factor a
    and Q_j onto T_j, of dimensions k_a and r_j, the score is

    ``max over matchings of sum_(a, j) mean tr(P_a Q_j) / max(sum k, sum r)``:

    one where every factor that was found is one that was given, in whatever order; and
    ``sum k_a r_j / k`` in place of the sum where directions are random.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        The points that were fitted.
    factors : array-like of shape (n, f), or Factors
        Numbers, cyclic numbers, ordered labels, or factors of several columns, which have as many
        directions as their columns show. Labels without an order are left out.
    groups : GeoManCER
        Fitted to the latents.
    max_points : int
        Points, drawn at random, that stand for all.
    random_state : int, Generator or None

    Returns
    -------
    Score
        `per_factor` is ``tr(P_a Q_j) / max(k_a, r_j)`` of the matched factors, zero without a
        match; `matrix` (found, given) is ``tr(P_a Q_j) / r_j``, which of the found factors hold
        the directions of each given one, shares of one. `details` has "matched" (-1 for none),
        "angles" (the median over points of the largest angle between matched subspaces, in
        degrees), "factor_dims" and "expected", the score of random directions.

    Examples
    --------
    >>> import geodis as gd
    >>> sample = gd.product_manifold("S^2 x S^2", n=800, random_state=0)
    >>> est = gd.GeoManCER(verbose=0).fit(sample.points)
    >>> two = gd.as_factors(sample.points, groups={"one": [0, 1, 2], "other": [3, 4, 5]})
    >>> score = tangent_match(sample.points, two, groups=est, random_state=0)
    >>> float(score) > 0.95, round(score.details["expected"], 2)
    (True, 0.5)
    """
    found = read_latent_groups(check_latents(latents), groups).found
    if found is None:
        raise InputError("tangent_match needs a fitted GeoManCER as groups; got none.")
    blocks, kept, note = varying_blocks(factors, len(found.points))
    used = [j for j in kept if blocks[j].numeric]
    if not used:
        raise InputError("tangent_match needs a factor that is not of labels; got none.")
    labels = [blocks[j].name for j in kept if not blocks[j].numeric]
    rng = check_random_state(random_state)
    spread, dims = _tangents(found, [blocks[j] for j in used], max_points, rng)
    k = [axes.shape[1] for axes in found.subspaces]
    overlap, angles = _overlaps(spread, k)  # (found, given), traces and angles
    whole = max(sum(k), sum(dims))
    matched, per_factor, turned = _match(overlap, angles, k, dims)
    value = sum(overlap[a, j] for j, a in enumerate(matched) if a >= 0) / whole
    expected = sum(k[a] * dims[j] for j, a in enumerate(matched) if a >= 0) / sum(k) / whole
    parts, places = np.full(len(blocks), np.nan), np.full(len(blocks), -1)
    degrees, shares = np.full(len(blocks), np.nan), np.zeros((len(k), len(blocks)))
    parts[used], places[used], degrees[used] = per_factor, matched, turned
    shares[:, used] = overlap / np.array(dims)
    without = f"labels have no directions: {', '.join(labels)}" if labels else ""
    return Score(
        "tangent_match",
        float(value),
        per_factor=parts,
        matrix=shares,
        details={
            "matched": places,
            "angles": degrees,
            "factor_dims": dims,
            "expected": float(expected),
        },
        note="; ".join(filter(None, [note, without])),
        factor_names=tuple(block.name for block in blocks),
    )


def _tangents(
    found: FoundGeometry, blocks: list[FactorBlock], most: int, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[int]]:
    """Directions of every factor in tangent coordinates, at points drawn, and their numbers."""
    axes = np.concatenate(found.subspaces, axis=1)
    usable = np.flatnonzero(np.isfinite(axes).all(axis=(1, 2)))
    points, axes = found.points[usable], axes[usable]
    if len(points) <= axes.shape[1] + 1:
        raise InputError(
            f"tangent_match needs more points than {axes.shape[1] + 1}; got {len(points)}."
        )
    check_int(most, "max_points", low=1)
    rows = np.arange(len(points))
    if len(rows) > most:
        rows = np.sort(rng.choice(len(rows), most, replace=False))
    values = [whitened(block.values[usable]) for block in blocks]
    gradients = [local_gradients(points, axes, value, rows) for value in values]
    dims = [
        min(factor_dim(block, gradient), axes.shape[1])
        for block, gradient in zip(blocks, gradients, strict=True)
    ]
    directions, told = factor_directions(gradients, dims)
    if not told.any():
        raise InputError(
            "tangent_match needs factors that change between neighbours; got none: neighbours "
            "share their values."
        )
    return [part[told] for part in directions], dims


def _overlaps(directions: list[np.ndarray], k: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Mean traces of products of projections, and median largest angles; both (found, given)."""
    ends = np.cumsum([0, *k])
    overlap, angles = np.zeros((2, len(k), len(directions)))
    for a in range(len(k)):
        for j, part in enumerate(directions):
            inside = np.linalg.svd(part[:, ends[a] : ends[a + 1]], compute_uv=False)
            overlap[a, j] = (inside**2).sum(axis=1).mean()
            angles[a, j] = np.degrees(np.median(np.arccos(np.clip(inside[:, -1], 0.0, 1.0))))
    return overlap, angles


def _match(
    overlap: np.ndarray, angles: np.ndarray, k: list[int], dims: list[int]
) -> tuple[list[int], list[float], list[float]]:
    """Found factor of every given one, how much of both agrees, and at which angle."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-overlap)
    of_factor = dict(zip(columns.tolist(), rows.tolist(), strict=True))
    matched = [of_factor.get(j, -1) for j in range(len(dims))]
    parts = [overlap[a, j] / max(k[a], dims[j]) if a >= 0 else 0.0 for j, a in enumerate(matched)]
    turned = [angles[a, j] if a >= 0 else 90.0 for j, a in enumerate(matched)]
    return matched, parts, turned
