"""Lowest eigenfields of the connection Laplacian, by Chebyshev-filtered subspace iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.linalg

from geodis.base.check import InputError, check_choice, check_random_state
from geodis.base.jobs import blocks, check_jobs
from geodis.manifold.holonomy.connection import connection, transports_between
from geodis.manifold.holonomy.diffusion import diffuse
from geodis.manifold.holonomy.laplacian import ConnectionLaplacian, unvec_symmetric
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.graph import neighbor_graph

# Upper bound of the spectrum of I - D^(-1/2) W D^(-1/2), since averaging does not lengthen fields.
# It actually ends near 1.5, but computing that costs more than it saves.
NORMALIZED_TOP = 2.0
LANCZOS_STEPS = 10
# The Lanczos estimate is below the largest eigenvalue. A filter that ends too early amplifies what
# lies above it; one that ends 10 % too late costs 5 % more.
LANCZOS_MARGIN = 1.1
# Rows of a partial Gram matrix, which are summed in float32; partial sums are added in float64.
GRAM_ROWS = 2**16

# Rounds without a clear fall of the residual after which iteration stops.
PATIENCE = 4
# Largest variation of the norm of a parallel field.
PARALLEL_VARIATION = 0.05
# Parallel fields have eigenvalues below this share of the largest computed one.
BULK_PART = 0.5
# Variations that leave the count of parallel fields uncertain.
UNCERTAIN_VARIATION = (0.03, 0.15)
# If the lowest field varies by more than this, it is rejected without further convergence.
CLEAR_VARIATION = 0.1
# Eigenvalues with smaller ratios form a cluster, whose fields mix, so the count of parallel fields
# must not split it. The gap above the parallel fields was 3.6 for the strongest departure from a
# product that was still accepted as one.
CLUSTER = 2.0
# Ratio of eigenvalues from which a field is clearly separate from those below.
CLEAR_GAP = 4.0
# Consecutive parts of the points, for the jackknife over energies.
ENERGY_BLOCKS = 20

FactorRule = Literal["parallel", "gap"]


@dataclass(frozen=True)
class Eigenfields:
    """Bottom eigenfields of a connection Laplacian.

    Attributes
    ----------
    values : ndarray of shape (q,)
        Ritz values, ascending.
    fields : ndarray of float32, shape (n, k (k + 1) / 2, q)
        Coordinates of traceless symmetric matrices; the mean of |S_i|^2 over points is one.
    variation : ndarray of shape (q,)
        Coefficient of variation over points of |S_i|: zero for a parallel field.
    residuals : ndarray of shape (q,)
        |A v - theta v| for unit v.
    n_parallel : int
        Number of leading fields accepted as parallel, or requested.
    n_applications : int
        Number of applications of the Laplacian to all fields.
    converged : bool
        Whether the residuals of the parallel fields are small relative to the gap above them.
    top : float
        Upper bound of the spectrum.
    energies : ndarray of shape (b, q)
        Contributions of twenty consecutive parts of the points to every eigenvalue; may have no
        rows.
    """

    values: np.ndarray
    fields: np.ndarray
    variation: np.ndarray
    residuals: np.ndarray
    n_parallel: int
    n_applications: int
    converged: bool
    top: float
    energies: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def matrices(self, count: int | None = None, rows: Any = slice(None)) -> np.ndarray:
        """Return the first fields as matrices, shape (n, count, k, k), at some rows."""
        chosen = np.swapaxes(self.fields[rows, :, :count], 1, 2)
        k = int((np.sqrt(8 * self.fields.shape[1] + 1) - 1) / 2)
        return unvec_symmetric(chosen.astype(float), k)


def bottom_eigenfields(
    laplacian: ConnectionLaplacian,
    *,
    n_fields: int = 8,
    n_wanted: int | None = None,
    start: np.ndarray | None = None,
    top: float | None = None,
    weights: np.ndarray | None = None,
    rule: FactorRule = "parallel",
    degree: int = 12,
    tolerance: float = 0.02,
    max_rounds: int = 60,
    random_state: Any = None,
    done: Callable[[float, str], None] | None = None,
) -> Eigenfields:
    """Compute the lowest eigenfields by subspace iteration with a Chebyshev filter.

    The residual of the wanted fields must be small relative to the gap above them, which shrinks
    like n^(-2/k); a tolerance relative to the eigenvalues would return bulk fields.

    Parameters
    ----------
    laplacian : ConnectionLaplacian
    n_fields : int
        Number of fields in the iteration.
    n_wanted : int, optional
        Number of fields that must converge. Default: the parallel ones.
    start : ndarray of shape (n, k (k + 1) / 2, n_fields), optional
        Initial fields; random by default.
    top : float, optional
        Upper bound of the spectrum, if known.
    weights : ndarray of shape (n,), optional
        Weights of the points in `variation`, such as the inverse density.
    rule : {"parallel", "gap"}
        How wanted fields are counted: `count_parallel`, or `count_by_gap` as published.
    degree : int
        Degree of the filter.
    tolerance : float
        Largest residual of a wanted field, relative to the gap above.
    max_rounds : int
        Largest number of filters.
    random_state : int, Generator or None
    done : callable, optional
        Called with the fraction done and a note.

    Returns
    -------
    Eigenfields
    """
    check_choice(rule, "rule", ("parallel", "gap"))
    n, coordinates = laplacian.shape
    if n * (coordinates - 1) < 2 * n_fields:
        raise InputError(
            f"{n_fields} fields need at least {2 * n_fields} unknowns; {n} points in dimension "
            f"{laplacian.k} have {n * (coordinates - 1)}."
        )
    root = np.sqrt(laplacian.graph.degrees.astype(np.float32))[:, None, None]
    if not laplacian.normalized:
        root = np.ones_like(root)
    rng = check_random_state(random_state)
    if start is None:
        start = rng.standard_normal((*laplacian.shape, n_fields), dtype=np.float32)
    applications = 1
    if top is None and laplacian.normalized:
        top = NORMALIZED_TOP
    elif top is None:
        top = _upper_bound(laplacian, rng)
        applications += LANCZOS_STEPS
    state = _rayleigh_ritz(laplacian, _orthonormal(_traceless(start * root, laplacian.k)))
    cut, previous = top / 8, None
    worst: list[float] = []
    for round_ in range(max_rounds + 1):
        values, fields, residuals = state
        variation = norm_variation(fields / root, weights)
        if n_wanted is not None:
            n_parallel = n_wanted
        elif rule == "gap":
            n_parallel = count_by_gap(values)
        else:
            n_parallel = count_parallel(values, variation)
        converged = _has_converged(values, residuals, variation, n_parallel, tolerance, previous)
        worst.append(residuals[: max(n_parallel, 1)].max())
        stuck = len(worst) > 2 * PATIENCE and worst[-1] > 0.8 * worst[-1 - PATIENCE]
        if converged or stuck or round_ == max_rounds:
            break
        if done is not None:
            done(round_ / max_rounds, f"round {round_ + 1}: {n_parallel} parallel fields")
        if round_ > 0:
            cut = min(values[-1], top / 8)
        previous = values
        filtered = _chebyshev_filter(laplacian, fields, degree, cut, top, values[0])
        state = _rayleigh_ritz(laplacian, _orthonormal(filtered))
        applications += degree + 1
    energies = _energies(fields, laplacian.apply(fields))
    applications += 1
    unit = np.sqrt(len(fields), dtype=np.float32) / root
    scaled = fields * unit
    scaled /= np.sqrt((scaled**2).sum(axis=1, dtype=float).mean(axis=0)).astype(np.float32)
    return Eigenfields(
        values,
        scaled,
        variation,
        residuals,
        n_parallel,
        applications,
        bool(converged),
        top,
        energies,
    )


def norm_variation(fields: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Compute the coefficient of variation over points of the norm of every field, (R,).

    Transport preserves the norm of a parallel field (eigenvalue zero); other norms vary.

    Examples
    --------
    >>> norm_variation(np.array([[[3.0, 0.0]], [[-3.0, 2.0]]]))
    array([0., 1.])
    """
    norms = np.sqrt((fields**2).sum(axis=1))
    mean = np.average(norms, axis=0, weights=weights)
    spread = np.average((norms - mean) ** 2, axis=0, weights=weights)
    return np.sqrt(spread) / np.maximum(mean, np.finfo(np.float32).tiny)


