"""Making an atlas from a fit: charts in the subspaces of the factors, with their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from geodis.base.check import InputError
from geodis.base.jobs import blocks, one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.atlas.chart_fits import LocalValues, chart_fits
from geodis.manifold.atlas.charts import (
    AtlasPiece,
    BentSheet,
    FlatSheet,
    LocalChart,
    Sheet,
    few_nearest,
)
from geodis.manifold.atlas.fitted_atlas import Atlas
from geodis.manifold.confidence.subspace_error import leaves
from geodis.manifold.fitted import Fit
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.neighbors import distinct_rows
from geodis.manifold.local.tangents import neighbors_for_tangents
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.maps_of_fit import maps_of
from geodis.manifold.maps.samples import WITHIN_REACH
from geodis.manifold.out_of_sample import ambient_split

# A new point lies outside if it is farther from the reduced space than this multiple of the largest
# distance of a fitted point, plus this relative rounding error.
AWAY, ROUNDING = 2.0, 1e-6
# Directions of flat factors that keep this share of their squared length within the subspaces of
# the parts, on average, are constant combinations of the directions of the parts.
ALIGNED = 0.99
# Largest leakage of axes that lie in orthogonal subspaces, up to single precision.
EXACT = 1e-10
BLOCK = 2**14


@dataclass(frozen=True)
class _Subspace:
    """An undivided subspace: its basis (b, c), its rows of the axes, and neighbours of the fits."""

    basis: np.ndarray
    rows: tuple[int, ...]
    count: int
    mixed: np.ndarray | None = None  # (f, k_f): combinations of flat rows that lie here


def make_atlas(fitted: Fit, maps: Sequence[FactorMap] = (), *, n_jobs: int | None = None) -> Atlas:
    """Fit quadratics about all fitted points and store them.

    Parameters
    ----------
    fitted : Fit
    maps : sequence of FactorMap
        Maps of all factors; none for axes alone.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    Atlas
    """
    flat, axes = fitted.flat, fitted.flat.axes
    usable = np.isfinite(axes).all(axis=(1, 2))
    rows = np.flatnonzero(usable)
    rows = rows[distinct_rows(fitted.places[rows])[1]]
    dim = axes.shape[1]
    fewest = neighbors_for_tangents(dim)
    leading = int(fitted.piece[fitted.split.rows[0]])
    pieces: dict[int, AtlasPiece] = {}
    kept: list[np.ndarray] = []
    for label in [leading, *np.setdiff1d(fitted.piece[rows], [leading]).tolist()]:
        own = rows[fitted.piece[rows] == label]
        if len(own) < fewest:
            continue
        subspaces = (
            _subspaces(fitted, own) if label == leading else _subspaces_elsewhere(fitted, own)
        )
        pieces[label] = _piece(fitted, own, subspaces, maps, n_jobs)
        kept.append(own)
    if leading not in pieces:
        raise InputError(
            f"An atlas of dimension {dim} needs at least {fewest} distinct fitted points in the "
            f"largest piece; got {(fitted.piece[rows] == leading).sum()}."
        )
    rows = np.concatenate(kept)
    places = np.ascontiguousarray(fitted.places[rows])
    lost = ~(usable & np.isin(fitted.piece, list(pieces)))
    origin, away = _off_the_basis(fitted, rows)
    return Atlas(
        fitted.basis,
        origin,
        away,
        places,
        np.repeat(np.arange(len(kept)), [len(own) for own in kept]),
        _reach(places, dim, n_jobs),
        np.ascontiguousarray(fitted.places[lost]),
        tuple(pieces.values()),
        tuple(int(own) for own in flat.dims),
        tuple(bool(own) for own in flat.flat),
    )


def atlas_of(fit: Fit, *, coordinates: bool = True) -> Atlas:
    """Make the atlas of a fit, with the maps of its factors for coordinates."""
    if not fit.measure.is_plain:
        raise InputError(
            "An atlas takes rows as points, without prepare or metric; got a fit with "
            f"prepare={fit.measure.prepare!r} and metric={fit.measure.metric!r}. Fit rows that "
            "are already prepared."
        )
    maps = maps_of(fit) if coordinates else ()
    with Stages("atlas", fit.settings.verbose) as stages, one_blas_thread(), stages.stage("charts"):
        return make_atlas(fit, maps, n_jobs=fit.n_jobs)


def _whole_space(fitted: Fit) -> _Subspace:
    """Return the whole space as the subspace of a single chart."""
    dim = fitted.flat.axes.shape[1]
    basis = np.eye(fitted.places.shape[1])
    return _Subspace(basis, tuple(range(dim)), fitted.split.tangent_neighbors)


def _subspaces(fitted: Fit, own: np.ndarray) -> list[_Subspace]:
    """Find the subspaces in which the axes of the leading piece lie.

    Flat factors that were separated by independence may lie in several subspaces. If their
    directions are constant combinations of the directions of the parts, every part keeps its own
    chart, which has few dimensions and so near neighbours. Otherwise these parts share one chart,
    the last.
    """
    whole = _whole_space(fitted)
    parts = leaves(fitted.split, len(whole.basis))
    if len(parts) == 1:
        return [whole]
    axes, flat = fitted.flat.axes[own], fitted.flat
    flat_rows = flat.rows if flat.own.any() else np.empty(0, int)
    # Mean squared length of every axis within every subspace, (parts, k).
    shares = np.array([((axes @ part.basis.T) ** 2).sum(axis=2).mean(axis=0) for part in parts])
    widths = np.rint(shares[:, flat_rows].sum(axis=1)).astype(int)
    several = np.flatnonzero(widths)
    owner = shares.argmax(axis=0)
    curved = np.setdiff1d(np.arange(axes.shape[1]), flat_rows)
    mixed: dict[int, np.ndarray] = {}
    aligned = True
    if len(several) > 1:
        for number in several:
            inside = axes[:, flat_rows] @ parts[number].basis.T
            values, vectors = np.linalg.eigh(np.einsum("nfc,ngc->fg", inside, inside) / len(inside))
            mixed[number] = vectors[:, ::-1][:, : widths[number]]
            aligned &= bool(values[::-1][widths[number] - 1] > ALIGNED)
    alone: list[_Subspace] = []
    joined: list[_Subspace] = []
    for number, part in enumerate(parts):
        rows = [int(row) for row in curved if owner[row] == number]
        if widths[number] and len(several) == 1:
            rows = sorted([*rows, *flat_rows.tolist()])
        count = part.split.tangent_neighbors
        made = _Subspace(part.basis, tuple(rows), count, mixed.get(number))
        (alone if aligned or not widths[number] else joined).append(made)
    return [*alone, _joined(joined, flat_rows)] if joined else alone


def _subspaces_elsewhere(fitted: Fit, own: np.ndarray) -> list[_Subspace]:
    """Find the subspaces of the factors in another piece, whose split was not stored.

    If the factors were refined in such subspaces, the axes lie in these up to rounding.
    """
    flat = fitted.flat
    whole = _whole_space(fitted)
    flat_rows = flat.rows.tolist() if flat.own.any() else []
    bounds = np.cumsum([0, *flat.dims])
    groups = [list(range(start, stop)) for start, stop in pairwise(bounds)]
    groups = [rows for rows in groups if rows[0] not in flat_rows]
    groups += [flat_rows] if flat_rows else []
    if len(groups) == 1:
        return [whole]
    axes = flat.axes[own][:, [row for rows in groups for row in rows]]
    ambient = ambient_split(axes, tuple(len(rows) for rows in groups))
    pairs = list(zip(ambient.bases, groups, strict=True))
    if ambient.leakage > EXACT or any(len(basis) < len(rows) for basis, rows in pairs):
        return [whole]
    return [_Subspace(basis, tuple(rows), whole.count) for basis, rows in pairs]


def _joined(subspaces: Sequence[_Subspace], flat_rows: np.ndarray) -> _Subspace:
    """Join several subspaces into one, with all flat rows."""
    rows = sorted({*flat_rows.tolist(), *(row for subspace in subspaces for row in subspace.rows)})
    basis = np.vstack([subspace.basis for subspace in subspaces])
    return _Subspace(basis, tuple(rows), max(subspace.count for subspace in subspaces))


def _piece(
    fitted: Fit,
    own: np.ndarray,
    subspaces: Sequence[_Subspace],
    maps: Sequence[FactorMap],
    n_jobs: int | None,
) -> AtlasPiece:
    """Make the charts of a piece, and a sheet for every factor in the chart with all its axes."""
    bounds = np.cumsum([0, *fitted.flat.dims])
    factors = [range(start, stop) for start, stop in pairwise(bounds)]
    mixed = [subspace for subspace in subspaces if subspace.mixed is not None]
    every = [*subspaces, _joined(mixed, fitted.flat.rows)] if mixed and maps else list(subspaces)
    charts: list[LocalChart] = []
    sheets: dict[int, Sheet] = {}
    for number, subspace in enumerate(every):
        for_maps = number == len(subspaces)
        inside = [
            j
            for j, rows in enumerate(factors)
            if maps and set(rows) <= set(subspace.rows) and (not for_maps or j not in sheets)
        ]
        starts = {j: subspace.rows.index(factors[j].start) for j in inside}
        chosen = {j: slice(start, start + len(factors[j])) for j, start in starts.items()}
        bent = [j for j in inside if maps[j].periods is None]
        varying = [LocalValues(maps[j].coordinates, chosen[j]) for j in bent]
        chart, first, polynomials = _chart(
            fitted, own, subspace, varying, for_maps=for_maps, n_jobs=n_jobs
        )
        charts.append(chart)
        for j, fitted_values in zip(bent, polynomials, strict=True):
            sheets[j] = BentSheet(number, chosen[j], fitted_values)
        for j in inside:
            if (known := maps[j].unrolled(max(0, maps[j].piece[first].max()))) is not None:
                flat, closed = known
                sheets[j] = FlatSheet(number, chosen[j], flat[first], closed)
    return AtlasPiece(tuple(charts), tuple(sheets[j] for j in range(len(maps))))


def _chart(
    fitted: Fit,
    own: np.ndarray,
    subspace: _Subspace,
    varying: Sequence[LocalValues],
    *,
    for_maps: bool,
    n_jobs: int | None,
) -> tuple[LocalChart, np.ndarray, tuple[np.ndarray, ...]]:
    """Make a chart; also return its rows of the fit and the polynomials of the given values."""
    flat = fitted.flat
    basis, dim = subspace.basis, flat.axes.shape[1]
    places, first, _ = distinct_rows(fitted.places[own] @ basis.T)
    first = own[first]
    axes = flat.axes[first]
    frames = axes[:, list(subspace.rows)] @ basis.T
    mixing = np.zeros((dim, len(subspace.rows)))
    mixing[list(subspace.rows), range(len(subspace.rows))] = 0.0 if for_maps else 1.0
    if subspace.mixed is not None:
        within = subspace.mixed.T @ (axes[:, flat.rows] @ basis.T)
        frames = np.concatenate([frames, within], axis=1)
        more = np.zeros((dim, subspace.mixed.shape[1]))
        more[flat.rows] = subspace.mixed
        mixing = np.hstack([mixing, more])
    frames = polar_rows(frames)
    k = frames.shape[1]
    fewest = neighbors_for_tangents(k)
    if len(places) < fewest:
        raise InputError(
            f"An atlas needs at least {fewest} distinct points in the subspace of every factor; "
            f"got {len(places)}."
        )
    count = min(max(subspace.count, fewest) + 1, len(places))
    search = few_nearest(places, k)
    here = [LocalValues(each.values[first], each.own) for each in varying]
    fits = chart_fits(places, frames, search, count, here, n_jobs=n_jobs)
    chart = LocalChart(
        basis,
        np.ascontiguousarray(places),
        frames.astype(np.float32),
        fits.bends,
        fits.radius,
        mixing,
    )
    return chart, first, fits.polynomials


def _reach(places: np.ndarray, dim: int, n_jobs: int | None) -> np.ndarray:
    """Return the distance of the last neighbour of every place."""
    count = min(WITHIN_REACH, len(places))
    search = few_nearest(places, dim)
    order = np.arange(len(places)) if search.order is None else search.order
    reach = np.empty(len(places))
    for rows in blocks(len(places), BLOCK):
        reach[order[rows]] = search(places[order[rows]], count)[1][:, -1]
    return reach


def _off_the_basis(fitted: Fit, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the mean of the points, and the largest allowed distance from the reduced space."""
    basis, points = fitted.basis, fitted.points
    if len(basis) == basis.shape[1]:
        return np.zeros(basis.shape[1]), np.inf
    mean = points[rows].mean(axis=0)
    largest, scale = 0.0, 0.0
    for some in blocks(len(rows), BLOCK):
        off = points[rows[some]] - mean
        scale = max(scale, float((points[rows[some]] ** 2).sum(axis=1).max()))
        off -= (off @ basis.T) @ basis
        largest = max(largest, float((off**2).sum(axis=1).max()))
    return mean, float(AWAY * np.sqrt(largest) + ROUNDING * np.sqrt(scale))
