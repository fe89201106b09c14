"""Frames at neighbouring places -> whether all of them can be given one handedness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gamma, pi

import numpy as np
from scipy.sparse import csr_matrix, diags, identity
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.special import betainc

from geodis.base.jobs import blocks
from geodis.manifold.topology.betti import PlaceGraph, pieces_of
from geodis.manifold.topology.scalar_curvature import BLOCK, LocalFits

# The lowest frequency of handedness over that of a function. One handedness all round gives zero
# but for errors of frames; on a space that has none it is a frequency of the space itself.
ORIENTABLE, NOT_ORIENTABLE = 0.06, 0.15
# A cut across a surface of e edges crosses about the root of e, .6 to 7 times that as measured on
# bands, bottles and projective planes; fewer are a bridge between places that do not touch, as
# where two turns of a roll come near.
BRIDGE = 0.25


@dataclass(frozen=True)
class Handedness:
    """Whether frames carried around loops come back as they were.

    Attributes
    ----------
    orientable : bool or None
        None where it cannot be told.
    frequency : float
        Least ``sum w (s_i - sign_ij s_j)^2 / sum s_i^2`` over that of a function of mean zero
        with the same edges, s being the handedness of every frame: zero where it is the same all
        round.
    against : float
        Share of the edges that the best choice of handedness does not satisfy.
    """

    orientable: bool | None
    frequency: float
    against: float

    def __str__(self) -> str:
        """In words."""
        share = f"{100 * self.against:.2g} % of the edges against the best choice of handedness"
        if self.orientable is None:
            return f"whether it is orientable cannot be told ({share})"
        return f"{'orientable' if self.orientable else 'not orientable'}: {share}"


def handedness(frames: np.ndarray, graph: PlaceGraph, rng: np.random.Generator) -> Handedness:
    """Compare the frames at the ends of every edge by the determinant of F_i F_j^T.

    With s the sign of every frame and w the size of the determinant, the least
    ``sum w (s_i - sign_ij s_j)^2`` over real s is an eigenvalue; a spanning tree can always be
    satisfied, and this is what the other edges say, weighed all at once.
    """
    own = frames[graph.rows]
    p = len(own)
    transport = np.linalg.det(own[graph.first] @ np.swapaxes(own[graph.second], 1, 2))
    ends = np.concatenate([graph.first, graph.second]), np.concatenate([graph.second, graph.first])
    signed = csr_matrix((np.tile(transport, 2), ends), shape=(p, p))
    plain = csr_matrix((np.tile(np.abs(transport), 2), ends), shape=(p, p))
    root = diags(1 / np.sqrt(np.maximum(np.asarray(plain.sum(axis=1)).ravel(), 1e-12)))
    eye = identity(p, format="csr")
    try:
        one = _lowest(eye - root @ signed @ root, rng)
        flat = _lowest(eye - root @ plain @ root, rng)
    except ArpackNoConvergence:  # very long and thin
        return Handedness(None, np.nan, np.nan)
    frequency = float(one[0][0] / max(flat[0][1], 1e-12))
    sign = np.sign(one[1][:, 0])
    against = float(np.mean(transport * sign[graph.first] * sign[graph.second] < 0))
    orientable = None
    if frequency < ORIENTABLE:
        orientable = True
    elif frequency > NOT_ORIENTABLE and against > BRIDGE / np.sqrt(len(transport)):
        orientable = False
    return Handedness(orientable, frequency, against)


def _lowest(matrix: csr_matrix, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The three lowest eigenvalues of a normalised Laplacian, and their vectors."""
    n = matrix.shape[0]
    # Its values lie in [0, 2]: the lowest are the highest of 2 - matrix, quick for Lanczos.
    flipped = 2 * identity(n, format="csr") - matrix
    values, vectors = eigsh(
        flipped, k=3, which="LA", v0=rng.standard_normal(n), tol=1e-6, ncv=min(60, n)
    )
    order = np.argsort(-values)
    return 2 - values[order], vectors[:, order]


# Factors of dimension one: a circle or an interval, from how many pieces a distance cuts them.

# Slices by the distance from an end, and the share of them that must have one or two pieces.
SLICES, MOST = 40, 0.9
# Pieces with a smaller share of their slice are stray points.
PIECE = 0.1


@dataclass(frozen=True)
class Line:
    """A factor of dimension one.

    Attributes
    ----------
    closed : bool or None
        Whether it is a circle; None where it branches or is too noisy.
    length : float
    twofold : float
        Share of the slices with two pieces.
    """

    closed: bool | None
    length: float
    twofold: float

    def __str__(self) -> str:
        """In words."""
        if self.closed is None:
            return (
                "neither a circle nor an interval: slices by distance have other numbers of pieces"
            )
        pieces = "two pieces" if self.closed else "one piece"
        share = self.twofold if self.closed else 1 - self.twofold
        slices = f"{100 * share:.0f} % of the slices by distance from one end"
        return f"{pieces} in {slices}"


def follow_line(graph: PlaceGraph) -> Line:
    """Slice by the distance from the place that is farthest from some place.

    On an interval that is an end, and every slice has one piece; on a circle every slice but
    the first and the last has two, and the farthest place is half way round.
    """
    start = dijkstra(graph.adjacency, directed=False, indices=0)
    far = dijkstra(graph.adjacency, directed=False, indices=int(start.argmax()))
    length = float(far.max())
    which = np.minimum((far / max(length, 1e-300) * SLICES).astype(int), SLICES - 1)
    kept = which[graph.first] == which[graph.second]
    label = pieces_of(graph.first[kept], graph.second[kept], len(far))
    sizes = np.bincount(label)
    owner = np.zeros(len(sizes), int)
    owner[label] = which
    total = np.bincount(which, minlength=SLICES)
    pieces = np.bincount(owner[sizes > PIECE * total[owner]], minlength=SLICES)[1:-1]
    single, double = float((pieces == 1).mean()), float((pieces == 2).mean())
    closed = True if double > MOST else (False if single > MOST else None)
    return Line(closed, 2 * length if closed else length, double)


