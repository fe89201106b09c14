"""Evidence for the topology of a factor: orientability, circle or interval, and boundary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gamma, pi

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.special import betainc

from geodis.base.jobs import blocks
from geodis.manifold.topology.betti import PlaceGraph, pieces_of
from geodis.manifold.topology.scalar_curvature import BLOCK, LocalFits

# Limits of the lowest eigenvalue of the signed Laplacian relative to that of the unsigned one. It
# is zero on an orientable space but for errors of the frames, and of order one otherwise.
ORIENTABLE, NOT_ORIENTABLE = 0.06, 0.15
# A cut across a surface of e edges crosses about the root of e, .6 to 7 times that as measured on
# bands, bottles and projective planes. Fewer edges are a shortcut between parts that do not touch,
# such as neighbouring turns of a roll.
BRIDGE = 0.25


@dataclass(frozen=True)
class Handedness:
    """Orientability, from the transport of frames around loops.

    Attributes
    ----------
    orientable : bool or None
        None if undetermined.
    frequency : float
        Minimum of ``sum w (s_i - sign_ij s_j)^2 / sum s_i^2``, where s is the handedness of every
        frame, relative to that of a function of mean zero on the same edges. Zero on an orientable
        space.
    against : float
        Share of the edges that contradict the best choice of handedness.
    """

    orientable: bool | None
    frequency: float
    against: float

    def __str__(self) -> str:
        """Describe the orientability in words."""
        share = f"{100 * self.against:.2g} % of the edges contradict the best choice of handedness"
        if self.orientable is None:
            return f"orientability is undetermined ({share})"
        return f"{'orientable' if self.orientable else 'not orientable'}: {share}"


def handedness(frames: np.ndarray, graph: PlaceGraph, rng: np.random.Generator) -> Handedness:
    """Test orientability by the determinant of F_i F_j^T on every edge.

    With s the sign of every frame and w the absolute determinant, the minimum of
    ``sum w (s_i - sign_ij s_j)^2`` over real s is an eigenvalue of the signed Laplacian.
    """
    own, i, j = frames[graph.rows], graph.edges.i, graph.edges.j
    transport = np.linalg.det(own[i] @ np.swapaxes(own[j], 1, 2))
    signed = graph.edges.symmetric(transport)
    plain = graph.edges.symmetric(np.abs(transport))
    root = diags_array(1 / np.sqrt(np.maximum(plain.sum(axis=1), 1e-12)))
    eye = eye_array(len(own), format="csr")
    try:
        one = _lowest(eye - root @ signed @ root, rng)
        flat = _lowest(eye - root @ plain @ root, rng)
    except ArpackNoConvergence:  # a very long and thin space
        return Handedness(None, np.nan, np.nan)
    frequency = float(one[0][0] / max(flat[0][1], 1e-12))
    sign = np.sign(one[1][:, 0])
    against = float(np.mean(transport * sign[i] * sign[j] < 0))
    orientable = None
    if frequency < ORIENTABLE:
        orientable = True
    elif frequency > NOT_ORIENTABLE and against > BRIDGE / np.sqrt(len(transport)):
        orientable = False
    return Handedness(orientable, frequency, against)


def _lowest(matrix: csr_array, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Compute the three lowest eigenvalues of a normalised Laplacian, and their vectors."""
    n = matrix.shape[0]
    # The eigenvalues lie in [0, 2]. The lowest are the highest of 2 - matrix, which Lanczos finds
    # quickly.
    flipped = 2 * eye_array(n, format="csr") - matrix
    values, vectors = eigsh(
        flipped, k=3, which="LA", v0=rng.standard_normal(n), tol=1e-6, ncv=min(60, n)
    )
    order = np.argsort(-values)
    return 2 - values[order], vectors[:, order]


# Factors of dimension one: circle or interval.

# Number of slices by distance from an end, and the smallest share of them with one or two pieces.
SLICES, MOST = 40, 0.9
# Pieces with a smaller share of their slice are ignored as outliers.
PIECE = 0.1


