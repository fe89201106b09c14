"""Points and the directions of the manifold's factors, along any axes that a reader may choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.report.charts import COLORS, Chart, label, short

if TYPE_CHECKING:
    from geodis.report.material import Material
    from geodis.report.results import Report

# Points and lines that a page can show without becoming slow or large.
SHOWN_POINTS, SHOWN_LINES = 1200, 450
COMPONENTS, COLUMNS, PER_FACTOR = 6, 8, 3
NEGLIGIBLE = 0.05  # of the largest singular value: such a direction holds nothing of a factor
MANY_LABELS = len(COLORS)


def cloud_chart(report: Report) -> Chart:
    """The points along chosen axes, coloured by a factor, with directions of manifold factors."""
    from geodis.manifold.principal import principal_components

    est, material = report.manifold, report.factorised or report.material
    points = material.latents
    rng = check_random_state(0)
    n = len(points)
    rows = np.sort(rng.choice(n, min(n, SHOWN_POINTS), replace=False))
    found = principal_components(points, random_state=0)
    axes = [
        (f"principal component {i + 1} ({100 * part:.0f} %)", found.axes[i])
        for i, part in enumerate(found.explained[:COMPONENTS])
    ]
    line_rows = np.zeros(0, dtype=int)
    lines: list[dict[str, Any]] = []
    if est is not None:
        usable = rows[np.isfinite(est.axes_[rows]).all(axis=(1, 2))]
        line_rows = usable[:: max(1, -(-len(usable) * est.dim_ // SHOWN_LINES))]
        axes += _axes_of_factors(est)
    identity = np.eye(points.shape[1])
    axes += [(f"latent {j}", identity[j]) for j in range(min(points.shape[1], COLUMNS))]
    basis = np.stack([axis for _, axis in axes])  # (a, d)
    centred = points - points.mean(axis=0)
    if est is not None:
        start = 0
        for j, dim in enumerate(est.factor_dims_.tolist()):
            own = est.axes_[line_rows, start : start + dim]  # (s, k_j, d)
            lines.append(
                {
                    "name": f"directions of factor {j} (dimension {dim})",
                    "color": COLORS[j % len(COLORS)],
                    "per_point": dim,
                    "ends": short((own.reshape(-1, own.shape[2]) @ basis.T).T, 3),
                }
            )
            start += dim
    place = np.searchsorted(rows, line_rows)
    data = {
        "axes": [{"name": name} for name, _ in axes],
        "points": short((centred[rows] @ basis.T).T, 4),
        "line_points": place.tolist(),
        "lines": lines,
        "colors": _colors(material, rows) + _flat_colors(est, rows),
        "views": _views(est, len(found.explained[:COMPONENTS]), axes),
    }
    about = f"{len(rows):,} of {n:,} points"
    return Chart("cloud", about, data, {}, "cloud", 520)


def _axes_of_factors(est: Any) -> list[tuple[str, np.ndarray]]:
    """Leading directions of the axes of every factor, where it has more than one of them."""
    found = []
    usable = np.flatnonzero(np.isfinite(est.axes_).all(axis=(1, 2)))
    for j in range(est.n_factors_):
        own = est.subspace(j)[usable[:: max(1, len(usable) // 1000)]]
        _, sizes, right = np.linalg.svd(own.reshape(-1, own.shape[2]), full_matrices=False)
        kept = min(PER_FACTOR, int((sizes > NEGLIGIBLE * sizes[0]).sum()))
        found += [(f"factor {j}, direction {i + 1}", right[i]) for i in range(kept)]
    return found


def _views(est: Any, n_components: int, axes: list[tuple[str, np.ndarray]]) -> list[dict[str, Any]]:
    """Pairs of axes that are worth a look, by name."""
    views = [{"name": "principal components", "x": 0, "y": min(1, n_components - 1)}]
    names = [name for name, _ in axes]
    for j in range(0 if est is None else est.n_factors_):
        own = [i for i, name in enumerate(names) if name.startswith(f"factor {j}, ")]
        if len(own) > 1:
            views.append({"name": f"directions of factor {j}", "x": own[0], "y": own[1]})
    return views


def _flat_colors(est: Any, rows: np.ndarray) -> list[dict[str, Any]]:
    """Coordinates along the flat factors, which the manifold itself has given."""
    if est is None:
        return []
    return [
        {"name": f"flat coordinate {j}", "values": short(column)}
        for j, column in enumerate(est.flat_coordinates_[rows].T)
    ]


def _colors(material: Material, rows: np.ndarray) -> list[dict[str, Any]]:
    """What points can be coloured by: known factors, or columns where none are known."""
    factors = material.factors
    if factors is None:
        return [
            {"name": f"latent {j}", "values": short(material.latents[rows, j])}
            for j in range(min(material.latents.shape[1], COLUMNS))
        ]
    found: list[dict[str, Any]] = []
    for j, name in enumerate(factors.names):
        values = factors.values[rows, j]
        color: dict[str, Any] = {"name": label(name), "values": short(values)}
        labels = factors.categories.get(name)
        if labels is not None and len(labels) <= MANY_LABELS:
            color["labels"] = [label(item, 24) for item in labels]
        elif len(few := np.unique(factors.values[:, j])) <= MANY_LABELS:
            color["values"] = np.searchsorted(few, values).tolist()
            color["labels"] = [f"{value:g}" for value in few]
        elif labels is not None:  # too many for a colour each: a scale that names them
            color["names"] = [label(item, 24) for item in labels]
        found.append(color)
    return found
