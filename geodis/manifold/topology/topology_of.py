"""The topology of a factor from the points of its map, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import (
    InputError,
    check_int,
    check_numeric,
    check_points,
    check_random_state,
    to_numpy,
)
from geodis.base.jobs import check_jobs
from geodis.manifold.doubts import Doubt, doubt, with_sentences
from geodis.manifold.linalg import polar_rows
from geodis.manifold.topology.betti import (
    Betti,
    PlaceGraph,
    betti_numbers,
    farthest_distances,
    place_graph,
)
from geodis.manifold.topology.boundary import find_boundary, follow_line, handedness
from geodis.manifold.topology.scalar_curvature import ScalarCurvature, local_fits, scalar_curvature
from geodis.manifold.topology.space_names import SHORT_NAMES, UNKNOWN, Facts, name_space

# Smallest number of points, and largest dimension, for a name.
FEWEST, MOST_DIMS = 300, 4
# Smallest share of the places in the largest piece of a connected graph.
CONNECTED = 0.97
# Largest share of places with a bad local fit, which are otherwise left out.
MANY_BAD = 0.1
# Number of landmarks for Betti numbers, by dimension, and smallest number of points per landmark:
# distances along a graph are accurate only beyond a few edges.
LANDMARKS, POINTS_EACH = {2: 250, 3: 400, 4: 250}, {2: 12, 3: 8, 4: 14}


@dataclass(frozen=True, eq=False)
class Topology:
    """The space that a factor is, with the evidence.

    Attributes
    ----------
    name : str
        Such as "sphere", "Moebius band" or "SO(3)"; "unknown" if undetermined.
    short : str
        The name in letters and digits, for names of features.
    dim : int
    evidence : tuple of str
        One sentence for each piece of evidence.
    boundary, orientable : bool or None
        None if undetermined.
    betti : Betti or None
        Betti numbers from degree one on over two fields, with their bars; None without ripser and
        where they are not needed.
    curvature : ScalarCurvature or None
        None in dimension one and where it is not measured.
    radius : float or None
        Radius of the sphere of the same curvature, if that is constant.
    size : float or None
        Length, area or volume.
    symmetric : bool or None
        Whether the space is homogeneous, up to noise.
    doubts : tuple of Doubt
        Why the name is unknown or uncertain.
    """

    name: str
    short: str
    dim: int
    evidence: tuple[str, ...]
    boundary: bool | None = None
    orientable: bool | None = None
    betti: Betti | None = None
    curvature: ScalarCurvature | None = None
    radius: float | None = None
    size: float | None = None
    symmetric: bool | None = None
    doubts: tuple[Doubt, ...] = ()

    def __str__(self) -> str:
        measure = {1: "length", 2: "area"}.get(self.dim, "volume")
        head = f"{self.name}, dimension {self.dim}"
        if self.radius is not None:
            head += f", radius {self.radius:.3g}"
        if self.size is not None:
            head += f", {measure} {self.size:.3g}"
        lines = [head, *(f"  {sentence}" for sentence in self.evidence)]
        return "\n".join([*lines, *(f"  doubt: {one}" for one in self.doubts)])

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain numbers, texts and lists."""
        return _plain(with_sentences(self))


