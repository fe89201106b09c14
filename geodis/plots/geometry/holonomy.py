"""Figures of parallel transport around loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.plots.style import FACTOR_COLORS, new_axis, tidy

if TYPE_CHECKING:
    from geodis.manifold.holonomy.loops import Holonomy


def plot_holonomy(
    holonomy: Holonomy, factor_dims: Sequence[int] | np.ndarray | None = None, axis: Any = None
) -> Any:
    """Draw the share of loops whose parallel transport turns a factor by less than each angle.

    The curve of a flat factor stands at zero; that of a curved one spreads with the loops' length.

    Parameters
    ----------
    holonomy : Holonomy
    factor_dims : sequence of int, optional
        For the legend.
    """
    axis = new_axis() if axis is None else axis
    angles = np.degrees(holonomy.angles)
    share = np.arange(1, len(angles) + 1) / max(len(angles), 1)
    for j, column in enumerate(angles.T):
        dim = "" if factor_dims is None else f" (dimension {factor_dims[j]})"
        middle = f": median {np.median(column):.0f}°" if len(column) else ""
        axis.step(
            np.r_[0.0, np.sort(column), 180.0],
            100 * np.r_[0.0, share, 1.0],
            where="post",
            color=FACTOR_COLORS[j % len(FACTOR_COLORS)],
            label=f"factor {j}{dim}{middle}",
        )
    if len(angles):
        length, leaked = np.median(holonomy.lengths), np.median(holonomy.leakage)
        axis.set_title(
            f"Parallel transport around {len(angles)} loops of {length:.0f} edges (median)\n"
            f"A flat factor stays at 0°; {leaked:.2g} leaks from factor to factor",
            loc="left",
            fontsize=10,
        )
    axis.set_xlabel("angle by which the loop turns the factor (degrees)")
    axis.set_ylabel("loops that turn it by less (%)")
    axis.set(xlim=(-3, 180), ylim=(0, 101), xticks=range(0, 181, 30))
    axis.legend(frameon=False, loc="lower right")
    return tidy(axis)
