"""Findings -> figures for plotly.js, as plain data.

Colours that begin with "@" are filled in by the page, for light and dark. Text of the user goes
through `label`, because plotly.js reads tags, entities and templates in text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.distances.grid_distances import GROUND_TRUTH, LATENT, PERCEIVED
from geodis.plots.style import FACTOR_COLORS

if TYPE_CHECKING:
    from geodis.report.parts import DistanceFindings
    from geodis.scores._score_table import ScoreTable

# Those of the other figures, lighter on a dark page.
COLORS = tuple(f"@c{i}" for i in range(len(FACTOR_COLORS)))
KINDS = {GROUND_TRUTH: "ground truth", PERCEIVED: "perceived", LATENT: "latent"}
LONGEST_LABEL = 40
# Eigenvalues below this part of the largest are rounding, and would stretch the axis.
FLOOR = 1e-6


@dataclass(frozen=True)
class Chart:
    """One interactive figure.

    Attributes
    ----------
    name : str
        Of the element on the page.
    about : str
        What it shows, for readers who cannot see it.
    data, layout : as plotly.js takes them
    kind : str
        "plain", or the name of the function of the page that draws it from `data`.
    height, min_width : int
        In pixels; a narrow screen scrolls what does not fit.
    """

    name: str
    about: str
    data: Any
    layout: dict[str, Any] = field(default_factory=dict)
    kind: str = "plain"
    height: int = 380
    min_width: int = 0


def label(text: Any, most: int = LONGEST_LABEL) -> str:
    """Text that plotly.js shows as it is: no tags, entities, templates or formulas in it.

    Examples
    --------
    >>> label("<b>%{x}</b>")
    '&lt;b&gt;%&#123;x}&lt;/b&gt;'
    """
    text = " ".join(str(text).split())
    text = text if len(text) <= most else text[: most - 1] + "…"
    for sign, entity in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("{", "&#123;"),
        ("$", "&#36;"),
    ):
        text = text.replace(sign, entity)
    return text


def short(values: Any, digits: int = 4) -> list[Any]:
    """Numbers with few digits, nested as the array is; None where there is none.

    Examples
    --------
    >>> short([[1.23456, np.nan], [100000.0, 2.0]])
    [[1.235, None], [100000, 2]]
    """
    array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return [short(row, digits) for row in array]
    found: list[Any] = []
    for value in array.tolist():
        number = float(f"{value:.{digits}g}") if np.isfinite(value) else None
        found.append(int(number) if number is not None and number.is_integer() else number)
    return found


def spectrum_chart(est: Any) -> Chart | None:
    """Bottom eigenvalues, the parallel fields in another colour, and the gap above them."""
    if not est.evidence_:
        return None
    whole = est.evidence_[0]
    values = np.maximum(whole.eigenvalues, FLOOR * whole.eigenvalues[-1])
    count, place = whole.n_parallel, np.arange(1, len(values) + 1)
    traces = []
    for name, rows, color in (
        ("parallel", slice(0, count), "@accent"),
        ("not parallel", slice(count, None), "@main"),
    ):
        if len(values[rows]):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "x": place[rows].tolist(),
                    "y": short(values[rows]),
                    "customdata": short(whole.variation[rows], 3),
                    "marker": {"size": 11, "color": color},
                    "hovertemplate": "eigenfield %{x}<br>eigenvalue %{y:.3g}<br>"
                    "norm varies by %{customdata}<extra></extra>",
                }
            )
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "eigenfield"}, "dtick": max(1, len(values) // 10)},
        "yaxis": {"title": {"text": "eigenvalue"}, "type": "log", "exponentformat": "power"},
        "showlegend": True,
    }
    if 0 < count < len(values):
        low, high = float(values[count - 1]), float(values[count])
        layout["shapes"] = [
            {
                "type": "rect",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": low,
                "y1": high,
                "fillcolor": "@faint",
                "opacity": 0.15,
                "line": {"width": 0},
            }
        ]
        layout["annotations"] = [
            {
                "text": f"gap: {high / low:,.3g} times",
                "showarrow": False,
                "xref": "paper",
                "x": 0.5,
                "y": (np.log10(low) + np.log10(high)) / 2,
            }
        ]
    about = f"{len(values)} eigenvalues, {count} of them of parallel fields"
    return Chart("spectrum", about, traces, layout, height=340)


def per_factor_chart(table: ScoreTable) -> Chart | None:
    """Bars of every factor, a colour for each score that has such parts."""
    parts = table.per_factor
    if parts.empty:
        return None
    first = ("mig", "sap_continuous", "modularity", "linearity_ratio", "distance_correlation")
    names = [label(name, 24) for name in parts.columns]
    order = sorted(parts.index, key=lambda name: name not in first)
    traces = [
        {
            "type": "bar",
            "name": str(name),
            "x": names,
            "y": short(parts.loc[name], 3),
            "visible": True if name in first else "legendonly",
            "marker": {"color": COLORS[i % len(COLORS)]},
            "hovertemplate": f"{name}<br>%{{x}}: %{{y:.3f}}<extra></extra>",
        }
        for i, name in enumerate(order)
    ]
    layout = {
        "barmode": "group",
        "yaxis": {"title": {"text": "score of the factor"}},
        "xaxis": {"type": "category", "automargin": True},
        "showlegend": True,
    }
    about = f"scores of {len(names)} factor{'s' * (len(names) != 1)}"
    return Chart("per_factor", about, traces, layout, min_width=76 * len(names))


def matrix_chart(name: str, score: Any, about: str, unit: str) -> Chart:
    """A heat map of latents and factors."""
    matrix = np.asarray(score.matrix, dtype=float)
    z, f = matrix.shape
    names = [label(item, 24) for item in score.factor_names] or [str(j) for j in range(f)]
    trace: dict[str, Any] = {
        "type": "heatmap",
        "z": short(matrix, 3),
        "colorscale": "@scale",
        "zmin": 0,
        "x": names,
        "y": [f"latent {i}" for i in range(z)],
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"thickness": 12, "outlinewidth": 0},
        "hovertemplate": f"%{{y}}, %{{x}}<br>{unit}: %{{z:.3f}}<extra></extra>",
    }
    if z * f <= 240:
        trace["texttemplate"] = "%{z:.2f}"
    layout = {
        "xaxis": {"type": "category", "side": "top", "automargin": True},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
    }
    height = int(np.clip(110 + 26 * z, 220, 720))
    return Chart(name, about, [trace], layout, height=height, min_width=120 + 56 * f)


def distance_matrix_chart(found: DistanceFindings) -> Chart | None:
    """Average distances along factors: a row for every kind, a column for every factor."""
    kinds = [kind for kind, row in found.matrices.items() if row]
    names = list(dict.fromkeys(name for kind in kinds for name in found.matrices[kind]))
    if not names:
        return None
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    wide, high = 1 / len(names), 1 / len(kinds)
    annotations = []
    for i, kind in enumerate(kinds):
        for j, name in enumerate(names):
            number = str(i * len(names) + j + 1) if i + j else ""
            matrix = found.matrices[kind].get(name)
            if matrix is None:
                continue
            traces.append(
                {
                    "type": "heatmap",
                    "z": short(matrix, 3),
                    "showscale": False,
                    "colorscale": "@scale",
                    "zmin": 0,
                    "xaxis": f"x{number}",
                    "yaxis": f"y{number}",
                    "hovertemplate": f"{KINDS[kind]} distance of<br>values %{{x}} and %{{y}}: "
                    "%{z:.3g}<extra></extra>",
                }
            )
            plain = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False}
            x0, y1 = j * wide, 1 - i * high
            layout[f"xaxis{number}"] = {
                **plain,
                "domain": [x0 + 0.06 * wide, x0 + 0.94 * wide],
                "anchor": f"y{number}",
                "constrain": "domain",
            }
            layout[f"yaxis{number}"] = {
                **plain,
                "domain": [y1 - 0.94 * high, y1 - 0.06 * high],
                "anchor": f"x{number}",
                "autorange": "reversed",
                "scaleanchor": f"x{number}",
                "constrain": "domain",
            }
            if i == 0:
                annotations.append(_text(label(name, 16), x0 + wide / 2, 1.0, yanchor="bottom"))
        annotations.append(
            _text(
                KINDS[kind],
                -0.005,
                1 - (i + 0.5) * high,
                textangle=-90,
                xanchor="right",
                yanchor="middle",
            )
        )
    layout["annotations"] = annotations
    layout["margin"] = {"l": 36, "r": 8, "t": 36, "b": 8}
    about = f"distance matrices of {', '.join(KINDS[kind] for kind in kinds)} distances"
    return Chart(
        "matrices",
        about,
        traces,
        layout,
        height=50 + 170 * len(kinds),
        min_width=60 + 76 * len(names),
    )


def _text(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    place = {"text": text, "x": x, "y": y, "xref": "paper", "yref": "paper", "showarrow": False}
    return {**place, **more}


def scatter_chart(found: DistanceFindings) -> Chart | None:
    """Pairs of points: one kind of distance against another, to be chosen on the page."""
    kinds = list(next(iter(found.pairs.values()), {}))
    if len(kinds) < 2:
        return None
    groups = []
    for i, (name, distances) in enumerate(found.pairs.items()):
        groups.append(
            {
                "name": "random pairs" if name == "random" else f"along {label(name)}",
                "color": "@faint" if name == "random" else COLORS[(i - 1) % len(COLORS)],
                "values": {KINDS[kind]: short(distances[kind]) for kind in kinds},
                "correlation": _rank_correlations(found, name),
            }
        )
    data = {"kinds": [KINDS[kind] for kind in kinds], "groups": groups}
    return Chart("scatter", "pairs of points by two kinds of distance", data, {}, "scatter", 420)


def _rank_correlations(found: DistanceFindings, name: str) -> dict[str, float]:
    if found.correlations is None:
        return {"perceived|latent": round(found.plain.spearman, 3)}
    agreed = found.correlations
    items = agreed.random if name == "random" else agreed.factors[name]
    return {f"{KINDS[a]}|{KINDS[b]}": round(item.spearman, 3) for (a, b), item in items.items()}


def correlation_chart(found: DistanceFindings) -> Chart | None:
    """Rank correlations of every two kinds of distance, by factor and for random pairs."""
    agreed = found.correlations
    if agreed is None:
        return None
    rows = {"random": agreed.random, **agreed.factors}
    names = ["random pairs" if name == "random" else label(name, 24) for name in rows]
    traces = []
    for k, key in enumerate(agreed.random):
        items = [row[key] for row in rows.values()]
        spans = [item.spearman_interval or (item.spearman, item.spearman) for item in items]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"{KINDS[key[0]]} ~ {KINDS[key[1]]}",
                "x": short([item.spearman for item in items], 3),
                "y": names,
                "customdata": short([[item.pearson, item.n] for item in items]),
                "marker": {"size": 10, "color": COLORS[k], "symbol": k},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "thickness": 1.5,
                    "width": 4,
                    "array": short(
                        [
                            max(high - item.spearman, 0)
                            for item, (_, high) in zip(items, spans, strict=True)
                        ],
                        3,
                    ),
                    "arrayminus": short(
                        [
                            max(item.spearman - low, 0)
                            for item, (low, _) in zip(items, spans, strict=True)
                        ],
                        3,
                    ),
                },
                "hovertemplate": "%{y}<br>rank %{x:.3f}, linear %{customdata[0]:.3f}<br>"
                "%{customdata[1]:,} pairs<extra>%{fullData.name}</extra>",
            }
        )
    layout = {
        "xaxis": {"title": {"text": "rank correlation"}},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
        "showlegend": True,
    }
    about = "rank correlations of distances"
    return Chart("correlations", about, traces, layout, height=160 + 44 * len(names))
