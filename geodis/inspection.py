"""Inspection of points before an analysis: defects, components, dimension, spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from geodis.base.check import (
    InputError,
    check_int,
    check_numeric,
    check_random_state,
    shape_hint,
    to_numpy,
    transposed_question,
)
from geodis.base.progress import Stages
from geodis.base.text import counted, findings_html
from geodis.manifold.doubts import with_sentences
from geodis.manifold.local.dimension_estimate import DimensionEstimate, points_needed
from geodis.manifold.local.graph import connecting_degree
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.local.principal import PrincipalComponents, principal_components
from geodis.manifold.preparation.prepared import Prepared, dimension_of, graph_of, prepared
from geodis.manifold.preparation.row_measure import Metric, Preparation, RowMeasure
from geodis.manifold.split_result import Settings, Task

EnoughPoints = Literal["no", "barely", "yes"]

MAX_POINTS = 50_000
# Most principal components used for neighbour search.
MAX_SEARCH_DIMS = 100


@dataclass(frozen=True)
class Inspection:
    """Properties of a set of points; `print` shows them, `to_dict` returns plain values.

    Attributes
    ----------
    n, d : int
        Rows and columns.
    dtype : str
    n_nan, n_inf : int
        Entries that are not finite; their rows are excluded from `n_used`.
    constant_columns : list of int
    duplicate_columns : list of (int, int)
        Pairs (first, later) of equal columns, without constant ones.
    duplicate_rows : int
        Rows that repeat an earlier row, among those used.
    n_used : int
        Rows used for the geometry below.
    n_neighbors : int
        Neighbours in the graph: twice the dimension, at least 8.
    pieces : list of int
        Sizes of the connected components of the neighbour graph, largest first.
    search : str
        Method of the neighbour search.
    dimension : DimensionEstimate
    n_directions : int
        Directions with more variance than the noise floor.
    noise, edge : float
        Standard deviation of the noise per direction, and the largest variance that noise alone
        produces; 0.0 if no noise floor was found.
    explained : ndarray of shape (c,)
        Fraction of the variance along each global principal component.
    needed, recommended : int
        Points that GeoManCER needs in that dimension, and points for a reliable result.
    notes : list of str
        What was excluded or sampled, and possible problems.
    total_variance : float
    """

    n: int
    d: int
    dtype: str
    n_nan: int
    n_inf: int
    constant_columns: list[int]
    duplicate_columns: list[tuple[int, int]]
    duplicate_rows: int
    n_used: int
    n_neighbors: int
    pieces: list[int]
    search: str
    dimension: DimensionEstimate
    n_directions: int
    noise: float
    edge: float
    explained: np.ndarray
    needed: int
    recommended: int
    notes: list[str] = field(default_factory=list)
    total_variance: float = 0.0

    @property
    def edge_share(self) -> float:
        """The noise edge as a fraction of the total variance, comparable with `explained`."""
        return self.edge / self.total_variance if self.total_variance > 0 else 0.0

    @property
    def enough_points(self) -> EnoughPoints:
        """Whether GeoManCER has enough points: "no", "barely" or "yes"."""
        if self.n_used < self.needed:
            return "no"
        return "yes" if self.n_used >= self.recommended else "barely"

    def to_dict(self) -> dict[str, Any]:
        """Return all values in plain types, for JSON."""
        plain = asdict(self)
        plain["dimension"] = with_sentences(self.dimension) | {"agree": self.dimension.agree}
        plain["enough_points"] = self.enough_points
        return plain

    def _rows(self) -> list[tuple[str, str]]:
        """Return the names and values of the table."""
        lead = self.explained[: min(8, len(self.explained))]
        spectrum = " ".join(f"{100 * part:.1f}" for part in lead)
        more = f" and {len(self.explained) - len(lead)} more" if len(self.explained) > 8 else ""
        return [
            ("points", f"{counted(self.n, 'row')} x {counted(self.d, 'column')}, {self.dtype}"),
            ("not finite", f"{self.n_nan:,} NaN, {self.n_inf:,} infinite entries"),
            ("constant columns", _listed(self.constant_columns)),
            ("equal columns", _listed([f"{a}={b}" for a, b in self.duplicate_columns])),
            ("repeated rows", f"{self.duplicate_rows:,}"),
            (
                "graph",
                f"{self.n_neighbors} nearest neighbours ({self.search}): "
                + (
                    "connected"
                    if len(self.pieces) == 1
                    else f"{len(self.pieces)} pieces of {_listed(self.pieces)} points"
                ),
            ),
            ("dimension", str(self.dimension).removeprefix("dimension ")),
            ("principal components", f"{spectrum}{more} (% of variance)"),
            (
                "GeoManCER",
                f"{self.enough_points}: {self.n_used:,} points; dimension {self.dimension.dim} "
                f"needs {self.needed:,}, and {self.recommended:,} for a reliable result",
            ),
        ]

    def __str__(self) -> str:
        """Return a table, then the notes."""
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value}" for name, value in rows]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        return findings_html("Inspection", dict(self._rows()), self.notes)


def inspect_points(
    points: Any,
    *,
    max_points: int = MAX_POINTS,
    prepare: Preparation | None = None,
    metric: Metric = "euclidean",
    random_state: Any = 0,
    verbose: bool | int = False,
) -> Inspection:
    """Inspect points before an analysis: size, defects, components, dimension and spectrum.

    Rows that are not finite are counted and excluded. Graph and dimension use a random sample of
    at most `max_points` rows and, for very many columns, the leading principal components; the
    notes say so.

    Parameters
    ----------
    points : array-like of shape (n, d)
    max_points : int
        Most rows used for the graph and the dimension.
    prepare : "sqrt" or callable, optional
        Transformation of the rows, as in `GeoManCER`.
    metric : {"euclidean", "cosine", "correlation", "precomputed"} or callable
        As in `GeoManCER`; for "precomputed", points are distances of shape (n, n).
    random_state : int, Generator or None
    verbose : bool or int
        Show progress in a terminal.

    Returns
    -------
    Inspection

    Examples
    --------
    >>> from geodis import product_manifold
    >>> seen = inspect_points(product_manifold("S^2", n=1000, random_state=0).points)
    >>> seen.dimension.dim, len(seen.pieces), seen.enough_points
    (2, 1, 'yes')
    """
    points = check_numeric(to_numpy(points))
    if points.ndim != 2 or points.shape[1] == 0:
        raise InputError(
            f"points must have shape (n, d), one row per point; got shape {points.shape}. "
            f"{shape_hint(points.shape)}".rstrip()
        )
    check_int(max_points, "max_points", low=10)
    measure = RowMeasure(prepare, metric)
    if measure.by_distances and len(points) > max_points:
        raise InputError(
            f"Distances can be scaled for at most {max_points:,} points; got {len(points):,}: "
            "raise max_points, or give fewer points."
        )
    rng = check_random_state(random_state)
    asked = transposed_question(points.shape)
    notes: list[str] = [asked] if asked else []
    with Stages("inspect", verbose) as stages:
        task = Task(Settings(n_jobs=-1), stages, rng)
        with stages.stage("entries"):
            n_nan, n_inf, finite_rows = _count_not_finite(points)
            constant, equal = _degenerate_columns(points)
        used, n_distinct = _usable_rows(points, finite_rows, max_points, rng, notes)
        if not measure.is_plain:
            used, scaled = measure.points_of(used)
            notes += [doubt.advice for doubt in scaled]
        with stages.stage("principal components"):
            spectrum = principal_components(used, random_state=rng)
        ready = prepared(used, task, most=MAX_SEARCH_DIMS, spectrum=spectrum)
        dimension = dimension_of(ready, task)
        with stages.stage("graph"):
            graph = graph_of(ready, dimension.dim, task, None)
    notes += _notes_of(ready, spectrum)
    n_places = len(distinct_rows(ready.inside)[0])
    needed, recommended = points_needed(dimension.dim)
    sizes = np.bincount(graph.piece[~ready.outliers])
    pieces = sorted(sizes[sizes > 0].tolist(), reverse=True)
    if len(pieces) > 1:
        notes.append("the graph is not connected: compare factor labels only within a component.")
    return Inspection(
        n=points.shape[0],
        d=points.shape[1],
        dtype=str(points.dtype),
        n_nan=n_nan,
        n_inf=n_inf,
        constant_columns=constant,
        duplicate_columns=equal,
        duplicate_rows=len(used) - n_distinct,
        n_used=len(used),
        n_neighbors=min(connecting_degree(dimension.dim), n_places - 1),
        pieces=pieces,
        search=graph.method,
        dimension=dimension,
        n_directions=ready.directions.n_directions,
        noise=ready.directions.noise,
        edge=ready.directions.edge,
        explained=spectrum.explained,
        needed=needed,
        recommended=recommended,
        notes=notes,
        total_variance=spectrum.total_variance,
    )


def _count_not_finite(points: np.ndarray) -> tuple[int, int, np.ndarray]:
    finite = np.isfinite(points)
    n_nan = int(np.isnan(points).sum()) if points.dtype.kind == "f" else 0
    return n_nan, int(finite.size - finite.sum()) - n_nan, finite.all(axis=1)


def _degenerate_columns(points: np.ndarray) -> tuple[list[int], list[tuple[int, int]]]:
    """Return constant columns and (first, later) pairs of equal ones; NaN equals NaN."""
    first_with: dict[bytes, int] = {}
    constant, equal = [], []
    for index, column in enumerate(np.asarray(points).T):
        start = column[0] if len(column) else 0.0
        if (column == start).all() or (column != column).all():
            constant.append(index)
            continue
        # Columns are compared by digest; adding zero turns minus zero into zero.
        key = blake2b((np.ascontiguousarray(column) + 0).tobytes(), digest_size=16).digest()
        first = first_with.setdefault(key, index)
        if first != index:
            equal.append((first, index))
    return constant, equal


def _usable_rows(
    points: np.ndarray,
    finite_rows: np.ndarray,
    max_points: int,
    rng: np.random.Generator,
    notes: list[str],
) -> tuple[np.ndarray, int]:
    rows = np.flatnonzero(finite_rows)
    if len(rows) < len(points):
        notes.append(f"{len(points) - len(rows):,} rows with NaN or infinity were left out.")
    if len(rows) > max_points:
        rows = np.sort(rng.choice(rows, max_points, replace=False))
        notes.append(f"the graph and the dimension are those of {max_points:,} random rows.")
    used = np.asarray(points[rows], dtype=float)
    n_distinct = len(distinct_rows(used)[0]) if len(used) else 0
    if n_distinct < 4:
        raise InputError(
            f"An inspection needs at least 4 distinct finite rows; got {n_distinct} "
            f"(n={len(points)})."
        )
    return used, n_distinct


def _notes_of(ready: Prepared, spectrum: PrincipalComponents) -> list[str]:
    """Describe the preparation of the points: noise, search dimensions, copies, outliers."""
    notes = [f"{ready.directions}."] if ready.directions.noise > 0 else []
    if ready.directions.n_columns > MAX_SEARCH_DIMS:
        kept = ready.points.shape[1]
        share = 100 * spectrum.explained[:kept].sum()
        notes.append(f"neighbours were searched in {kept} principal components ({share:.2f} %).")
    if ready.n_copies:
        notes.append(f"{ready.n_copies:,} rows are near copies of others and were merged.")
    if ready.outliers.any():
        notes.append(f"{ready.outliers.sum():,} rows are far from all others and were left out.")
    return notes


def _listed(values: Sequence[Any], most: int = 8) -> str:
    if not values:
        return "none"
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more
