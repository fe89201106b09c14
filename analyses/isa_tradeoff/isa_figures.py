"""Figures of `isa_tradeoff`: the trade-off, and learnt exponents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analyses.isa_tradeoff.isa_claims import (
    ISA_SMALL,
    ISA_TC,
    LARGE_BATCHES,
    LIKELIHOOD,
    MIG,
    NAMES,
    SMALL,
    SMALL_BATCHES,
    STATED_AT,
    TC,
)
from analyses.isa_tradeoff.isa_comparisons import isa_tc_at_1
from geodis import plots
from geodis.models.priors import PUBLISHED_EXPONENTS

if TYPE_CHECKING:
    import pandas as pd

# Those in small batches look like those in large ones.
MODELS = list(dict.fromkeys(name.removesuffix(SMALL) for name in NAMES))
# Where the numbers at the ends of curves stand, in points, so that those of neighbours do not meet.
ENDS = ((6, 5), (-13, -11), (-13, 5), (6, -11))
DOTTED = f"\ndotted: at beta 1 {ISA_TC} is {ISA_SMALL}"


def draw_tradeoff(rows: pd.DataFrame, preset: str) -> Any:
    """MIG against likelihood, joined over beta, and the runs at the strengths that are tested."""
    axes = plots.new_axes(1, 4, 19.0, 5.4)[0]
    for axis in axes[1:3]:
        axis.sharey(axes[0])
    shown = [name for name in NAMES if (rows["name"] == name).any()]
    plain_small = [name for name in SMALL_BATCHES if name not in (TC, ISA_TC)]
    kinds = (
        ("large batches", LARGE_BATCHES, ""),
        ("small batches", plain_small, ""),
        ("total correlation, small batches", (TC, ISA_TC), DOTTED),
    )
    for axis, (batches, names, said) in zip(axes, kinds, strict=False):
        own = [name for name in shown if name in names]
        for name in own:
            _draw_curve(axis, rows, name)
        axis.set(xlabel="E log p(x | z), nats an image; numbers: beta at the ends", ylabel="MIG")
        axis.set_title(f"{batches}, means and standard errors{said}", loc="left", fontsize=9)
        if own:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12)}
            axis.legend(frameon=False, fontsize=9, ncols=2, **place)
    _draw_runs(axes[3], rows, shown)
    axes[3].set_title(f"every run, and means; preset {preset}", loc="left", fontsize=9)
    for axis in axes:
        plots.tidy(axis)
    return axes[0]


def _draw_curve(axis: Any, rows: pd.DataFrame, name: str) -> None:
    """Means of a model over beta; at beta 1 ISA-TCVAE is ISA-VAE in small batches."""
    own = rows[rows["name"] == name].groupby("beta")[[LIKELIHOOD, MIG]]
    means, errors = own.mean(), own.sem().fillna(0.0)
    style = _style(name)
    if name == ISA_TC:
        ends = [isa_tc_at_1(rows)[[LIKELIHOOD, MIG]].mean(), means.iloc[0]]
        axis.plot(*zip(*ends, strict=True), ls=":", lw=1.2, color=style["color"])
    axis.errorbar(
        means[LIKELIHOOD],
        means[MIG],
        errors[MIG],
        errors[LIKELIHOOD],
        label=name,
        ms=6,
        lw=1,
        capsize=2,
        **style,
    )
    for beta in {means.index[0], means.index[-1]}:
        axis.annotate(
            f"{beta:g}",
            tuple(means.loc[beta, [LIKELIHOOD, MIG]]),
            ENDS[MODELS.index(name.removesuffix(SMALL)) % len(ENDS)],
            textcoords="offset points",
            fontsize=9,
            color=style["color"],
        )


def _draw_runs(axis: Any, rows: pd.DataFrame, shown: Sequence[str]) -> None:
    """MIG of every run at the strengths that are tested, a column each, named below."""
    columns = [
        (name, beta)
        for beta in STATED_AT
        for name in shown
        if ((rows["name"] == name) & (rows["beta"] == beta)).any()
    ]
    places = [j + (beta != STATED_AT[0]) for j, (_, beta) in enumerate(columns)]
    for (name, beta), at in zip(columns, places, strict=True):
        found = rows[(rows["name"] == name) & (rows["beta"] == beta)][MIG]
        axis.plot([at] * len(found), found, ls="", ms=5, alpha=0.7, **_style(name))
        axis.plot([at - 0.3, at + 0.3], [found.mean()] * 2, color=plots.INK, lw=1.4)
    words = [f"{name}, beta {beta:g}" for name, beta in columns]
    axis.set_xticks(places, words, rotation=40, ha="right", fontsize=8)
    axis.set_ylabel("MIG")


def _style(name: str) -> dict[str, Any]:
    """A colour and a marker for a model, hollow in small batches."""
    place = MODELS.index(name.removesuffix(SMALL))
    hollow = {"markerfacecolor": "white"} if name in SMALL_BATCHES else {}
    return {"marker": plots.MARKERS[place], "color": plots.FACTOR_COLORS[place], **hollow}


def draw_exponents(rows: pd.DataFrame, exponents: Mapping[str, Sequence[float]]) -> Any:
    """Sorted exponents of every run, published ones as lines (Fig. 7)."""
    axis = plots.new_axes(1, 1, 6.0, 3.6)[0][0]
    own = rows[rows["run"].isin(list(exponents))]
    for j, (beta, some) in enumerate(own.groupby("beta")):
        for number, run in enumerate(some["run"]):
            values = sorted(exponents[run])
            axis.plot(
                range(1, len(values) + 1),
                values,
                plots.MARKERS[j] + "-",
                color=plots.FACTOR_COLORS[j],
                ms=4,
                lw=0.8,
                alpha=0.7,
                label=f"beta {beta:g}" if number == 0 else None,
            )
    for value in PUBLISHED_EXPONENTS:
        axis.axhline(value, color=plots.ACCENT, lw=0.8, ls="--")
    axis.set(xlabel="exponent, sorted within a run (dashed: published)", ylabel="learnt value")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(frameon=False, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    return axis