def count_parallel(
    values: np.ndarray, variation: np.ndarray, threshold: float = PARALLEL_VARIATION
) -> int:
    """Count the leading fields of nearly constant norm with eigenvalues below half the bulk.

    Fields of less constant norm also count if there is a clear gap above them. A count that would
    split a cluster of eigenvalues is reduced to the last clear gap below it, if there is one,
    because fields of a cluster mix, and on small patches all of them are nearly constant.

    Examples
    --------
    >>> count_parallel(np.array([0.001, 0.02, 0.03]), np.array([0.0, 0.5, 0.6]))
    1
    >>> count_parallel(np.array([1e-7, 0.002, 0.002, 0.0021, 0.1]), np.array([0, 0.03, 0.04, 1, 1]))
    1
    """
    small = values < BULK_PART * values[-1]
    count = int(np.argmin(np.r_[(variation < threshold) & small, False]))
    wide = int(np.argmin(np.r_[(variation < UNCERTAIN_VARIATION[1]) & small, False]))
    if wide > count and wide < len(values) and values[wide] >= CLEAR_GAP * values[wide - 1]:
        return wide
    if not 1 < count < len(values) or values[count] >= CLUSTER * values[count - 1]:
        return count
    gaps = values[1:count] / np.maximum(values[: count - 1], np.finfo(float).tiny)
    clear = np.flatnonzero(gaps >= CLUSTER)
    return int(clear[-1]) + 1 if len(clear) else count


