"""Whether the metric of one factor depends on another: local stretch and common periods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodis.base.jobs import njit
from geodis.manifold.flat.differences import Edges
from geodis.manifold.flat.flat_graph import unrolled_with_periods
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.graph import neighbor_graph
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.rigid_map import Steps, edge_moments, steps_within

# Scale in radians of the total turning in the weights of steps.
STEEP = 0.6
# Limit of the stretch, which is infinite if a map collapses a direction.
LONGEST = 10.0
RIDGE = 1e-6


@dataclass(frozen=True)
class LocalStretch:
    """Lengths in one factor relative to those in its map, at every carrier of the map.

    Attributes
    ----------
    positions : ndarray of shape (c, r)
        Positions in the map.
    frames : ndarray of shape (c, r, k_j)
        Image of the factor's axes.
    logs : ndarray of shape (c, k_j, k_j)
        Symmetric matrices L in the frame. To first order, a unit step in the map along v is longer
        in the factor by the relative amount v^T L v. Zero where the map is isometric.
    scale : float
        Length of steps in the map relative to that in the factor, median over the points.
    """

    positions: np.ndarray
    frames: np.ndarray
    logs: np.ndarray
    scale: float


def local_stretches(
    maps: Sequence[FactorMap],
    places: np.ndarray,
    axes: np.ndarray,
    rows: np.ndarray,
    edges: Edges,
    *,
    n_jobs: int | None = None,
) -> tuple[LocalStretch, ...]:
    """Compare steps along edges with those in the maps, for all factors together.

    Let c be the step along an edge in all axes, u the step in the frames of all maps, and A the
    regression of c on u over the edges of a point. With the other factors fixed, factor j has the
    metric ``G = A_j^T A_j`` in the coordinates of its map, where A_j are its columns of A, and
    ``L = log(G) / 2``.

    Parameters
    ----------
    maps : sequence of FactorMap
    places : ndarray of shape (n, d)
    axes : ndarray of shape (n, k, d)
        Axes of all factors, in the order of the maps.
    rows : ndarray of int, shape (c,)
        Carriers that all maps have in common.
    edges : Edges
        Edges between these points.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    tuple of LocalStretch
        One for every map.
    """
    stops = np.cumsum([own.dim for own in maps])
    k, stops = int(stops[-1]), stops[:-1]
    positions = [own.coordinates[rows] for own in maps]
    frames = [_frames_at(own, rows) for own in maps]
    i, j, n = edges.i, edges.j, edges.n
    in_space, in_maps = [], []
    for own_axes, position, frame in zip(
        np.split(axes[rows], stops, axis=1), positions, frames, strict=True
    ):
        in_space.append(steps_within(places[rows], own_axes, i, j, n_jobs=n_jobs))
        as_rows = np.swapaxes(frame, 1, 2)
        in_maps.append(steps_within(position, as_rows, i, j, n_jobs=n_jobs))
    c, u = _side_by_side(in_space), _side_by_side(in_maps)
    weights = 1 / (1 + (c.turning / STEEP) ** 4)[:, None]
    product = edge_moments(i, j, n, (weights * c.out, u.out), (weights * c.back, u.back))
    squares = edge_moments(i, j, n, (weights * u.out, u.out), (weights * u.back, u.back))
    ridge = RIDGE * np.trace(squares, axis1=1, axis2=2)[:, None, None] / k + np.finfo(float).tiny
    slopes = product @ np.linalg.inv(squares + ridge * np.eye(k))
    found = []
    for position, frame, columns in zip(
        positions, frames, np.split(slopes, stops, axis=2), strict=True
    ):
        values, vectors = np.linalg.eigh(np.swapaxes(columns, 1, 2) @ columns)
        logs = np.log(np.clip(values, LONGEST**-2, LONGEST**2)) / 2
        scale = 1 / np.sqrt(np.median(values.mean(axis=1)))
        stretch = (vectors * logs[:, None]) @ np.swapaxes(vectors, 1, 2)
        found.append(LocalStretch(position, frame, stretch, float(scale)))
    return tuple(found)


def _side_by_side(steps: Sequence[Steps]) -> Steps:
    """Combine the steps within all factors."""
    out, back = np.hstack([own.out for own in steps]), np.hstack([own.back for own in steps])
    return Steps(out, back, np.sqrt(sum(own.turning**2 for own in steps)))


def _frames_at(own: FactorMap, rows: np.ndarray) -> np.ndarray:
    """Return the frames (c, r, k_j) of a map at some of its carriers."""
    carriers, frames = own.tangents()
    return np.ascontiguousarray(frames[np.searchsorted(carriers, rows)])


# Dependence of the stretch in one factor on the position in another.

# Number of nearest points in the factor whose mean is subtracted; the residual is due to the other
# factors or to errors.
NEAR = 40
# Pairs are drawn among this share of the points that are nearest in the factor, so many per point.
SHARE, PAIRS = 0.1, 150
# Largest number of linear terms in the other factor's map, and of those with quadratic terms.
MOST_LINEAR, MOST_SQUARED = 9, 5
# Smallest relative variance of the components of positions, and of the polynomial terms.
SHOWN = 1e-3
REPEATED = 1e-2
# Number of sign flips for the null distribution.
FLIPS = 200
# Half width of a 90 % interval in standard errors, and the quantile of the null distribution.
QUANTILE, LEVEL = 1.645, 0.95


@dataclass(frozen=True)
class Strength:
    """Relative change of lengths, as a root mean square over points and directions.

    Attributes
    ----------
    value : float
        Signed root of a mean product, which is about zero, and may be negative, without dependence.
    low, high : float
        90 % interval.
    null : float
        95 % quantile of the null distribution, from random signs of blocks of points.
    """

    value: float
    low: float
    high: float
    null: float


def stretch_dependence(
    own: LocalStretch,
    positions: np.ndarray,
    blocks: np.ndarray,
    *,
    n_jobs: int | None = None,
    random_state: np.random.Generator | None = None,
) -> tuple[Strength, Strength]:
    r"""Measure how much the metric of a factor changes with the position in another.

    Let R be the stretch minus its mean over nearby points in the factor, and psi orthonormal
    polynomials of degree two in the position in the other factor, minus the same mean::

        value^2 = mean_ij <R_i, R_j> sum_b psi_b(i) psi_b(j)

    over pairs of points that are near in the factor and lie in different blocks. This is the
    cross-validated part of |R|^2 that a local regression on psi explains, so that changes which
    vanish on average over the factor are detected as well. Errors at points far apart are
    independent and do not contribute on average. R_j is rotated into the frame of i by the map.
    The inner product is the mean over all directions v of ``(v^T R_i v) (v^T R_j v)``, or
    ``tr R_i tr R_j / k^2`` for the change of scale alone.

    Parameters
    ----------
    own : LocalStretch
        At c points.
    positions : ndarray of shape (c, r)
        Positions in the map of the other factor.
    blocks : ndarray of int, shape (c,)
        Number of the block of every point, from 0. Errors may be correlated within blocks.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : Generator, optional
        Draws the pairs, and the signs of the null distribution.

    Returns
    -------
    tensor : Strength
        Strength over all directions.
    scale : Strength
        Strength of the mean over directions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> angle, other = rng.uniform(0, 2 * np.pi, (2, 2000))
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> along = np.stack([-np.sin(angle), np.cos(angle)], axis=1)[..., None]
    >>> changes = 0.1 * np.sin(angle) * np.cos(other)  # on average over the circle: nothing
    >>> own = LocalStretch(circle, along, changes[:, None, None], 1.0)
    >>> place = np.stack([np.cos(other), np.sin(other)], axis=1)
    >>> tensor, _ = stretch_dependence(own, place, rng.integers(100, size=2000))
    >>> round(tensor.value, 2), tensor.low > tensor.null
    (0.05, True)
    """
    rng = np.random.default_rng(0) if random_state is None else random_state
    n = len(positions)
    search = searcher(own.positions, n_jobs=n_jobs)
    near = search(own.positions, min(max(int(SHARE * n), NEAR), n - 1) + 1)[0]
    nearest = near[:, : NEAR + 1]
    frames = own.frames
    carried = frames @ own.logs @ np.swapaxes(frames, 1, 2)
    left = own.logs - np.swapaxes(frames, 1, 2) @ _mean_at(carried, nearest) @ frames
    terms = _polynomials(positions)
    terms -= _mean_at(terms, nearest)
    # Random pairs of every point with its nearest points.
    columns = rng.integers(near.shape[1], size=(n, min(PAIRS, near.shape[1])))
    pairs = np.take_along_axis(near, columns, axis=1)
    sums, counts = _block_sums(pairs, frames, left, terms, blocks, int(blocks.max()) + 1)
    for matrix in (*sums, counts):
        np.fill_diagonal(matrix, 0.0)
    signs = rng.choice([-1.0, 1.0], size=(FLIPS, len(counts)))
    tensor, scale = (_strength((own_sums + own_sums.T) / 2, counts, signs) for own_sums in sums)
    return tensor, scale


def _mean_at(values: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return the mean over the neighbours of every point."""
    total = np.zeros_like(values)
    for column in near.T:
        total += values[column]
    return total / near.shape[1]


