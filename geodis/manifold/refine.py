"""Refinement of a split, beyond the published algorithm.

In a product of immersions every factor is a manifold of small dimension in its own orthogonal
subspace, sampled by all points; the pipeline is run again in each subspace. If the ambient space
does not split, tangents are fitted again without quadratic terms that mix factors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.holonomy.eigenfields import extend_fields
from geodis.manifold.local.exact_search import Searches
from geodis.manifold.local.neighbors import Neighbors, neighbors_at
from geodis.manifold.local.quadratic_fits import quadratic_pairs
from geodis.manifold.local.tangents import Tangents, neighbors_for_tangents
from geodis.manifold.out_of_sample import AmbientSplit, ambient_split
from geodis.manifold.pipeline import Solution, estimate_tangents, fit_tangents, published_pipeline
from geodis.manifold.preparation.prepared import distinct_places
from geodis.manifold.split_result import Split, Task, join_axes, largest_first

# Largest growth of displacements outside the tangent spaces for which an ambient split is accepted;
# for products of immersions they shrink.
LARGEST_GROWTH = 1.02


def split_factors(points: np.ndarray, dim: int, task: Task | None = None) -> Split:
    """Split a set of points into factors by the published pipeline, then refine.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    task : Task, optional
        Settings, progress, random numbers, and a known graph or number of factors.

    Returns
    -------
    Split

    Examples
    --------
    >>> from geodis import product_manifold
    >>> split_factors(product_manifold("S^2 x S^1", 500, random_state=0).points, 3).dims
    (2, 1)
    """
    task = task or Task()
    places = distinct_places(points, task)
    task = task.at(places.rows)
    solution = published_pipeline(places.points, dim, task)
    return places.spread(refined(places.points, solution, task))


def refined(points: np.ndarray, solution: Solution, task: Task) -> Split:
    """Refine the result of the pipeline, and extend it to all points.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points of the pipeline.
    solution : Solution
    task : Task

    Returns
    -------
    Split
        With axes at all points.
    """
    split, n = solution.split, len(points)
    if split.fields is None:  # one factor, by its dimension or by request
        return split
    dim = sum(split.dims)
    # A separate fit assumes that a factor is the same everywhere; if its lengths depend on the
    # other factors, that makes the axes worse.
    product = split.departure is None or split.departure.clearly_product
    if product and task.graph is None and task.settings.refines and len(split.dims) > 1:
        separate = _refine_separately(points, split, task)
        if separate is not None:
            return separate
    if len(split.rows) < n:
        if len(split.dims) == 1:
            return replace(split, axes=_frames_everywhere(points, solution.tangents, split, task))
        solution = published_pipeline(points, dim, task, rows=np.arange(n))
    return _with_better_tangents(points, solution, task)


def _frames_everywhere(
    points: np.ndarray, tangents: Tangents, split: Split, task: Task
) -> np.ndarray:
    """Estimate frames at all points, given those at the rows of the split."""
    dim, count = sum(split.dims), split.tangent_neighbors
    others = np.setdiff1d(np.arange(len(points)), split.rows)
    frames = np.empty((len(points), *tangents.frames.shape[1:]))
    frames[split.rows] = tangents.frames
    frames[others] = estimate_tangents(points, dim, task, rows=others, count=count).frames
    return frames


def _refine_separately(points: np.ndarray, split: Split, task: Task) -> Split | None:
    """Split each factor in its ambient subspace; None if the ambient space does not split.

    Factors are left whole if their number was given.
    """
    with task.stages.stage("ambient split"):
        ambient = ambient_split(split.axes, split.dims)
    if any(len(basis) < dim for basis, dim in zip(ambient.bases, split.dims, strict=True)):
        return None
    own: dict[str, Any] = {"n_factors": None, "leave_whole": task.n_factors is not None}
    whole = replace(task, searches=Searches(), **own)
    try:
        parts = tuple(
            split_factors(points @ basis.T, dim, whole)
            for basis, dim in zip(ambient.bases, split.dims, strict=True)
        )
    except InputError:  # too few distinct places in a factor, as on a coarse grid
        return None
    axes = join_axes(parts, ambient.bases, [part.axes for part in parts])
    with task.stages.stage("ambient split"):
        near = neighbors_at(points, split.rows, axes.shape[1], search=task.search(points))
        before = _share_outside(points, near, split.rows, split.axes)
        after = _share_outside(points, near, split.rows, axes[split.rows])
    if after > LARGEST_GROWTH * before:
        return None
    return _of_parts(split, parts, ambient, axes, keep_flat=bool(task.n_factors))


def _of_parts(
    split: Split, parts: tuple[Split, ...], ambient: AmbientSplit, axes: np.ndarray, keep_flat: bool
) -> Split:
    """Combine the factors of all parts into one split, largest first."""
    dims = [dim for part in parts for dim in part.dims]
    flat = split.flat if keep_flat else [flag for part in parts for flag in part.flat]
    order = largest_first(dims)
    return replace(
        split,
        axes=axes,
        dims=tuple(dims[j] for j in order),
        flat=tuple(flat[j] for j in order),
        parts=parts,
        bases=tuple(ambient.bases),
        refined="ambient",
        leakage=ambient.leakage,
        history=split.history + [entry for part in parts for entry in part.history],
    )


def _share_outside(
    points: np.ndarray, near: Neighbors, rows: np.ndarray, axes: np.ndarray
) -> float:
    """Return the share of squared displacements to near points outside the tangent spaces."""
    displacements = points[near.indices] - points[rows, None]
    inside = displacements @ np.swapaxes(axes, 1, 2)
    return 1.0 - float((inside**2).sum() / (displacements**2).sum())


def _with_better_tangents(points: np.ndarray, solution: Solution, task: Task) -> Split:
    """Fit the tangents without quadratic terms that mix factors, and solve again.

    Rounds continue while eigenvalues of the parallel fields fall, which are zero without errors of
    the tangents.
    """
    tangents, split = solution.tangents, solution.split
    dim, d = split.axes.shape[1:]
    if not task.settings.refines or len(split.dims) == 1 or d == dim:
        return split
    for _ in range(task.settings.refinements):
        again = _tangents_by_factor(points, tangents, split, task)
        assert split.fields is not None
        with task.stages.stage("eigenfields"):
            start = extend_fields(
                split.fields.fields, tangents.frames, again.frames, split.rows[:, None]
            )
        new = published_pipeline(
            points, dim, task, rows=split.rows, tangents=again, start=start, what="refined"
        ).split
        assert new.fields is not None
        wanted = len(split.dims) - 1
        better = new.fields.values[:wanted].sum() < split.fields.values[:wanted].sum()
        if not better or len(new.dims) < len(split.dims):
            last = {**new.history[-1], "what": "refined" if better else "rejected"}
            return replace(split, history=[*split.history, last])
        tangents = again
        split = replace(new, refined="tangents", history=[*split.history, *new.history])
    return split


def _tangents_by_factor(
    points: np.ndarray, tangents: Tangents, split: Split, task: Task
) -> Tangents:
    """Fit tangents from the axes of a split, with quadratic terms within factors only."""
    dim, count = split.axes.shape[1], tangents.n_neighbors
    if count == neighbors_for_tangents(dim):  # no noise: fewer terms, fewer neighbours
        count = 2 * (1 + dim + len(quadratic_pairs(dim, split.dims)[0]))
    count = min(count, len(points) - 1)
    return fit_tangents(points, dim, count, task, start=split.axes, factor_dims=split.dims)
