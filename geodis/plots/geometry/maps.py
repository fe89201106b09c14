"""Figures of maps of factors, and of walks along one factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from geodis.base.check import InputError, check_random_state, to_numpy
from geodis.base.text import counted
from geodis.plots.figure.linked_views import LinkedViews, SpotColors
from geodis.plots.figure.linked_views_matplotlib import draw_views
from geodis.plots.figure.sprite_sheet import as_pictures
from geodis.plots.geometry.factor_view import FactorView, factor_view
from geodis.plots.geometry.points import Coloring, factor_colorings
from geodis.plots.geometry.shown_rows import (
    check_titles,
    factor_titles,
    hex_colors,
    map_ends,
    place_colors,
    rows_moving_alone,
)
from geodis.plots.style import FACTOR_COLORS, FAINT, new_axis, tidy, value_color

if TYPE_CHECKING:
    from geodis.data.factors import Factors
    from geodis.manifold.geomancer import GeoManCER
    from geodis.manifold.maps.walk_results import Walk


# Maximal numbers of points on a page, and in a matplotlib figure.
SHOWN_ON_PAGE, SHOWN_ON_PAPER = 1200, 2500
LEGEND_STEPS = 5
OWN_PLACE = "its position on each map"
# Images of all points, or a function from rows to their images.
Images: TypeAlias = "np.ndarray | Callable[[np.ndarray], np.ndarray]"


def plot_maps(
    est: GeoManCER, colors: Any = None, images: Any = None, names: Any = None, *, figure: Any = None
) -> Any:
    """Draw the map of every factor, with a panel each: globes, circles, squares, balls.

    A sphere is shown from the front and from behind. Edges of a square with the same arrows are
    identified, and so are opposite points of a ball with the same letter.

    Parameters
    ----------
    est : GeoManCER
        Fitted; its maps are computed if necessary.
    colors : int, array-like of shape (n, 3) or (n,), or Factors, optional
        Index of a factor whose positions colour the points in all maps; RGB values in [0, 1] for
        every point; or known factors, with a row of panels for each. By default, each map is
        coloured by its own positions.
    images : array-like of shape (n, h, w, c) or (n, h, w), optional
        Images of the fitted points, drawn at an even sample of the positions.
    names : sequence of str, optional
        Titles of the panels; by default the space of each factor.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw the panels; a new figure by default.

    Returns
    -------
    axis
        The first panel.

    Examples
    --------
    >>> from geodis import GeoManCER, product_manifold
    >>> points = product_manifold("S^2 x S^2", 800, random_state=0).points
    >>> est = GeoManCER(verbose=0, random_state=0).fit(points)
    >>> len(plot_maps(est).figure.axes)
    2
    """
    return draw_views(maps_figure(est, colors, images, names, n_shown=SHOWN_ON_PAPER), figure)


def maps_figure(
    est: GeoManCER,
    colors: Any = None,
    images: Any = None,
    names: Any = None,
    *,
    factors: Factors | None = None,
    n_shown: int = SHOWN_ON_PAGE,
    rows: np.ndarray | None = None,
    also: Sequence[int] = (),
    numbers: np.ndarray | None = None,
) -> LinkedViews:
    """Describe the maps of all factors, for a page and for paper.

    Parameters
    ----------
    est, colors, images, names
        As in `plot_maps`; images may also be a function that returns those of some rows.
    factors : Factors, optional
        Factors of the fitted points, offered as colorings and shown in tooltips.
    n_shown : int
        Maximal number of points, drawn at random.
    rows : ndarray of int, optional
        Show exactly these points, in ascending order, as when fits are compared.
    also : sequence of int
        Further points to show, if they have a position on all maps.
    numbers : ndarray of int, shape (n,), optional
        Row numbers of the points; 0 to n - 1 by default.
    """
    titles = factor_titles(est) if names is None else check_titles(names, est.n_factors_)
    known = zip(est.maps_, est.names_, titles, strict=True)
    seen = [factor_view(own, name, title) for own, name, title in known]
    n = len(est.axes_)
    shown = _shown_rows(seen, n_shown) if rows is None else rows
    usable = _usable_rows(seen) if rows is None else shown
    places = [one.view.places for one in seen]
    ends = map_ends(places, [one.view.turns for one in seen], usable)
    shown = np.union1d(shown, [row for own in ends for _, row in own])
    shown = np.union1d(shown, np.intersect1d(also, usable)).astype(int)
    pictured: list[np.ndarray | None] = [None] * len(seen)
    if images is not None:
        alone = rows_moving_alone(places, usable)
        shown = np.union1d(shown, np.concatenate(alone))
        pictured = [np.searchsorted(shown, own) for own in alone]
    colorings = _colorings(seen, shown, colors)
    n_on_paper = len(colorings) if colors is not None and not isinstance(colors, int) else 1
    if factors is not None:
        colorings += [_by_value(one.of_rows(shown)) for one in factor_colorings(factors)]
    return LinkedViews(
        "maps",
        f"{len(shown):,} of {counted(n, 'point')} on maps of {counted(est.n_factors_, 'factor')}",
        [
            replace(
                one.view,
                places=one.view.places[shown],
                with_image=own,
                ends=[(name, int(np.searchsorted(shown, row))) for name, row in at],
            )
            for one, own, at in zip(seen, pictured, ends, strict=True)
        ],
        colorings,
        None if images is None else _pictures(images, shown, n),
        _tooltips(shown, factors, np.arange(n) if numbers is None else numbers),
        n_on_paper,
        (len(shown), n),
        shown,
    )


def _usable_rows(seen: Sequence[FactorView]) -> np.ndarray:
    """Return the indices of the points that have a position in every view."""
    placed = [np.isfinite(one.view.places).all(axis=1) for one in seen]
    usable = np.flatnonzero(np.all(placed, axis=0))
    if not len(usable):
        raise InputError("Maps need points that have a position on all of them; got none.")
    return usable


def _shown_rows(seen: Sequence[FactorView], most: int) -> np.ndarray:
    """Draw at most `most` of the points that have a position in every view."""
    usable = _usable_rows(seen)
    chosen = check_random_state(0).choice(len(usable), min(len(usable), most), replace=False)
    return usable[np.sort(chosen)]


def _colorings(seen: Sequence[FactorView], rows: np.ndarray, colors: Any) -> list[SpotColors]:
    by_place = [_by_place(one, f"position in factor {j}", rows) for j, one in enumerate(seen)]
    if colors is None:
        own = [one.colors[0] for one in by_place]
        return [SpotColors(OWN_PLACE, own), *by_place]
    if isinstance(colors, int | np.integer) and not isinstance(colors, bool):
        if not 0 <= colors < len(seen):
            raise InputError(
                f"colors must be a factor from 0 to {len(seen) - 1}, or values; got {colors}."
            )
        return [by_place[int(colors)]]
    n = len(seen[0].view.places)
    return _given_colors(colors, rows, n)


def _given_colors(colors: Any, rows: np.ndarray, n: int) -> list[SpotColors]:
    from geodis.data.factors import as_factors

    shape: tuple[int, ...] = np.shape(colors) if not hasattr(colors, "names") else ()
    if len(shape) == 2 and shape[1] == 3 and np.issubdtype(np.asarray(colors).dtype, np.floating):
        rgb = np.asarray(colors, float)
        if shape[0] == n and np.isfinite(rgb).all() and rgb.min() >= 0 and rgb.max() <= 1:
            return [SpotColors("given colours", [hex_colors(rgb[rows])])]
    known = as_factors(colors).refuse_missing()
    if len(known) != n:
        raise InputError(f"colors must have a row for each of the {n} points; got {len(known)}.")
    return [_by_value(one.of_rows(rows)) for one in factor_colorings(known)]


def _by_place(one: FactorView, name: str, rows: np.ndarray) -> SpotColors:
    return SpotColors(name, [hex_colors(place_colors(one.wheel[rows]))])


def _by_value(coloring: Coloring) -> SpotColors:
    """Colour labels individually, and other values by a scale."""
    if coloring.labels:
        codes = coloring.values.astype(int)
        shades = [FACTOR_COLORS[code % len(FACTOR_COLORS)] for code in range(len(coloring.labels))]
        chosen = [[shades[code] for code in codes]]
        return SpotColors(coloring.name, chosen, list(zip(coloring.labels, shades, strict=True)))
    low, high = float(np.min(coloring.values)), float(np.max(coloring.values))
    part = (coloring.values - low) / max(high - low, np.finfo(float).tiny)
    steps = np.linspace(0, 1, LEGEND_STEPS)
    values = [low + step * (high - low) for step in steps]
    texts = [coloring.names[round(v)] if coloring.names else f"{v:.3g}" for v in values]
    legend = list(zip(texts, map(value_color, steps), strict=True))
    return SpotColors(coloring.name, [[value_color(one) for one in part]], legend)


def _pictures(images: Any, rows: np.ndarray, n: int) -> np.ndarray:
    if callable(images):
        return as_pictures(images(rows))
    try:
        count = len(images)
    except TypeError as error:
        raise InputError(f"images must be an array; got {images!r}.") from error
    if count != n:
        raise InputError(f"images must be one for each of the {n} points; got {count}.")
    given = images if hasattr(images, "shape") else np.asarray(images)
    return as_pictures(np.asarray(given[rows]))


def _tooltips(rows: np.ndarray, factors: Factors | None, numbers: np.ndarray) -> list[str]:
    """Make the tooltip of every point."""
    texts = [f"row {number}" for number in numbers[rows].tolist()]
    if factors is None:
        return texts
    for coloring in factor_colorings(factors):
        names = coloring.labels or coloring.names
        values = coloring.values[rows]
        shown = [names[int(value)] if names else f"{value:.4g}" for value in values]
        texts = [
            f"{line}, {coloring.name}: {text}" for line, text in zip(texts, shown, strict=True)
        ]
    return texts


# Walks along one factor: a strip of images, or the columns of the points.

# Number of columns drawn, those with the largest range first.
MOST_COLUMNS = 7
# Gap between images, as a share of their width; positions farther than FAR spacings from all
# samples are marked.
GAP, FAR = 0.06, 3.0


def plot_walk(walk: Walk, images: Any = None, axis: Any = None) -> Any:
    """Draw a walk along one factor: a strip of images, or the columns that change most.

    Labels are distances from the start. A star marks positions far from all samples, where the
    image is extrapolated.

    Parameters
    ----------
    walk : Walk
        Result of `GeoManCER.walk`.
    images : array-like of shape (s, h, w[, c]) or (n, h, w[, c]), c 1 or 3, optional
        One per position, as from `Walk.decode`, or one per fitted point, of which the nearest are
        shown. Without images, columns of the points are drawn as lines.
    axis : matplotlib axis, optional

    Returns
    -------
    matplotlib axis
    """
    if not hasattr(walk, "nearest_images"):
        raise InputError(f"walk must be a result of GeoManCER.walk; got {walk!r}.")
    if images is None:
        return _columns(walk, axis)
    pictures = to_numpy(images, "images")
    drawn = pictures.ndim == 3 or (pictures.ndim == 4 and pictures.shape[3] in (1, 3))
    if not drawn or len(pictures) not in (len(walk), walk.n_samples):
        raise InputError(
            f"images must be those of the {len(walk)} positions or of the {walk.n_samples:,} "
            "fitted points, of shape (h, w), (h, w, 1) or (h, w, 3) each; got shape "
            f"{pictures.shape}."
        )
    if len(pictures) != len(walk):
        pictures = walk.nearest_images(pictures)
    pictures = as_pictures(pictures)
    s, height, width = pictures.shape[:3]
    axis = new_axis(0.9 * s + 0.4, 0.9 * height / width + 0.9) if axis is None else axis
    for place, picture in enumerate(pictures):
        left = place * (1 + GAP)
        axis.imshow(picture, extent=(left, left + 1, 0, height / width), interpolation="nearest")
    axis.set_xlim(0, s * (1 + GAP) - GAP)
    axis.set_ylim(0, height / width)
    far = walk.gap > FAR * walk.spacing
    labels = [
        f"{length:.2g}{'*' if out else ''}" for length, out in zip(walk.lengths, far, strict=True)
    ]
    axis.set_xticks(np.arange(s) * (1 + GAP) + 0.5, labels)
    axis.set_yticks([])
    axis.tick_params(length=0, labelsize=8)
    axis.spines[:].set_visible(False)
    return _titled(walk, axis)


def _columns(walk: Walk, axis: Any) -> Any:
    """Draw the columns with the largest range, as lines over the length."""
    axis = new_axis(6.4, 3.4) if axis is None else axis
    order = np.argsort(-np.ptp(walk.points, axis=0), kind="stable")[:MOST_COLUMNS]
    for color, column in zip(FACTOR_COLORS, sorted(order), strict=False):
        axis.plot(
            walk.lengths, walk.points[:, column], color=color, marker="o", ms=3, label=f"{column}"
        )
    if walk.stopped is not None:
        axis.axvline(walk.stopped, color=FAINT, lw=1, ls="--")
    axis.set_ylabel("column of the points")
    axis.legend(
        title="column", fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5)
    )
    return tidy(_titled(walk, axis))


def _titled(walk: Walk, axis: Any) -> Any:
    axis.set_xlabel(f"length along factor {walk.factor}")
    if walk.reason:
        axis.set_title(walk.reason, loc="left", fontsize=9)
    return axis