def _polynomials(positions: np.ndarray) -> np.ndarray:
    """Compute uncorrelated polynomials (c, b) of degree one and two, with variance one."""
    centred = positions - positions.mean(axis=0)
    straight = _whitened(centred, SHOWN)[:, :MOST_LINEAR]
    few = straight[:, :MOST_SQUARED]
    a, b = np.triu_indices(few.shape[1])
    terms = np.hstack([straight, few[:, a] * few[:, b]])
    return _whitened(terms - terms.mean(axis=0), REPEATED)


def _whitened(values: np.ndarray, least: float) -> np.ndarray:
    """Compute principal components scaled to variance one, without those of small variance."""
    spread, directions = np.linalg.eigh(values.T @ values / len(values))
    kept = np.flatnonzero(spread > least * spread[-1])[::-1]
    return values @ directions[:, kept] / np.sqrt(spread[kept])


def _strength(sums: np.ndarray, counts: np.ndarray, signs: np.ndarray) -> Strength:
    """Compute a strength from sums over pairs of blocks: jackknife interval and random signs."""
    total, count = sums.sum(), max(counts.sum(), 1.0)
    row, row_count = sums.sum(axis=1), counts.sum(axis=1) + counts.sum(axis=0)
    without = (total - 2 * row) / np.maximum(count - row_count, 1.0)
    parts = len(sums)
    error = np.sqrt((parts - 1) / parts * ((without - without.mean()) ** 2).sum())
    mean = total / count
    null = np.quantile(np.einsum("sb,bc,sc->s", signs, sums, signs) / count, LEVEL)
    ends = (mean - QUANTILE * error, mean + QUANTILE * error, null)
    low, high, null = (float(np.sqrt(max(end, 0.0))) for end in ends)
    return Strength(float(np.sign(mean) * np.sqrt(abs(mean))), low, high, null)