# Neighbours on one side only -> whether a factor ends somewhere; and how large it is.

# Inside a space many neighbours lie further out, in any direction, than this share of the radius;
# at a rim there are none on one side.
OUT = 0.25
# A place is at the rim where those further out than that, on the emptier side, are fewer than this
# share of the others. Round balls have .46 to .25 in dimension 2 to 4.
EMPTY = 0.04
# With more than this part of what a whole ball has out there, a place is inside.
WHOLE = 0.6
# A strip so narrow that fewer places are inside is measured at all of them.
FEW_INSIDE = 0.03
# Share of the places at the rim, by dimension: closed spaces have less than the first, from chance
# gaps among few neighbours; a boundary has more than the second, in the plane even where a sheet is
# ten times as long as wide.
CLOSED = {2: 0.007, 3: 0.03, 4: 0.06}
BOUNDED = {2: 0.014, 3: 0.08, 4: 0.15}
# Pieces of the rim with a smaller share of its places are gaps.
BOUNDARY_PIECE = 0.08
# Of the radius: as far as neighbours along the tangent space are complete.
COMPLETE = 0.8


@dataclass(frozen=True)
class Rim:
    """Whether there is a boundary, of how many pieces, and the volume inside.

    Attributes
    ----------
    boundary : bool or None
        None where it cannot be told.
    share : float
        Of the places that lie at the rim.
    n_pieces : int
        Pieces of the boundary, 0 without one.
    inside : ndarray of bool, shape (c,)
        Places whose neighbourhood is whole.
    volumes : ndarray of shape (c,)
        The length, area or volume that every place stands for.
    """

    boundary: bool | None
    share: float
    n_pieces: int
    inside: np.ndarray
    volumes: np.ndarray

    @property
    def size(self) -> float:
        """Length, area or volume."""
        return float(self.volumes.sum())

    def __str__(self) -> str:
        """In words."""
        share = f"{100 * self.share:.2g} % of the places have neighbours on one side only"
        if self.boundary is None:
            return f"whether it has a boundary cannot be told ({share})"
        if self.boundary:
            pieces = "one piece" if self.n_pieces == 1 else f"{self.n_pieces} pieces"
            return f"with a boundary of {pieces}: {share}"
        return f"closed: {share}"


def find_rim(points: np.ndarray, fits: LocalFits, graph: PlaceGraph) -> Rim:
    """Look for places with neighbours on one side only, and add up the volume of all.

    At a place, ``v = V_k R^k (1 + |h|^2 R^2 / (2 (k + 2))) / (N + 1)`` is the volume for each of
    the N neighbours within R along the tangent space, right in the mean for any density, with h
    the second fundamental form. Where there is a boundary, the part of the ball that is inside is
    read off the offset of the neighbours' mean.
    """
    dim = fits.dim
    out, offset, count, ball = _sides(points, fits)
    at_rim = out < EMPTY * (count - out)
    share = float(at_rim[graph.rows].mean())
    boundary = None if CLOSED[dim] <= share < BOUNDED[dim] else share >= BOUNDED[dim]
    inside = np.ones(len(out), bool)
    volumes = ball / (count + 1)
    n_pieces = 0
    if boundary:
        whole = out > WHOLE * _expected(dim) * (count - out)
        inside = whole if whole.mean() > FEW_INSIDE else inside
        offsets, parts = _cut_balls(dim)
        volumes = volumes * np.where(inside, 1.0, np.interp(offset, offsets, parts))
        n_pieces = _count_pieces(at_rim & ~fits.bad, fits.near)
    return Rim(boundary, share, n_pieces, inside, volumes)


def _sides(
    points: np.ndarray, fits: LocalFits
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Neighbours far out on the emptier side, offset of their mean, their number, volume of all."""
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
    """Volume of a ball further out than OUT in a direction, over the rest."""
    part = float(betainc((dim + 1) / 2, (dim + 1) / 2, (1 - OUT) / 2))
    return part / (1 - part)


@lru_cache
def _cut_balls(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Offset of the mean of a ball that is cut by a plane, and the part of it that is left."""
    t = np.linspace(-1, 1, 4001)
    slice_volume = (1 - t**2) ** ((dim - 1) / 2)
    left = np.cumsum(slice_volume)
    mean = -np.cumsum(slice_volume * t) / np.maximum(left, 1e-300)
    half = slice(len(t) // 2, None)  # from half a ball to a whole one
    return mean[half][::-1], (left / left[-1])[half][::-1]


def _count_pieces(at_rim: np.ndarray, near: np.ndarray) -> int:
    """Pieces that the places at the rim are linked to, small ones left out."""
    n = len(at_rim)
    rows = np.repeat(np.flatnonzero(at_rim), near.shape[1])
    columns = near[at_rim].ravel()
    kept = at_rim[columns]
    sizes = np.bincount(pieces_of(rows[kept], columns[kept], n)[at_rim])
    return int((sizes > BOUNDARY_PIECE * at_rim.sum()).sum())
