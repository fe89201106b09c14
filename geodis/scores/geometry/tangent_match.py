"""Match of the tangent subspaces found by GeoManCER with the gradients of given factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.manifold.local.neighbors import nearest_targets
from geodis.scores.card import Cost, Score
from geodis.scores.groups import FactorBlock, FoundGeometry, read_latent_groups, varying_blocks
from geodis.scores.inputs import check_latents
from geodis.scores.registry import register_score

# A direction of a factor with several columns counts if its singular value, the median over points,
# exceeds this share of the first.
DIRECTION_SHARE = 0.2


def local_gradients(
    points: np.ndarray, axes: np.ndarray, targets: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Estimate gradients of functions on the manifold, in tangent coordinates.

    At point i, with neighbours ``x_s`` and tangent coordinates ``t_s = A_i (x_s - x_i)``, the
    gradient is G of the least squares ``y_s = y_0 + t_s G`` over 3 k + 3 neighbours.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    axes : ndarray of shape (n, k, d)
    targets : ndarray of shape (n, c)
    rows : ndarray of int, shape (m,)
        Points at which gradients are computed.

    Returns
    -------
    ndarray of shape (m, k, c)

    Examples
    --------
    >>> line = np.linspace(0, 1, 20)[:, None] * [[0.6, 0.8]]
    >>> axes = np.tile([[[0.6, 0.8]]], (20, 1, 1))
    >>> local_gradients(line, axes, 5 * line[:, :1], np.array([4])).round(6)
    array([[[3.]]])
    """
    k = axes.shape[1]
    near = nearest_targets(points, rows, min(3 * k + 3, len(points) - 1))
    steps = points[near] - points[rows, None]
    along = np.einsum("msd,mkd->msk", steps, axes[rows])
    change = targets[near]
    along = along - along.mean(axis=1, keepdims=True)
    change = change - change.mean(axis=1, keepdims=True)
    squares = np.einsum("msk,msl->mkl", along, along)
    # A small ridge for neighbours that span fewer than k directions.
    floor = 1e-9 * np.trace(squares, axis1=1, axis2=2) + 1e-300
    squares += floor[:, None, None] * np.eye(k)
    return np.linalg.solve(squares, np.einsum("msk,msc->mkc", along, change))