@dataclass(frozen=True)
class Line:
    """A factor of dimension one.

    Attributes
    ----------
    closed : bool or None
        Whether it is a circle; None if it branches or is too noisy.
    length : float
    twofold : float
        Share of the slices by distance with two pieces.
    """

    closed: bool | None
    length: float
    twofold: float

    def __str__(self) -> str:
        """Describe the evidence in words."""
        if self.closed is None:
            return (
                "neither a circle nor an interval: slices by distance have other numbers of pieces"
            )
        pieces = "two pieces" if self.closed else "one piece"
        share = self.twofold if self.closed else 1 - self.twofold
        slices = f"{100 * share:.0f} % of the slices by distance from one end"
        return f"{pieces} in {slices}"


def follow_line(graph: PlaceGraph) -> Line:
    """Slice a curve by the distance from the place that is farthest from an arbitrary place.

    On an interval this place is an end, and every slice has one piece. On a circle every slice but
    the first and the last has two pieces, and the farthest place is on the opposite side.
    """
    start = dijkstra(graph.adjacency, directed=False, indices=0)
    far = dijkstra(graph.adjacency, directed=False, indices=int(start.argmax()))
    length = float(far.max())
    which = np.minimum((far / max(length, 1e-300) * SLICES).astype(int), SLICES - 1)
    i, j = graph.edges.i, graph.edges.j
    kept = which[i] == which[j]
    label = pieces_of(i[kept], j[kept], len(far))
    sizes = np.bincount(label)
    owner = np.zeros(len(sizes), int)
    owner[label] = which
    total = np.bincount(which, minlength=SLICES)
    pieces = np.bincount(owner[sizes > PIECE * total[owner]], minlength=SLICES)[1:-1]
    single, double = float((pieces == 1).mean()), float((pieces == 2).mean())
    closed = True if double > MOST else (False if single > MOST else None)
    return Line(closed, 2 * length if closed else length, double)


# The boundary of a factor, from neighbours on one side only, and its volume.

# In the interior many neighbours in any direction are farther out than this share of the radius; at
# a boundary there are none on one side.
OUT = 0.25
# A place is at the boundary if neighbours beyond that distance on the emptier side are fewer than
# this share of the others. Round balls have .46 to .25 in dimension 2 to 4.
EMPTY = 0.04
# A place is in the interior with more than this share of the number expected in a whole ball.
WHOLE = 0.6
# With a smaller share of interior places, as in a narrow strip, all places are used.
FEW_INSIDE = 0.03
# Share of the places at the boundary, by dimension. Closed spaces have less than the first value,
# from random gaps among few neighbours. Spaces with a boundary have more than the second, in
# dimension 2 even a sheet ten times as long as wide.
CLOSED = {2: 0.007, 3: 0.03, 4: 0.06}
BOUNDED = {2: 0.014, 3: 0.08, 4: 0.15}
# Components with a smaller share of the boundary's places are gaps.
BOUNDARY_PIECE = 0.08
# Share of the radius within which neighbours along the tangent space are complete.
COMPLETE = 0.8


@dataclass(frozen=True)
class Boundary:
    """The boundary of a space, if there is one, and the volume of its places.

    Attributes
    ----------
    exists : bool or None
        None if undetermined.
    share : float
        Share of the places that lie at the boundary.
    n_pieces : int
        Components of the boundary; 0 without one.
    inside : ndarray of bool, shape (c,)
        Interior places, with a complete neighbourhood.
    volumes : ndarray of shape (c,)
        Length, area or volume that every place represents.
    """

    exists: bool | None
    share: float
    n_pieces: int
    inside: np.ndarray
    volumes: np.ndarray

    @property
    def size(self) -> float:
        """Total length, area or volume."""
        return float(self.volumes.sum())

    def __str__(self) -> str:
        """Describe the boundary in words."""
        share = f"{100 * self.share:.2g} % of the places have neighbours on one side only"
        if self.exists is None:
            return f"whether it has a boundary is undetermined ({share})"
        if self.exists:
            pieces = "one piece" if self.n_pieces == 1 else f"{self.n_pieces} pieces"
            return f"with a boundary of {pieces}: {share}"
        return f"closed: {share}"