def count_by_gap(values: np.ndarray) -> int:
    """Count the fields below the largest gap between eigenvalues: the published rule.

    The count is at least one, so it never gives a single factor.

    Examples
    --------
    >>> count_by_gap(np.array([0.01, 0.02, 0.5, 0.6]))
    2
    """
    return int(np.argmax(np.diff(values))) + 1


def _has_converged(
    values: np.ndarray,
    residuals: np.ndarray,
    variation: np.ndarray,
    n_parallel: int,
    tolerance: float,
    previous: np.ndarray | None,
) -> bool:
    if previous is None:
        return False
    if n_parallel == 0:
        # Every filter would amplify a hidden parallel field, so that its Ritz value would fall by
        # a large factor. A stable value shows that there is none.
        clear = variation[0] > CLEAR_VARIATION
        return bool(abs(values[0] - previous[0]) < (0.1 if clear else 0.01) * values[0])
    if n_parallel >= len(values):
        return bool(residuals.max() < tolerance * values[-1])
    gap = values[n_parallel] - values[n_parallel - 1]
    return bool(residuals[:n_parallel].max() < tolerance * gap)


def _rayleigh_ritz(
    laplacian: ConnectionLaplacian, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Ritz values, fields and residuals from an orthonormal basis."""
    image = laplacian.apply(basis)
    values, rotation = np.linalg.eigh(_gram(basis, image))
    rotation = rotation.astype(np.float32)
    fields, image = basis @ rotation, image @ rotation
    residuals = np.sqrt(
        np.diag(_gram(misfit := image - fields * values.astype(np.float32), misfit))
    )
    return values, fields, residuals


def _energies(fields: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Return the contribution of each part of the points to ``v^T A v``, shape (b, R)."""
    parts = blocks(len(fields), -(-len(fields) // ENERGY_BLOCKS))
    return np.array(
        [np.einsum("ncr,ncr->r", fields[rows], image[rows], dtype=float) for rows in parts]
    )


def _chebyshev_filter(
    laplacian: ConnectionLaplacian,
    fields: np.ndarray,
    degree: int,
    cut: float,
    top: float,
    bottom: float,
) -> np.ndarray:
    """Amplify eigenvalues below `cut` and damp [cut, top] by a scaled three-term recurrence.

    Zhou, Saad, Tiago and Chelikowsky (2006), algorithm 4.3. The scaling keeps the component at
    `bottom` of order one, which avoids overflow and loss of digits in float32.
    """
    half, centre = (top - cut) / 2, (top + cut) / 2
    sigma = first = half / (min(bottom, 0.5 * cut) - centre)
    current, older = laplacian.combine(-sigma / half, centre, fields, 0.0, fields), fields
    for _ in range(degree - 1):
        new_sigma = 1 / (2 / first - sigma)
        current, older = (
            laplacian.combine(-2 * new_sigma / half, centre, current, -sigma * new_sigma, older),
            current,
        )
        sigma = new_sigma
    return current


def _upper_bound(laplacian: ConnectionLaplacian, rng: np.random.Generator) -> float:
    """Estimate an upper bound of the spectrum by a few Lanczos steps."""
    vector = _traceless(rng.standard_normal((*laplacian.shape, 1), dtype=np.float32), laplacian.k)
    vector /= np.linalg.norm(vector)
    older, beta = np.zeros_like(vector), 0.0
    diagonal, off_diagonal = [], []
    for _ in range(LANCZOS_STEPS):
        image = laplacian.combine(-1.0, 0.0, vector, -beta, older)
        alpha = float(np.vdot(image, vector))
        image -= np.float32(alpha) * vector
        older, beta = vector, float(np.linalg.norm(image))
        diagonal.append(alpha)
        off_diagonal.append(beta)
        if beta < 1e-6:
            break
        vector = image / np.float32(beta)
    ritz = scipy.linalg.eigvalsh_tridiagonal(diagonal, off_diagonal[:-1])
    bound = LANCZOS_MARGIN * ritz[-1]
    return float(bound)


def _orthonormal(fields: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the span, in two passes because of float32 rounding."""
    for _ in range(2):
        gram = _gram(fields, fields)
        size = np.sqrt(np.diag(gram))
        values, vectors = np.linalg.eigh(gram / np.outer(size, size))
        values = np.maximum(values, 1e-7 * values[-1])
        fields = fields @ (vectors / np.sqrt(values) / size[:, None]).astype(np.float32)
    return fields


def _gram(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of inner products of fields, shape (R, R)."""
    width = left.shape[-1]
    left, right = left.reshape(-1, width), right.reshape(-1, width)
    total = np.zeros((width, width))
    for rows in blocks(len(left), GRAM_ROWS):
        total += left[rows].T @ right[rows]
    return (total + total.T) / 2


def _traceless(fields: np.ndarray, k: int) -> np.ndarray:
    diagonal = np.cumsum(np.arange(1, k + 1)) - 1
    fields[:, diagonal] -= fields[:, diagonal].mean(axis=1, keepdims=True)
    return fields


# The coarse problem: fewest points, share of the points, neighbours to interpolate, tolerance.
MIN_POINTS = 2500
RATIO = 16
NEAREST = 3
TOLERANCE = 0.1


def coarse_start(
    points: np.ndarray,
    frames: np.ndarray,
    n_fields: int,
    *,
    normalized: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> np.ndarray | None:
    """Compute initial fields by solving on a sixteenth of the points.

    Frames need many points for their estimation, but fields are smooth. A field at a point is the
    mean of the transported fields at the three nearest coarse points. This is applied recursively:
    a coarse problem of at least 5,000 points starts from a coarser one.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        In spatial order, so that every sixteenth row samples space evenly.
    frames : ndarray of shape (n, k, d)
    n_fields : int
    normalized : bool
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : int, Generator or None

    Returns
    -------
    ndarray of float32, shape (n, k (k + 1) / 2, n_fields), or None
        None if points are too few for a coarse problem to save time.
    """
    n_jobs = check_jobs(n_jobs)
    n, k, _ = frames.shape
    count = max(MIN_POINTS, n // RATIO)
    if n < 2 * count:
        return None
    chosen = np.linspace(0, n - 1, count).astype(np.intp)
    few, few_frames = points[chosen], frames[chosen]
    graph = neighbor_graph(few, 2 * k, n_jobs=n_jobs, random_state=random_state)
    laplacian = ConnectionLaplacian(
        graph, connection(few_frames, graph, n_jobs=n_jobs), normalized, n_jobs
    )
    start = coarse_start(
        few, few_frames, n_fields, normalized=normalized, n_jobs=n_jobs, random_state=random_state
    )
    solved = bottom_eigenfields(
        laplacian, n_fields=n_fields, start=start, tolerance=TOLERANCE, random_state=random_state
    )
    nearest, _ = searcher(few, n_jobs=n_jobs)(points, NEAREST)
    return extend_fields(solved.fields, few_frames, frames, nearest, n_jobs=n_jobs)


def extend_fields(
    fields: np.ndarray,
    from_frames: np.ndarray,
    to_frames: np.ndarray,
    nearest: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Average fields over given points, each transported to the frame of the row.

    Parameters
    ----------
    fields : ndarray of float32, shape (n_from, k (k + 1) / 2, R)
    from_frames, to_frames : ndarray of shape (n_from, k, d), (n_to, k, d)
    nearest : ndarray of int, shape (n_to, c)
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    ndarray of float32, shape (n_to, k (k + 1) / 2, R)
        ``mean_c Q_ic S_c Q_ic^T``, made traceless.
    """
    n, count = nearest.shape
    indptr = np.arange(0, n * count + 1, count, dtype=np.int32)
    indices = nearest.ravel().astype(np.int32)
    transports = transports_between(to_frames, from_frames, indptr, indices, n_jobs=n_jobs)
    scales = np.full(n, 1 / count, np.float32), np.ones(len(fields), np.float32)
    return diffuse(indptr, indices, transports, fields, scales=scales, n_jobs=n_jobs)
