"""A fit -> its atlas: charts in the subspaces of the factors, and the factors' coordinates."""

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

# A point lies off the directions that vary where it does so by twice as much as any fitted one;
# rounding of the points leaves that much in their own units.
AWAY, ROUNDING = 2.0, 1e-6
# Directions of flat factors that keep this share of their squared length within the subspaces of
# the parts, on average, are constant combinations of what each part has.
ALIGNED = 0.99
# Leakage of axes that lie in orthogonal subspaces: single precision may have been on the way.
EXACT = 1e-10
BLOCK = 2**14


@dataclass(frozen=True)
class _Subspace:
    """A subspace without parts: its basis (b, c), the rows of the axes there, fits' neighbours."""

    basis: np.ndarray
    rows: tuple[int, ...]
    count: int
    mixed: np.ndarray | None = None  # (f, k_f): what the flat rows have here, where only a part


def make_atlas(fitted: Fit, maps: Sequence[FactorMap] = (), *, n_jobs: int | None = None) -> Atlas:
    """Fit the quadratics again that a fit went by, once, and keep them.

    Parameters
    ----------
    fitted : Fit
    maps : sequence of FactorMap
        Of all factors; none for axes alone.
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
            f"An atlas of dimension {dim} needs at least {fewest} fitted points in the largest "
            f"piece, each at a place of its own; got {(fitted.piece[rows] == leading).sum()}."
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
    """The atlas of a fit, with the maps of its factors where coordinates are wanted."""
    if not fit.measure.is_plain:
        raise InputError(
            "An atlas takes rows as points, without prepare or metric; got a fit with "
            f"prepare={fit.measure.prepare!r} and metric={fit.measure.metric!r}: fit rows that "
            "were prepared."
        )
    maps = maps_of(fit) if coordinates else ()
    with Stages("atlas", fit.settings.verbose) as stages, one_blas_thread(), stages.stage("charts"):
        return make_atlas(fit, maps, n_jobs=fit.n_jobs)


def _whole_space(fitted: Fit) -> _Subspace:
    """One chart of the whole space."""
    dim = fitted.flat.axes.shape[1]
    basis = np.eye(fitted.places.shape[1])
    return _Subspace(basis, tuple(range(dim)), fitted.split.tangent_neighbors)


def _subspaces(fitted: Fit, own: np.ndarray) -> list[_Subspace]:
    """Subspaces in which the axes of the leading piece lie.

    Flat factors that were separated by independence may lie in several. Where their directions
    are constant combinations of what the parts have, every part keeps its chart, of few
    dimensions and so of near neighbours; where not, these parts have one together, the last.
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
    """Subspaces of the factors in another piece, whose own were not kept.

    Where they were refined in such subspaces, their axes lie in them but for rounding.
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
    """One chart for several subspaces, with all flat rows."""
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
    """Charts of a piece, and a sheet for every factor in the chart that has all its axes."""
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
    """A chart, the rows of the fit that it is made of, and the polynomials of what varies."""
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
            f"An atlas needs at least {fewest} places in the subspace of every factor; got "
            f"{len(places)}."
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
    """How far the neighbours of every place are."""
    count = min(WITHIN_REACH, len(places))
    search = few_nearest(places, dim)
    order = np.arange(len(places)) if search.order is None else search.order
    reach = np.empty(len(places))
    for rows in blocks(len(places), BLOCK):
        reach[order[rows]] = search(places[order[rows]], count)[1][:, -1]
    return reach


def _off_the_basis(fitted: Fit, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Where points lie at right angles to the basis, and how far from there they may."""
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
