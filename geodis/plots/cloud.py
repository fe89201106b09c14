"""Points and the directions of the manifold's factors, along any axes that a reader may choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from geodis.base.check import check_random_state
from geodis.plots.directions import factor_slices, leading_directions
from geodis.plots.figure.interactive import PALETTE
from geodis.plots.figure.labels import LONGEST_NAME, label, short
from geodis.plots.figure.marks import Choices, factor_color
from geodis.plots.points import Coloring, factor_colorings

if TYPE_CHECKING:
    from geodis.data.factors import Factors
    from geodis.manifold.geomancer import GeoManCER

# Points and lines that a page can show without becoming slow or large.
SHOWN_POINTS, SHOWN_LINES = 1200, 450
COMPONENTS, COLUMNS = 6, 8


class NamedAxis(NamedTuple):
    """A direction of the points that they can be shown along."""

    name: str
    direction: np.ndarray


def point_cloud(
    points: np.ndarray, factors: Factors | None = None, est: GeoManCER | None = None
) -> Choices:
    """Describe the points along chosen axes, coloured by a factor, with directions of factors.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    factors : Factors, optional
        Of the points; without them columns are the colours.
    est : GeoManCER, optional
        Fitted to the points.

    Examples
    --------
    >>> cloud = point_cloud(np.random.default_rng(0).normal(size=(50, 2)))
    >>> cloud.about, [axis["name"] for axis in cloud.data["axes"]][2:]
    ('50 of 50 points', ['latent 0', 'latent 1'])
    """
    n = len(points)
    rows = np.sort(check_random_state(0).choice(n, min(n, SHOWN_POINTS), replace=False))
    components = _components(points)
    axes = [*components, *_factor_axes(est), *_columns(points.shape[1])]
    basis = np.stack([axis.direction for axis in axes])  # (a, d)
    line_rows = _rows_with_lines(est, rows)
    data = {
        "axes": [{"name": label(axis.name)} for axis in axes],
        "points": short(((points - points.mean(axis=0))[rows] @ basis.T).T),
        "line_points": np.searchsorted(rows, line_rows).tolist(),
        "lines": _lines(est, line_rows, basis),
        "colors": [_shown(one.of_rows(rows)) for one in _colorings(points, factors, est)],
        "views": _views(est, len(components), axes),
        "palette": list(PALETTE),
    }
    return Choices("cloud", f"{len(rows):,} of {n:,} points", "cloud", data, 520)


def _components(points: np.ndarray) -> list[NamedAxis]:
    from geodis.manifold.principal import principal_components

    spectrum = principal_components(points, random_state=0)
    return [
        NamedAxis(f"principal component {i + 1} ({100 * part:.0f} %)", spectrum.axes[i])
        for i, part in enumerate(spectrum.explained[:COMPONENTS])
    ]


def _columns(d: int) -> list[NamedAxis]:
    return [NamedAxis(f"latent {j}", row) for j, row in enumerate(np.eye(d)[:COLUMNS])]


def _factor_axes(est: GeoManCER | None) -> list[NamedAxis]:
    if est is None:
        return []
    return [
        NamedAxis(f"factor {j}, direction {i + 1}", direction)
        for j in range(est.n_factors_)
        for i, direction in enumerate(leading_directions(est, j)[0])
    ]


def _rows_with_lines(est: GeoManCER | None, rows: np.ndarray) -> np.ndarray:
    """Some of the rows that have directions."""
    if est is None:
        return rows[:0]
    usable = rows[np.isfinite(est.axes_[rows]).all(axis=(1, 2))]
    return usable[:: max(1, -(-len(usable) * est.dim_ // SHOWN_LINES))]


def _lines(est: GeoManCER | None, rows: np.ndarray, basis: np.ndarray) -> list[dict[str, Any]]:
    """Ends of the lines of every factor along all axes, from their points."""
    if est is None:
        return []
    lines = []
    for j, own in enumerate(factor_slices(est)):
        directions = est.axes_[rows, own]  # (s, k_j, d)
        dim = directions.shape[1]
        lines.append(
            {
                "name": f"directions of factor {j} (dimension {dim})",
                "color": f"@{factor_color(j)}",
                "per_point": dim,
                "ends": short((directions.reshape(-1, directions.shape[2]) @ basis.T).T, 3),
            }
        )
    return lines


def _views(
    est: GeoManCER | None, n_components: int, axes: Sequence[NamedAxis]
) -> list[dict[str, Any]]:
    """Pairs of axes that are worth a look, by name."""
    views = [{"name": "principal components", "x": 0, "y": min(1, n_components - 1)}]
    for j in range(0 if est is None else est.n_factors_):
        own = [i for i, axis in enumerate(axes) if axis.name.startswith(f"factor {j}, ")]
        if len(own) > 1:
            views.append({"name": f"directions of factor {j}", "x": own[0], "y": own[1]})
    return views


def _colorings(
    points: np.ndarray, factors: Factors | None, est: GeoManCER | None
) -> list[Coloring]:
    """Known factors, or columns where none are known; and coordinates along the flat factors."""
    columns = points.T[:COLUMNS]
    by_column = [Coloring(f"latent {j}", values) for j, values in enumerate(columns)]
    flat = () if est is None else est.flat_coordinates_.T
    return [
        *(by_column if factors is None else factor_colorings(factors)),
        *(Coloring(f"flat coordinate {j}", values) for j, values in enumerate(flat)),
    ]


def _shown(coloring: Coloring) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": label(coloring.name), "values": short(coloring.values)}
    for key in ("labels", "names"):
        if words := getattr(coloring, key):
            shown[key] = [label(word, LONGEST_NAME) for word in words]
    return shown