@njit(nogil=True, cache=True)
def _block_sums(  # type: ignore[no-untyped-def]
    pairs, frames, left, terms, blocks, n_blocks
):  # pragma: no cover
    """Sum over pairs by their blocks: products of the tensors, products of the scales, and ones."""
    n, r, k = frames.shape
    sums, counts = np.zeros((2, n_blocks, n_blocks)), np.zeros((n_blocks, n_blocks))
    turn, turned = np.empty((k, k)), np.empty((k, k))
    for i in range(n):
        for t in range(pairs.shape[1]):
            j = pairs[i, t]
            if blocks[i] == blocks[j]:
                continue
            common = 0.0
            for b in range(terms.shape[1]):
                common += terms[i, b] * terms[j, b]
            trace_i = trace_j = 0.0
            for a in range(k):
                trace_i += left[i, a, a]
                trace_j += left[j, a, a]
                for b in range(k):
                    total = 0.0
                    for c in range(r):
                        total += frames[i, c, a] * frames[j, c, b]
                    turn[a, b] = total
            for a in range(k):
                for b in range(k):
                    total = 0.0
                    for c in range(k):
                        total += turn[a, c] * left[j, c, b]
                    turned[a, b] = total
            inner = 0.0
            for a in range(k):
                for b in range(k):
                    for c in range(k):
                        inner += turned[a, c] * turn[b, c] * left[i, a, b]
            scales = trace_i * trace_j
            sums[0, blocks[i], blocks[j]] += common * (2 * inner + scales) / (k * (k + 2))
            sums[1, blocks[i], blocks[j]] += common * scales / (k * k)
            counts[blocks[i], blocks[j]] += 1
    return sums, counts


