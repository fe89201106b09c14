"""A split -> a better one: each factor on its own, where it has an ambient subspace of its own.

What the published algorithm does not do. In a product of immersions every factor is a manifold of
its own small dimension in an orthogonal subspace, and all points sample it; there the pipeline is
run again. Where the ambient space does not split, the tangents are fitted again without quadratic
terms that mix factors.
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

# Largest growth of what displacements leave outside the tangent spaces at which the ambient
# split is believed; splits of products of immersions lower it.
BELIEVED = 1.02


def split_factors(points: np.ndarray, dim: int, task: Task | None = None) -> Split:
    """Split a set of points into factors: the published pipeline, then refinement.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
    task : Task, optional
        Settings, progress, random numbers, and what is known of graph and factors.

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
    """Refine what the pipeline found, and extend it to all points.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Those of the pipeline.
    solution : Solution
    task : Task

    Returns
    -------
    Split
        With axes at all points.
    """
    split, n = solution.split, len(points)
    if split.fields is None:  # one factor, by its dimension or because it was asked for
        return split
    dim = sum(split.dims)
    # In subspaces of its own a factor would be forced to look alike everywhere: where lengths in
    # it depend on the others, that makes the axes worse.
    product = split.departure is None or split.departure.clearly_product
    if product and task.graph is None and task.settings.refines and len(split.dims) > 1:
        alone = _each_on_its_own(points, split, task)
        if alone is not None:
            return alone
    if len(split.rows) < n:
        if len(split.dims) == 1:
            return replace(split, axes=_frames_everywhere(points, solution.tangents, split, task))
        solution = published_pipeline(points, dim, task, rows=np.arange(n))
    return _with_better_tangents(points, solution, task)


def _frames_everywhere(
    points: np.ndarray, tangents: Tangents, split: Split, task: Task
) -> np.ndarray:
    """Frames of all points: those of some rows are known, and do not depend on the others."""
    dim, count = sum(split.dims), split.tangent_neighbors
    others = np.setdiff1d(np.arange(len(points)), split.rows)
    frames = np.empty((len(points), *tangents.frames.shape[1:]))
    frames[split.rows] = tangents.frames
    frames[others] = estimate_tangents(points, dim, task, rows=others, count=count).frames
    return frames


def _each_on_its_own(points: np.ndarray, split: Split, task: Task) -> Split | None:
    """Split each factor in its ambient subspace, if the ambient space splits.

    A factor is left whole when the number of factors was given.
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
    if after > BELIEVED * before:
        return None
    return _of_parts(split, parts, ambient, axes, keep_flat=bool(task.n_factors))


def _of_parts(
    split: Split, parts: tuple[Split, ...], ambient: AmbientSplit, axes: np.ndarray, keep_flat: bool
) -> Split:
    """The split whose factors are those of its parts, largest first."""
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
    """Share of squared displacements to near points that lies outside the tangent spaces."""
    displacements = points[near.indices] - points[rows, None]
    inside = displacements @ np.swapaxes(axes, 1, 2)
    return 1.0 - float((inside**2).sum() / (displacements**2).sum())


def _with_better_tangents(points: np.ndarray, solution: Solution, task: Task) -> Split:
    """Fit the tangents again without quadratic terms that mix factors, and solve again.

    Rounds go on while they make the fields more parallel: the eigenvalues of parallel fields are
    zero but for errors in the tangents.
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
    """Tangents fitted again from those of a split, with quadratic terms within factors only."""
    dim, count = split.axes.shape[1], tangents.n_neighbors
    if count == neighbors_for_tangents(dim):  # no noise: fewer terms, fewer neighbours
        count = 2 * (1 + dim + len(quadratic_pairs(dim, split.dims)[0]))
    count = min(count, len(points) - 1)
    return fit_tangents(points, dim, count, task, start=split.axes, factor_dims=split.dims)
