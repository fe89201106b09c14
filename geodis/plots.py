"""Matplotlib figures, one function each: results and an axis in, the axis out."""

from __future__ import annotations

from typing import Any

import numpy as np

INK = "#1f4e79"
ACCENT = "#c8553d"


def new_axis(width: float = 6.4, height: float = 4.0) -> Any:
    """An axis on a figure of its own, without a window or global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def save_figure(axis: Any, path: Any) -> None:
    """Write the figure of an axis, whole or not at all; the suffix chooses the format."""
    from geodis._write import whole_file

    with whole_file(path) as temporary:
        axis.figure.savefig(temporary, dpi=150)


def plot_principal_spectrum(explained: np.ndarray, dim: int | None = None, axis: Any = None) -> Any:
    """Draw the fraction of variance along each principal component.

    Parameters
    ----------
    explained : ndarray of shape (c,)
        Fractions of the variance, largest first.
    dim : int, optional
        Intrinsic dimension, marked by a line: a manifold of dimension k bends through more than
        k ambient directions, so the spectrum usually goes on beyond it.
    axis : matplotlib axis, optional

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> plot_principal_spectrum(np.array([0.6, 0.3, 0.1]), dim=2).get_ylabel()
    'variance (%)'
    """
    axis = new_axis() if axis is None else axis
    shown = np.asarray(explained)[:50]
    axis.bar(np.arange(1, len(shown) + 1), 100 * shown, color=INK)
    if dim is not None and dim < len(shown):
        axis.axvline(dim + 0.5, color=ACCENT, linestyle="--", label=f"intrinsic dimension {dim}")
        axis.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    axis.set_xlabel("principal component")
    axis.set_ylabel("variance (%)")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.spines[["top", "right"]].set_visible(False)
    return axis
