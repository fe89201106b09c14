"""The ratio of curved fits over scales, from which the dimension is read, for five recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.zoo_cases.clouds import product
from benchmarks.zoo_cases.noise import isotropic, noisy
from geodis import intrinsic_dimension, sample_population
from geodis.manifold import DimensionEstimate, count_roots
from geodis.plots.style import ACCENT, FAINT, INK, save_figure

MOST_SHOWN = 1e3


def five_recordings() -> dict[str, np.ndarray]:
    """Clean, under noise, counts of many and of few spikes, factors of unequal size, and noise."""
    many, few = (
        count_roots(
            sample_population("sphere x ring", 3000, cells=c, peak=p, random_state=0).counts
        )
        for c, p in ((300, 10), (100, 2))
    )
    return {
        "S² x S², noise .1 in 100 columns": noisy("S^2 x S^2", 3000, 100, isotropic, 0.1, 0).points,
        "gaze x heading, 300 cells, 10 spikes": many,
        "gaze x heading, 100 cells, 2 spikes": few,
        "S² x S²(3), clean": product("S^2 x S^2(3)", 3000, 0).points,
        "noise alone": np.random.default_rng(0).standard_normal((3000, 10)),
    }


def draw_ratio_curves(path: Path) -> dict[str, DimensionEstimate]:
    """Draw the curves of the five, and return what was found."""
    from matplotlib.figure import Figure

    found = {name: intrinsic_dimension(rows) for name, rows in five_recordings().items()}
    figure = Figure(figsize=(15, 3.4), layout="constrained")
    for axis, (name, estimate) in zip(
        figure.subplots(1, len(found), sharey=True), found.items(), strict=True
    ):
        for k in range(1, max(map(len, estimate.ratios)) + 1):
            seen = [
                (scale, min(row[k - 1], MOST_SHOWN))
                for scale, row in zip(estimate.scales, estimate.ratios, strict=True)
                if len(row) >= k
            ]
            chosen = k == estimate.dim
            axis.plot(
                *zip(*seen, strict=True),
                color=ACCENT if chosen else INK,
                linewidth=2.2 if chosen else 0.8,
                marker="o" if chosen else None,
                markersize=3,
            )
            axis.annotate(str(k), seen[-1], fontsize=8, color=ACCENT if chosen else INK)
        axis.axhline(2, color=FAINT, linestyle=":")
        axis.set(xscale="log", yscale="log", xlabel="neighbours")
        axis.set_xticks(estimate.scales[::2], labels=map(str, estimate.scales[::2]))
        axis.minorticks_off()
        axis.set_title(f"{name}\n{estimate.dim}, {estimate.verdict}", fontsize=9)
    figure.axes[0].set_ylabel("tangent / residual variance")
    save_figure(figure.axes[0], path)
    return found
