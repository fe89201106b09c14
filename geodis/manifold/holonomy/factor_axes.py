"""Parallel fields, counted -> the factor of every tangent axis, the same labels at every point.

A parallel field is the same combination of the factors' projectors at every point, so all questions
are settled once, by coefficients, for all points: which values the combinations that commute take
on each factor, read off by joint diagonalisation and clustering at a few thousand points; and hence
which combination is the projector of each factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.base.jobs import check_jobs, one_thread_each, over_blocks
from geodis.manifold.holonomy.diagonalise import ffdiag
from geodis.manifold.holonomy.eigenfields import Eigenfields
from geodis.manifold.holonomy.factor_count import FactorCount, count_factors
from geodis.manifold.linalg import polar_rows

BLOCK_POINTS = 4096


@dataclass(frozen=True)
class FactorAxes:
    """Axes of the tangent spaces grouped by factor, in the same order at every point.

    Attributes
    ----------
    axes : ndarray of shape (n, k, k)
        Orthonormal rows in the coordinates of the frames, grouped by factor.
    dims : tuple of int
        Dimension of every factor, largest first.
    flat : int or None
        The factor that is a flat part of dimension two or more, which holonomy cannot split.
    commutators : ndarray of shape (w,)
        Mean squared commutator with a field, for each combination of the parallel fields.
    off_diagonal : float
        Mean share of the fields' energy off the diagonal after joint diagonalisation.
    spread : float
        Root mean square distance of the diagonals from their cluster, relative to the distance
        of the two nearest clusters.
    """

    axes: np.ndarray
    dims: tuple[int, ...]
    flat: int | None
    commutators: np.ndarray
    off_diagonal: float
    spread: float


def factor_axes(
    fields: Eigenfields,
    count: FactorCount | int | None = None,
    *,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> FactorAxes:
    """Label the tangent axes by factor from the parallel fields.

    Parameters
    ----------
    fields : Eigenfields
        The first `n_parallel` are used.
    count : FactorCount or int, optional
        What `count_factors` says of the fields, or the number of factors when it is known;
        counted by default.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None

    Returns
    -------
    FactorAxes
    """
    n_jobs = check_jobs(n_jobs)
    rng = check_random_state(random_state)
    if not isinstance(count, FactorCount):
        count = count_factors(fields, count, random_state=rng)
    n, width = len(fields.fields), fields.n_parallel
    k, n_central = count.matrices.shape[-1], count.n_factors - 1
    matrices, combinations = count.matrices, count.combinations
    if n_central == 0:
        axes = np.broadcast_to(np.eye(k), (n, k, k)).copy()
        return FactorAxes(axes, (k,), 0 if count.has_flat else None, count.commutators, 0.0, 0.0)
    central = np.einsum("sw,pwab->psab", combinations[:n_central], matrices)
    joint = ffdiag(central, random_state=rng)
    points = np.swapaxes(joint.diagonals, 1, 2).reshape(-1, n_central)  # one row an axis
    centres, spread = _cluster(points, n_central + 1, rng)
    # Pi_f = sum_r G_fr Omega_r + G_f0 I, with the values c_rf of field r on factor f.
    to_projectors = np.linalg.pinv(np.vstack([centres.T, np.ones(len(centres))])).astype(float)
    traces = to_projectors[:, -1] * k  # the fields are traceless
    unsorted = _whole_dims(traces, k)
    flat = (
        _flat_factor(to_projectors, combinations, matrices, n_central) if count.has_flat else None
    )
    order = np.argsort([-dim for dim in unsorted], kind="stable")  # largest first
    to_projectors, dims = to_projectors[order], tuple(unsorted[j] for j in order)
    if flat is not None:
        flat = int(np.flatnonzero(order == flat)[0])
    axes = np.empty((n, k, k))
    weights = to_projectors[:, :-1] @ combinations[:n_central]  # (m, w)

    def label(rows: slice) -> None:
        projectors = np.einsum("fw,pwab->pfab", weights, fields.matrices(width, rows=rows))
        projectors += to_projectors[None, :, -1, None, None] * np.eye(k)
        leading = [
            np.swapaxes(np.linalg.eigh(projectors[:, f])[1][..., : -dim - 1 : -1], 1, 2)
            for f, dim in enumerate(dims)
        ]
        axes[rows] = polar_rows(np.concatenate(leading, axis=1))

    over_blocks(label, n, BLOCK_POINTS, n_jobs)
    return FactorAxes(axes, dims, flat, count.commutators, float(joint.off_diagonal.mean()), spread)


def _flat_factor(
    to_projectors: np.ndarray, combinations: np.ndarray, matrices: np.ndarray, n_central: int
) -> int:
    """The factor on which the other combinations of the fields live."""
    central = np.einsum("sw,pwab->psab", combinations[:n_central], matrices)
    others = np.einsum("sw,pwab->psab", combinations[n_central:], matrices)
    energy = (others @ others).sum(axis=1)  # (p, k, k)
    k = matrices.shape[-1]
    shares = []
    for row in to_projectors:
        projector = np.einsum("r,prab->pab", row[:-1], central) + row[-1] * np.eye(k)
        shares.append(np.einsum("pab,pba->", projector, energy))
    return int(np.argmax(shares))


def _cluster(points: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Centres of the diagonals, one a factor, and their spread."""
    from sklearn.cluster import KMeans

    seed = int(rng.integers(2**31 - 1))
    with one_thread_each():
        clusters = KMeans(count, n_init=10, random_state=seed).fit(points)
    centres = clusters.cluster_centers_
    distances = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    nearest = distances[np.triu_indices(count, 1)].min()
    return centres, float(np.sqrt(clusters.inertia_ / len(points)) / nearest)


def _whole_dims(traces: np.ndarray, k: int) -> list[int]:
    """Whole numbers that sum to k, at least one each, nearest to the traces."""
    dims = np.maximum(1, np.floor(traces)).astype(int)
    while dims.sum() < k:
        dims[np.argmax(traces - dims)] += 1
    while dims.sum() > k:
        candidates = np.where(dims > 1, traces - dims, np.inf)
        dims[np.argmin(candidates)] -= 1
    return dims.tolist()
