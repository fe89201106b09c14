"""Figures of `isa_tradeoff`: the trade-off, and learnt exponents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analyses.isa_tradeoff.isa_claims import (
    LIKELIHOOD,
    MIG,
    NAMES,
    PUBLISHED_EXPONENTS,
    SMALL,
    SMALL_BATCHES,
    STATED,
)
from geodis import plots

if TYPE_CHECKING:
    import pandas as pd

# Those in small batches look like those in large ones.
MODELS = list(dict.fromkeys(name.removesuffix(SMALL) for name in NAMES))


def draw_tradeoff(rows: pd.DataFrame, preset: str) -> Any:
    """MIG against likelihood, joined over beta, and the runs at the strengths that are tested."""
    axes = plots.new_axes(1, 2, 11.5, 4.4)[0]
    for j, name in enumerate(NAMES):
        own = rows[rows["name"] == name]
        if own.empty:
            continue
        means = own.groupby("beta")[[LIKELIHOOD, MIG]].mean()
        errors = own.groupby("beta")[[LIKELIHOOD, MIG]].sem().fillna(0.0)
        style = _style(name)
        x, y = means[LIKELIHOOD], means[MIG]
        dx, dy = errors[LIKELIHOOD], errors[MIG]
        line = "--" if name in SMALL_BATCHES else "-"
        axes[0].errorbar(x, y, dy, dx, label=name, ms=6, lw=1, ls=line, capsize=2, **style)
        for beta in means.index:
            axes[0].annotate(
                f"{beta:g}", (x[beta], y[beta]), (4, 4), textcoords="offset points", fontsize=7
            )
        for i, beta in enumerate(sorted({test.beta for test in STATED})):
            some = own[own["beta"] == beta]
            at = i * (len(NAMES) + 1) + j
            axes[1].plot([at] * len(some), some[MIG], ls="", ms=5, alpha=0.7, **style)
            axes[1].plot([at - 0.3, at + 0.3], [some[MIG].mean()] * 2, color=plots.INK, lw=1.2)
    axes[0].set(xlabel="E log p(x | z), nats an image; numbers: beta", ylabel="MIG")
    title = f"means and standard errors; hollow: small batches; preset {preset}"
    axes[0].set_title(title, loc="left", fontsize=10)
    axes[0].legend(frameon=False, fontsize=8)
    betas = sorted({test.beta for test in STATED})
    places = [i * (len(NAMES) + 1) + (len(NAMES) - 1) / 2 for i in range(len(betas))]
    axes[1].set_xticks(places, [f"beta {beta:g}" for beta in betas])
    axes[1].set_xlim(-1, len(betas) * (len(NAMES) + 1) - 1)
    axes[1].set_title("every run, and means", loc="left", fontsize=10)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return axes[0]


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