def factor_directions(
    gradients: list[np.ndarray], dims: list[int]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Find directions along which one factor changes and the others do not.

    With the gradients of all factors side by side in D, those of factor j are the columns of
    ``pinv(D)^T`` that belong to it, made orthonormal.

    Parameters
    ----------
    gradients : list of ndarray of shape (m, k, c_j)
    dims : list of int
        Dimension r_j of every factor.

    Returns
    -------
    directions : list of ndarray of shape (m, k, r_j)
        Orthonormal columns, in tangent coordinates.
    usable : ndarray of bool, shape (m,)
        Points with finite, non-zero gradients of all factors.
    """
    reduced = []
    for gradient, dim in zip(gradients, dims, strict=True):
        u, s, _ = np.linalg.svd(gradient, full_matrices=False)
        reduced.append(u[:, :, :dim] * s[:, None, :dim])
    together = np.concatenate(reduced, axis=2)
    dual = np.swapaxes(np.linalg.pinv(together), 1, 2)
    sizes = np.cumsum(dims)[:-1]
    directions = [np.linalg.qr(part)[0] for part in np.split(dual, sizes, axis=2)]
    usable = np.isfinite(together).all(axis=(1, 2)) & (np.abs(together).sum(axis=1) > 0).all(axis=1)
    return directions, usable


def factor_dim(block: FactorBlock, gradient: np.ndarray) -> int:
    """Estimate the dimension of a factor: one for a single column, else from the gradients.

    Parameters
    ----------
    block : FactorBlock
    gradient : ndarray of shape (m, k, c)
        Gradients of its whitened columns.
    """
    if len(block.columns) == 1:
        return 1
    strengths = np.median(np.linalg.svd(gradient, compute_uv=False), axis=0)
    return max(int((strengths > DIRECTION_SHARE * strengths[0]).sum()), 1)


def whitened(values: np.ndarray) -> np.ndarray:
    """Return the principal components of a block, scaled to variance one, without rounding."""
    u, s, _ = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    return u[:, s > 1e-8 * s[0]] * np.sqrt(len(values))


# Sampled points: the standard error of the mean is below a hundredth.
MOST_POINTS = 1_000


@register_score(
    family="geometry",
    takes_continuous=True,
    needs_found=True,
    halves=True,
    default=False,
    cost=Cost("30 ms after the fit"),
    answers="geometry",
)
def tangent_match(
    latents: Any,
    factors: Any,
    *,
    groups: Any = None,
    max_points: int = MOST_POINTS,
    random_state: Any = None,
) -> Score:
    """Match of found and given factors by their tangent spaces.

    At every point the gradients of the given factors in the tangent space are estimated from its
    neighbours (`local_gradients`). They give the directions T_j along which only factor j changes
    (`factor_directions`). With P_a the projection onto the subspace of found factor a and Q_j onto
    T_j, of dimensions k_a and r_j, the score is

    ``max over matchings of sum_(a, j) mean tr(P_a Q_j) / max(sum k, sum r)``:

    one if the found factors are the given ones, in any order. For random directions the sum is
    ``sum k_a r_j / k``.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        The fitted points.
    factors : array-like of shape (n, f), or Factors
        Numbers, cyclic numbers, ordered labels, or factors of several columns, whose dimension is
        estimated. Labels without an order are left out.
    groups : GeoManCER
        Fitted to the latents.
    max_points : int
        Number of points, drawn at random, for the mean.
    random_state : int, Generator or None

    Returns
    -------
    Score
        `per_factor` is ``tr(P_a Q_j) / max(k_a, r_j)`` of the matched factors, zero without a
        match; `matrix` (found, given) is ``tr(P_a Q_j) / r_j``, the share of the directions of each
        given factor in each found factor. `details` has "matched" (-1 for none), "angles" (the
        median over points of the largest angle between matched subspaces, in degrees),
        "factor_dims" and "expected", the score of random directions.

    Rewards
    -------
    Factors found without labels whose directions are, at every point, those along which one given
    factor changes and the others do not. Axes need not be aligned, labels need no order, and
    factors may be spheres and rotations.

    Cannot see
    ----------
    Distances: a factor stretched unevenly keeps its directions. Labels, which have no directions.
    Factors of a grid so coarse that neighbours share all values.

    By chance
    ---------
    the sum of the products of matched dimensions over the square of all; 0.5 for two factors of
    equal dimension, less for more

    Factors of any shape
    --------------------
    All but labels without an order, which are left out; a factor of several columns has as many
    directions as its columns show. The groups are the factors of a fit.

    Source
    ------
    subspace angles as Pfau et al. 2020, section 4, against gradients of the factors

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
    blocks, varying = varying_blocks(factors, len(found.points))
    numeric = np.array([blocks[j].numeric for j in varying.kept])
    if not numeric.any():
        raise InputError("tangent_match needs a factor that is not of labels; got none.")
    labels = ", ".join(blocks[j].name for j in varying.kept[~numeric])
    used = varying.only(numeric, f"labels have no directions: {labels}" if labels else "")
    rng = check_random_state(random_state)
    spread, dims = _tangents(found, [blocks[j] for j in used.kept], max_points, rng)
    k = [axes.shape[1] for axes in found.subspaces]
    overlap, angles = _overlaps(spread, k)  # (found, given), traces and angles
    whole = max(sum(k), sum(dims))
    matched, per_factor, turned = _match(overlap, angles, k, dims)
    value = sum(overlap[a, j] for j, a in enumerate(matched) if a >= 0) / whole
    expected = sum(k[a] * dims[j] for j, a in enumerate(matched) if a >= 0) / sum(k) / whole
    return used.score(
        "tangent_match",
        used.spread(per_factor),
        value=float(value),
        matrix=used.spread_columns(overlap / np.array(dims)),
        details={
            "matched": used.spread(matched, -1),
            "angles": used.spread(turned),
            "factor_dims": dims,
            "expected": float(expected),
        },
    )


def _tangents(
    found: FoundGeometry, blocks: list[FactorBlock], most: int, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[int]]:
    """Return directions of every factor in tangent coordinates at sampled points, and dims."""
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
    directions, usable_rows = factor_directions(gradients, dims)
    if not usable_rows.any():
        raise InputError(
            "tangent_match needs factors that change between neighbours; got none: neighbours "
            "share their values."
        )
    return [part[usable_rows] for part in directions], dims


def _overlaps(directions: list[np.ndarray], k: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean traces of products of projections and median largest angles, (found, given)."""
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
    """Return the matched found factor of every given one, the overlap, and the angle."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-overlap)
    of_factor = dict(zip(columns.tolist(), rows.tolist(), strict=True))
    matched = [of_factor.get(j, -1) for j in range(len(dims))]
    parts = [overlap[a, j] / max(k[a], dims[j]) if a >= 0 else 0.0 for j, a in enumerate(matched)]
    turned = [angles[a, j] if a >= 0 else 90.0 for j, a in enumerate(matched)]
    return matched, parts, turned
