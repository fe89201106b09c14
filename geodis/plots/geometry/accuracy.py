"""Figures of how far factors that were found are from the true ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geodis.plots.style import FACTOR_COLORS, FAINT, MARKERS, new_axis, tidy


def plot_error_against_n(
    rows: Sequence[Mapping[str, Any]], axis: Any = None, *, x: str = "n", by: str = "manifold"
) -> Any:
    """Draw the error of the factors against the number of points, or another setting.

    Parameters
    ----------
    rows : sequence of mappings
        Each with `x`, `by`, "error" in radians and "right": whether the dimensions of the factors
        are. Lines join medians of rows equal in both, bars span them all, and a cross marks where
        most are wrong.
    x, by : str
        What is on the axis, and what has a line each.
    """
    axis = new_axis(7.6, 4.8) if axis is None else axis
    places = np.array(sorted({row[x] for row in rows}))
    wrong: list[tuple[float, float]] = []
    for j, name in enumerate(dict.fromkeys(row[by] for row in rows)):
        style = "-" if j < len(FACTOR_COLORS) else "--"
        color, marker = FACTOR_COLORS[j % len(FACTOR_COLORS)], MARKERS[j % len(MARKERS)]
        drawn = []
        for place in places:
            own = [row for row in rows if row[by] == name and row[x] == place]
            if own:
                errors = [row["error"] for row in own]
                drawn.append((place, np.median(errors)))
                axis.vlines(place, min(errors), max(errors), color=color, alpha=0.5, linewidth=3)
                if np.mean([row["right"] for row in own]) < 0.5:
                    wrong.append(drawn[-1])
        axis.plot(*zip(*drawn, strict=True), style, color=color, marker=marker, ms=5, label=name)
    if wrong:
        axis.plot(*zip(*wrong, strict=True), "kx", ms=9, zorder=4, label="wrong factors")
    axis.axhline(np.pi / 2, color=FAINT, linestyle=":", linewidth=1)
    axis.set_yscale("log")
    if x == "n":
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{place:,}" for place in places])
        axis.minorticks_off()
    axis.set_xlabel("points" if x == "n" else x)
    axis.set_ylabel("mean angle to the true factors (radians)")
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(axis)