# Periods of flat factors that involve two factors.

# Largest share of a squared period outside one factor, an angle of 13 degrees.
LEANING = 0.05


@dataclass(frozen=True)
class CoupledPeriods:
    """The period of a flat part that is least aligned with a factor.

    Attributes
    ----------
    share : float
        Share of its squared length outside its main factor: zero if every period lies in one
        factor, a quarter or more on a torus whose periods are at 60 degrees.
    pair : tuple of int or None
        Its two main factors, the smaller number first; None without periods.
    """

    share: float = 0.0
    pair: tuple[int, int] | None = None

    @property
    def there(self) -> bool:
        """Whether two factors are coupled by a period."""
        return self.share > LEANING


def coupled_periods(
    places: np.ndarray, axes: Sequence[np.ndarray], factors: Sequence[int], edges: Edges
) -> CoupledPeriods:
    """Unroll flat factors together, and compare their periods with the factors.

    A flat torus has parallel directions in every orientation, and lengths along one never depend
    on the position along another. However, it is a product of circles only along its periods, if
    these are orthogonal.

    Parameters
    ----------
    places : ndarray of shape (c, d)
    axes : sequence of ndarray of shape (c, k_j, d)
        Axes of the flat factors.
    factors : sequence of int
        Numbers of these factors.
    edges : Edges
        Edges between the places.

    Returns
    -------
    CoupledPeriods

    Examples
    --------
    >>> from geodis.manifold.flat.differences import edges_of
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, (2, 900))
    >>> torus = np.stack([*np.cos(angle), *np.sin(angle)], axis=1)
    >>> first, second = np.zeros((2, 900, 1, 4))
    >>> first[:, 0, ::2] = np.stack([-np.sin(angle[0]), np.cos(angle[0])], axis=1)
    >>> second[:, 0, 1::2] = np.stack([-np.sin(angle[1]), np.cos(angle[1])], axis=1)
    >>> edges = edges_of(neighbor_graph(torus, 12))
    >>> coupled_periods(torus, [first, second], [0, 1], edges).there
    False
    >>> slanted = [(first + second) / 2**0.5, (first - second) / 2**0.5]
    >>> coupled_periods(torus, slanted, [0, 1], edges).there
    True
    """
    graph = neighbor_graph(graph=edges.symmetric(np.ones(len(edges))))
    if graph.n_pieces > 1:
        return CoupledPeriods()
    periods = unrolled_with_periods(places, np.concatenate(list(axes), axis=1), graph)
    found = CoupledPeriods()
    for vector in periods.vectors:
        along = np.einsum("a,cad->cd", vector, periods.unrolling.frames)
        parts = [((own @ along[..., None]) ** 2).sum(axis=(1, 2)).mean() for own in axes]
        shares = np.array(parts) / sum(parts)
        first, second = np.argsort(-shares)[:2]
        pair = sorted((factors[first], factors[second]))
        if found.pair is None or 1 - shares[first] > found.share:
            found = CoupledPeriods(float(1 - shares[first]), (pair[0], pair[1]))
    return found