def topology_of(
    points: Any,
    dim: int,
    *,
    frames: Any = None,
    flat: bool | None = None,
    periods: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Topology:
    """Identify the space that the points of one factor lie on, with the evidence.

    Parameters
    ----------
    points : array-like of shape (c, r)
        Some thousand points of the factor in a nearly isometric map. Moderate noise and uneven
        density are tolerated. Fewer than 300 points give no name.
    dim : int
        Intrinsic dimension k of the factor; there are no names from dimension five on.
    frames : array-like of shape (c, k, r), optional
        Orthonormal rows spanning the tangent space in the map; fitted by default.
    flat : bool, optional
        Whether the factor is known to be flat (True) or curved (False); measured by default.
    periods : array-like of shape (b, r), optional
        Periods of the coordinates of an unrolled flat factor, r = k.
    random_state : int, Generator or None
    n_jobs : int, optional
        Threads of the neighbour search; the result does not depend on it.

    Returns
    -------
    Topology

    Notes
    -----
    A quadratic fit to the neighbours of every point averages over noise and gives the tangent space
    and the second fundamental form. Neighbours on one side only indicate a boundary. Transport of
    frames around loops shows whether the space is orientable. Distances along the neighbour graph
    give Betti numbers through ripser (the extra ``topology``). The Gauss equation gives curvature,
    whose integral over a closed surface is 2 pi times its Euler number. A name requires every piece
    of evidence to be clear and consistent.

    Examples
    --------
    >>> from geodis import product_manifold
    >>> sphere = product_manifold("S^2", 1000, random_state=0).points
    >>> found = topology_of(sphere, 2)
    >>> found.boundary, found.orientable, bool(abs(found.size / (4 * np.pi) - 1) < 0.05)
    (False, True, True)
    """
    points = check_points(points)
    dim = check_int(dim, "dim", low=1)
    jobs = check_jobs(n_jobs)
    rng = check_random_state(random_state)
    if points.shape[1] < dim:
        raise InputError(
            f"dim must be at most {points.shape[1]}, the columns of points; got {dim}."
        )
    axes = None if frames is None else _checked_frames(frames, points, dim)
    if periods is not None:
        points, axes, flat = _on_circles(points, dim, periods), None, True
    if dim > MOST_DIMS:
        what = f"a space of more than {MOST_DIMS} dimensions"
        return nameless(dim, doubt("no-name", "name", what=what))
    distinct = np.sort(np.unique(points, axis=0, return_index=True)[1])
    points, axes = points[distinct], None if axes is None else axes[distinct]
    if len(points) < FEWEST:
        why = f"a name needs {FEWEST} different points; got {len(points)}"
        return nameless(dim, doubt("few-for-name", "name", why=why))
    if points.shape[1] == dim and axes is None:
        axes = np.broadcast_to(np.eye(dim), (len(points), dim, dim)).copy()
    fits = local_fits(points, dim, axes, rng, workers=jobs)
    graph = place_graph(fits)
    share = len(graph.rows) / max(int((~fits.bad).sum()), 1)
    if fits.bad.mean() > MANY_BAD:
        return nameless(dim, doubt("no-patches", "name", share=fits.bad.mean()))
    if share < CONNECTED:
        return nameless(dim, doubt("map-in-pieces", "name", share=share))
    if dim == 1:
        return _line(graph)
    boundary = find_boundary(points, fits, graph)
    closed = boundary.exists is False
    kind = scalar_curvature(
        fits, boundary.volumes, boundary.inside, closed=closed, flat=flat is True
    )
    hand = handedness(fits.frames, graph, rng)
    # The higher Betti numbers of closed spaces follow by duality, except b2 in dimension four.
    degree = 2 if dim == 4 or (dim == 3 and not closed) else 1
    landmarks = min(LANDMARKS[dim], len(graph.rows) // POINTS_EACH[dim])
    betti = betti_numbers(farthest_distances(graph, landmarks, rng), degree, dim)
    facts = Facts(
        dim, boundary.exists, hand.orientable, boundary.n_pieces, betti, kind, boundary.size
    )
    name, doubts = name_space(facts)
    if flat is False and points.shape[1] == dim:
        name, doubts = UNKNOWN, (doubt("flat-map", "name"),)
    numbers = "no Betti numbers without ripser" if betti is None else f"{betti}"
    evidence = [f"{boundary}", f"{hand}", numbers, f"{kind}"]
    if facts.share_of_sphere is not None:
        evidence.append(f"volume {facts.share_of_sphere:.2f} of the sphere of the same curvature")
    return Topology(
        name,
        SHORT_NAMES[name],
        dim,
        tuple(evidence),
        boundary.exists,
        hand.orientable,
        betti,
        kind,
        facts.radius(name),
        boundary.size,
        kind.even if closed else (False if boundary.exists else None),
        doubts,
    )


def _line(graph: PlaceGraph) -> Topology:
    """Identify a factor of dimension one."""
    line = follow_line(graph)
    name = {True: "circle", False: "interval", None: UNKNOWN}[line.closed]
    doubts = () if line.closed is not None else (doubt("branching-line", "name"),)
    boundary = None if line.closed is None else not line.closed
    return Topology(
        name,
        SHORT_NAMES[name],
        1,
        (f"{line}",),
        boundary,
        None if line.closed is None else True,
        size=line.length,
        symmetric=line.closed,
        doubts=doubts,
    )


def nameless(dim: int, why: Doubt, evidence: tuple[str, ...] = ()) -> Topology:
    """Return an unknown space, with the reason."""
    return Topology(UNKNOWN, UNKNOWN, dim, evidence, doubts=(why,))


def _checked_frames(frames: Any, points: np.ndarray, dim: int) -> np.ndarray:
    axes = check_numeric(to_numpy(frames, "frames"), "frames").astype(float)
    needed = (len(points), dim, points.shape[1])
    if axes.shape != needed:
        raise InputError(f"frames must have shape {needed}, (c, k, r); got {axes.shape}.")
    if not np.isfinite(axes).all():
        raise InputError("frames must be finite; got NaN or infinity.")
    return polar_rows(axes)


def _on_circles(points: np.ndarray, dim: int, periods: Any) -> np.ndarray:
    """Map periodic coordinates to circles as long as the periods, isometrically if orthogonal."""
    r = points.shape[1]
    vectors = check_numeric(to_numpy(periods, "periods"), "periods").astype(float)
    vectors = vectors.reshape(-1, dim) if not vectors.size else vectors
    if r != dim or vectors.ndim != 2 or vectors.shape[1] != dim or len(vectors) > dim:
        raise InputError(
            f"periods must have shape (b, {dim}), b <= {dim}, and points as many columns; "
            f"got {vectors.shape} and {r}."
        )
    if not len(vectors):
        return points
    angles = 2 * np.pi * points @ np.linalg.pinv(vectors)
    radii = np.linalg.norm(vectors, axis=1) / (2 * np.pi)
    rest = np.linalg.svd(vectors)[2][len(vectors) :]
    return np.hstack([radii * np.cos(angles), radii * np.sin(angles), points @ rest.T])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
