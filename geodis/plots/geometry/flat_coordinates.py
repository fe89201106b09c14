"""Figures of flat factors: unrolled coordinates, and what tells factors apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_points
from geodis.plots.style import FACTOR_COLORS, FAINT, new_axes, new_axis, tidy

MAX_SHOWN = 5000


def plot_flat_coordinates(
    coordinates: Any, factors: Any, names: Any = None, *, figure: Any = None
) -> Any:
    """Draw two unrolled coordinates for every true factor, which is the colour.

    Across stands the coordinate that follows the factor most, by rank. Where that is the factor,
    the stripes of colour are upright; stripes at a slant are factors mixed.

    Parameters
    ----------
    coordinates : array-like of shape (n, f)
        Such as `GeoManCER.flat_coordinates_`; with one column, the factors stand on the other
        axis.
    factors : Factors, or array-like of shape (n, g)
        Of any kind that `as_factors` reads; labels have the colours of their codes.
    names : sequence of str, optional
        Instead of those that the factors have.
    figure : matplotlib Figure or SubFigure, optional
        What the panels are drawn on; one of their own by default.

    Returns
    -------
    ndarray of axes, shape (g,)

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(size=(50, 2))
    >>> [axis.get_title(loc="left") for axis in plot_flat_coordinates(x, x, ["size", "hue"])]
    ['colour: size', 'colour: hue']
    """
    from geodis.data.factors import as_factors

    coordinates = check_points(np.nan_to_num(np.asarray(coordinates, float)), name="coordinates")
    known = as_factors(factors, names=names).refuse_missing()
    if len(known) != len(coordinates):
        raise InputError(
            f"factors must have a row for each of {len(coordinates)} points; got {len(known)}."
        )
    count = len(known.names)
    step = -(-len(coordinates) // MAX_SHOWN)
    axes = new_axes(1, count, 3.2 * count + 0.6, 3.2, figure)[0]
    for axis, values, name in zip(axes, known.values.T, known.names, strict=True):
        own = _followed(coordinates, values)
        beside = int(own == 0)
        other = coordinates[:, beside] if coordinates.shape[1] > 1 else values
        axis.scatter(
            coordinates[::step, own],
            other[::step],
            c=values[::step],
            s=6,
            cmap="viridis",
            linewidths=0,
            rasterized=True,
        )
        axis.set_title(f"colour: {name}", loc="left", fontsize=10)
        axis.set_xlabel(f"flat coordinate {own}")
        axis.set_ylabel(f"flat coordinate {beside}" if coordinates.shape[1] > 1 else name)
        axis.set_aspect("equal" if coordinates.shape[1] > 1 else "auto", adjustable="datalim")
        tidy(axis)
    return axes


def _followed(coordinates: np.ndarray, values: np.ndarray) -> int:
    """The column whose ranks follow the values most."""
    ranks = np.argsort(np.argsort(coordinates, axis=0), axis=0)
    own = np.argsort(np.argsort(values))
    related = (ranks - ranks.mean(axis=0)).T @ (own - own.mean())
    return int(np.argmax(np.abs(related)))


def plot_contrast_angles(evidence: Any, axis: Any = None) -> Any:
    """Draw by how much the factors of every contrast turn between halves of the points.

    A contrast is believed where it finds the most factors, and among those where it is most
    stable; above the line at 8 degrees none is.

    Parameters
    ----------
    evidence : FlatEvidence or Independence
        Such as `GeoManCER.flat_evidence_`.

    Examples
    --------
    >>> from geodis.manifold import independent_rotation
    >>> rotation = independent_rotation(np.random.default_rng(0).uniform(size=(500, 2)))
    >>> plot_contrast_angles(rotation).get_xlabel()
    'turn between halves of the points (degrees)'
    """
    from geodis.manifold.independence.rotation_to_factors import MAX_INSTABILITY

    axis = new_axis(6.4, 2.6) if axis is None else axis
    results = list(evidence.contrasts)
    if not results:
        axis.text(0.5, 0.5, "no contrast was needed", ha="center", transform=axis.transAxes)
        axis.set_axis_off()
        return axis
    for place, result in enumerate(results):
        chosen = result.name == evidence.contrast
        axis.barh(place, max(result.instability, 0.02), color=FACTOR_COLORS[0] if chosen else FAINT)
        label = " + ".join(map(str, result.dims))
        axis.annotate(
            label,
            (max(result.instability, 0.02), place),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axis.axvline(MAX_INSTABILITY, color="black", linewidth=1, linestyle=":")
    axis.set_yticks(range(len(results)), [result.name for result in results])
    axis.invert_yaxis()
    axis.set_xlabel("turn between halves of the points (degrees)")
    axis.set_title("dimensions of the factors each finds; blue: believed", loc="left", fontsize=10)
    return tidy(axis)
