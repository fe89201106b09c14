"""The figure of how scores spread over many models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.text import counted
from geodis.plots.figure.marks import Axis, Dots, Figure, Panel, one_panel
from geodis.plots.figure.static import draw_figure

if TYPE_CHECKING:
    from geodis.scores.across_models.many_scores import ManyScores


def spread_figure(table: ManyScores) -> Figure:
    """Describe the median, quartiles and ends of every score whose values lie between 0 and 1.

    Parameters
    ----------
    table : ManyScores
    """
    spread = table.spread
    shown = spread[(spread["low"] >= 0) & (spread["high"] <= 1)].iloc[::-1]
    if shown.empty:
        raise InputError("A spread needs a score between 0 and 1; got none.")
    places = np.arange(len(shown), dtype=float)
    told = {"score": list(map(str, shown.index)), "best": list(shown["best"])}
    told["worst"] = list(shown["worst"])
    middle = Dots(
        shown["median"].to_numpy(float),
        places,
        "median, half of the models",
        spans=list(zip(shown["quarter"], shown["3 quarters"], strict=True)),
        hover="{score}\nmedian {x:.3f}",
        told=told,
    )
    ends = [
        Dots(
            shown[end].to_numpy(float),
            places,
            "lowest and highest" if end == "low" else "",
            hollow=True,
            size="small",
            hover="{score}\n" + end + " {x:.3f}",
            told=told,
        )
        for end in ("low", "high")
    ]
    known = shown["chance"].notna().to_numpy()
    chance = Dots(
        shown["chance"].to_numpy(float)[known],
        places[known],
        "chance",
        "accent",
        marker=2,
        size="small",
        hover="chance {x:.3f}",
    )
    panel = Panel(
        [*ends, middle, *([chance] if known.any() else [])],
        Axis("value", limits=(-0.03, 1.03)),
        Axis(names=tuple(told["score"])),
        striped=True,
        legend="beside",
    )
    about = f"spread of {counted(len(shown), 'score')} over {counted(len(table.models), 'model')}"
    size = (6.4, 1.6 + 0.26 * len(shown))
    return one_panel("spread", about, panel, size=size, height=int(160 + 24 * len(shown)))


def plot_spread(table: ManyScores, axis: Any = None) -> Any:
    """Draw the median, quartiles and ends of every score whose values lie between 0 and 1.

    Parameters
    ----------
    table : ManyScores
    """
    return draw_figure(spread_figure(table), axis)
