"""Stretch in one factor, positions in another -> how much the one depends on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.base.compiled import njit
from geodis.manifold.coupling.local_stretch import LocalStretch
from geodis.manifold.local.exact_search import searcher

# Means over so many points that are near in a factor are taken away: what is left is due to the
# others, or an error.
NEAR = 40
# Points among this share of all that are nearest in the factor are compared in pairs, so many of
# them for every point.
SHARE, PAIRS = 0.1, 150
# Directions of the other factor's map, and of those the ones that squares are taken of.
MOST_LINEAR, MOST_SQUARED = 9, 5
SHOWN = 1e-3
REPEATED = 1e-2
FLIPS = 200
# Half of a 90 % interval in standard errors, and the level of the null.
QUANTILE, LEVEL = 1.645, 0.95


@dataclass(frozen=True)
class Strength:
    """Relative change of lengths, as a root mean square over points and directions.

    Attributes
    ----------
    value : float
        Signed root of a mean product, so that it is about zero, and may be negative, where there
        is nothing.
    low, high : float
        Ninety per cent interval.
    null : float
        What the same figure is below in nineteen of twenty cases, when parts of the points that
        are left as they are have their signs drawn at random.
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
    r"""How much the metric of a factor changes with the position in another.

    With R the stretch less its mean over points near in the factor, and psi orthonormal
    polynomials of degree two of the position in the other, less the same mean::

        value^2 = mean_ij <R_i, R_j> sum_b psi_b(i) psi_b(j)

    over pairs of points that are near in the factor and lie in different blocks. Were all points
    at one place in the factor this would be the part of |R|^2 that psi explains, fitted in one
    half of the points and seen in another; as they are near one another only, it is that of a
    regression around every place in the factor, so that a change is seen which is zero on average
    over the factor. Errors at points far apart are independent, and add nothing in the mean.
    R_j is turned into the frame of i by the map. The inner product is the mean over all directions
    v of ``(v^T R_i v) (v^T R_j v)``, or ``tr R_i tr R_j / k^2`` for the change of scale alone.

    Parameters
    ----------
    own : LocalStretch
        At c points.
    positions : ndarray of shape (c, r)
        In the map of the other factor.
    blocks : ndarray of int, shape (c,)
        Parts of the points, from 0, within which errors may go together.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.
    random_state : Generator, optional
        Draws the pairs, and the signs of the null.

    Returns
    -------
    tensor : Strength
    scale : Strength
        Of the mean over all directions alone.

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
    # The same columns for many points, which are no more common than others.
    columns = rng.integers(near.shape[1], size=(n, min(PAIRS, near.shape[1])))
    pairs = np.take_along_axis(near, columns, axis=1)
    sums, counts = _block_sums(pairs, frames, left, terms, blocks, int(blocks.max()) + 1)
    for matrix in (*sums, counts):
        np.fill_diagonal(matrix, 0.0)
    signs = rng.choice([-1.0, 1.0], size=(FLIPS, len(counts)))
    tensor, scale = (_strength((own_sums + own_sums.T) / 2, counts, signs) for own_sums in sums)
    return tensor, scale


def _mean_at(values: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Mean over the neighbours of every point."""
    total = np.zeros_like(values)
    for column in near.T:
        total += values[column]
    return total / near.shape[1]


def _polynomials(positions: np.ndarray) -> np.ndarray:
    """Uncorrelated polynomials (c, b) of degree one and two, with variance one."""
    centred = positions - positions.mean(axis=0)
    straight = _whitened(centred, SHOWN)[:, :MOST_LINEAR]
    few = straight[:, :MOST_SQUARED]
    a, b = np.triu_indices(few.shape[1])
    terms = np.hstack([straight, few[:, a] * few[:, b]])
    return _whitened(terms - terms.mean(axis=0), REPEATED)


def _whitened(values: np.ndarray, least: float) -> np.ndarray:
    """Principal components with variance one, without those that hardly vary."""
    spread, directions = np.linalg.eigh(values.T @ values / len(values))
    kept = np.flatnonzero(spread > least * spread[-1])[::-1]
    return values @ directions[:, kept] / np.sqrt(spread[kept])


def _strength(sums: np.ndarray, counts: np.ndarray, signs: np.ndarray) -> Strength:
    """From sums over pairs of blocks: a jackknife over blocks, and their signs at random."""
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
    """Sums over pairs, by the blocks of both: of the tensor's product, the scale's, and ones."""
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