def find_boundary(points: np.ndarray, fits: LocalFits, graph: PlaceGraph) -> Boundary:
    """Find places with neighbours on one side only, and estimate the volume of all places.

    At a place, ``v = V_k R^k (1 + |h|^2 R^2 / (2 (k + 2))) / (N + 1)`` is an unbiased estimate of
    the volume for each of the N neighbours within R along the tangent space, for any density, with
    h the second fundamental form. Near a boundary, the share of the ball that lies inside follows
    from the offset of the neighbours' mean.
    """
    dim = fits.dim
    out, offset, count, ball = _sides(points, fits)
    at_boundary = out < EMPTY * (count - out)
    share = float(at_boundary[graph.rows].mean())
    exists = None if CLOSED[dim] <= share < BOUNDED[dim] else share >= BOUNDED[dim]
    inside = np.ones(len(out), bool)
    volumes = ball / (count + 1)
    n_pieces = 0
    if exists:
        whole = out > WHOLE * _expected(dim) * (count - out)
        inside = whole if whole.mean() > FEW_INSIDE else inside
        offsets, parts = _cut_balls(dim)
        volumes = volumes * np.where(inside, 1.0, np.interp(offset, offsets, parts))
        n_pieces = _count_pieces(at_boundary & ~fits.bad, fits.near)
    return Boundary(exists, share, n_pieces, inside, volumes)


def _sides(
    points: np.ndarray, fits: LocalFits
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Describe the neighbourhood of every place.

    Returns the number of neighbours far out on the emptier side, the offset of the neighbours'
    mean, their total number, and the volume of the ball that contains them.
    """
    c, dim = len(points), fits.dim
    out, offset, count, ball = (np.empty(c) for _ in range(4))
    for some in blocks(c, BLOCK):
        chord = points[fits.near[some]] - fits.places[some, None]
        flat = chord @ np.swapaxes(fits.frames[some], 1, 2)
        far = np.sqrt((flat**2).sum(axis=2))
        reach = COMPLETE * np.minimum(far.max(axis=1), fits.radii[some])
        within = far < reach[:, None]
        count[some] = within.sum(axis=1)
        mean = (flat * within[:, :, None]).sum(axis=1) / np.maximum(count[some], 1)[:, None]
        length = np.linalg.norm(mean, axis=1)
        along = np.einsum("cmk,ck->cm", flat, -mean / np.maximum(length, 1e-300)[:, None])
        out[some] = (within & (along > OUT * reach[:, None])).sum(axis=1)
        offset[some] = length / np.maximum(reach, 1e-300)
        bend = (fits.forms[some] ** 2).sum(axis=(1, 2, 3))
        unit = pi ** (dim / 2) / gamma(dim / 2 + 1)
        ball[some] = unit * reach**dim * (1 + bend * reach**2 / (2 * (dim + 2)))
    return out, offset, count, ball


def _expected(dim: int) -> float:
    """Return the volume of a ball beyond OUT in a direction relative to the rest."""
    part = float(betainc((dim + 1) / 2, (dim + 1) / 2, (1 - OUT) / 2))
    return part / (1 - part)


@lru_cache
def _cut_balls(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Tabulate the offset of the mean of a ball cut by a plane, and its remaining share."""
    t = np.linspace(-1, 1, 4001)
    slice_volume = (1 - t**2) ** ((dim - 1) / 2)
    left = np.cumsum(slice_volume)
    mean = -np.cumsum(slice_volume * t) / np.maximum(left, 1e-300)
    half = slice(len(t) // 2, None)  # from half a ball to a whole one
    return mean[half][::-1], (left / left[-1])[half][::-1]


def _count_pieces(at_boundary: np.ndarray, near: np.ndarray) -> int:
    """Count the connected components of places at the boundary, without small ones."""
    n = len(at_boundary)
    rows = np.repeat(np.flatnonzero(at_boundary), near.shape[1])
    columns = near[at_boundary].ravel()
    kept = at_boundary[columns]
    sizes = np.bincount(pieces_of(rows[kept], columns[kept], n)[at_boundary])
    return int((sizes > BOUNDARY_PIECE * at_boundary.sum()).sum())
