"""Loss kernels: what they look like, what they do to images, and how they were learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.plots.figure.sprite_sheet import mosaic
from geodis.plots.style import FACTOR_COLORS, FAINT, new_axes, new_axis, tidy

COLUMNS = 4
GAP = 2  # pixels between images of a traversal
WHITE = 0.995  # quantile of the weights from which on they are white: a few peaks hide the rest


def plot_kernels(kernels: Mapping[str, Any], *, figure: Any = None) -> Any:
    r"""Draw kernels side by side, each on its own scale of grey.

    Parameters
    ----------
    kernels : mapping of str to LossKernel or array-like
        An array has shape (s, s), (c, s, s) or (k, c, s, s); of several kernels the first is drawn
        and the title says how many there are. White are the largest weights, one in 200; black is
        zero, or the smallest weight where some are negative.
    figure : matplotlib Figure or SubFigure, optional
        What the panels are drawn on; one of their own by default.

    Returns
    -------
    ndarray of matplotlib axes

    Examples
    --------
    >>> axes = plot_kernels({"box": np.ones((3, 3)), "edge": np.diag([1.0, 0.0, -1.0])})
    >>> [axis.get_title() for axis in axes.ravel()[:2]]
    ['box', 'edge\n-1 to 1']
    """
    if not kernels:
        raise InputError("kernels must be at least one to draw; got none.")
    columns = min(COLUMNS, len(kernels))
    rows = -(-len(kernels) // columns)
    axes = new_axes(rows, columns, 2.6 * columns, 2.9 * rows, figure)
    for axis in axes.ravel()[len(kernels) :]:
        axis.set_axis_off()
    for axis, (name, kernel) in zip(axes.ravel(), kernels.items(), strict=False):
        weights = to_numpy(getattr(kernel, "weights", kernel), "kernel")
        first = weights.reshape(-1, *weights.shape[-2:])[0]
        low, high = min(float(first.min()), 0.0), float(first.max())
        white = float(np.quantile(first, WHITE))
        axis.imshow(first, cmap="gray", vmin=low, vmax=max(white, low), interpolation="nearest")
        count = int(np.prod(weights.shape[:-2]))
        notes = [f"first of {count}"] if count > 1 else []
        notes += [f"{low:.2g} to {high:.2g}"] if low < 0 else []
        axis.set_title("\n".join([name, *notes]), fontsize=9)
        axis.set_xticks([0, first.shape[1] - 1])
        axis.set_yticks([0, first.shape[0] - 1])
        axis.tick_params(labelsize=7)
    return axes


def plot_augmented_traversals(
    grid: Any,
    kernel: Any,
    at: int = 0,
    *,
    factors: Sequence[int | str] | None = None,
    figure: Any = None,
) -> Any:
    """Draw traversals of a grid as they are, and under each what a kernel makes of them (6.3).

    Parameters
    ----------
    grid : FactorGrid
    kernel : LossKernel
        Its first kernel is used; what is drawn is scaled to [0, 1] over the row, for negative and
        large values have no colour.
    at : int
        Index where the other factors come from.
    factors : sequence of int or str, optional
        Factors to traverse; the first three unless given.
    figure : matplotlib Figure or SubFigure, optional
        What the panels are drawn on; one of their own by default.

    Returns
    -------
    ndarray of matplotlib axes, shape (factors, 2)
    """
    names = list(range(min(3, len(grid.sizes)))) if factors is None else list(factors)
    axes = new_axes(len(names), 2, 11.0, 1.0 * len(names) + 0.5, figure)
    for row, factor in zip(axes, names, strict=True):
        j = grid.factor_number(factor)
        images = grid.images(grid.traversal(j, at), "float32")
        channels = images.shape[-1]
        maps = dict(enumerate(kernel.parts(images)))[1][1][:, :channels]  # (steps, c, h, w)
        maps = maps.transpose(0, 2, 3, 1)
        low, high = maps.min(), maps.max()
        scaled = (maps - low) / max(high - low, np.finfo(np.float32).tiny)
        for axis, shown, title in zip(row, (images, scaled), ("images", "h * images"), strict=True):
            row_of_images = mosaic(shown[None], GAP)
            grey = row_of_images if channels == 3 else row_of_images[:, :, 0]
            axis.imshow(grey, cmap="gray", vmin=0, vmax=1)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(f"{title}, along {grid.names[j]}", fontsize=8)
    return axes


def plot_learning(losses: Mapping[str, Any], axis: Any = None) -> Any:
    """Draw the correlation on held-out pairs by step, on a scale that opens towards 1.

    Parameters
    ----------
    losses : mapping of str to LossKernel or FeatureLoss
        Learnt ones, whose ``made["history"]`` is drawn; the pixel loss is a dashed line.
    axis : matplotlib axis, optional

    Returns
    -------
    matplotlib axis
    """
    axis = new_axis() if axis is None else axis
    for i, (name, loss) in enumerate(losses.items()):
        history = loss.made.get("history")
        if not history:
            raise InputError(f"losses must have been learnt here; got {name} without a history.")
        color = FACTOR_COLORS[i % len(FACTOR_COLORS)]
        steps, _, correlation = zip(*history, strict=True)
        width = 1.0 + (len(losses) - 1 - i) / 2  # lines that coincide show below one another
        axis.plot(steps, correlation, "o-", ms=3, color=color, label=name, lw=width)
    pixel = [loss.made["pixel_loss"] for loss in losses.values()]
    if all(value is not None and np.isfinite(value) for value in pixel):
        axis.axhline(float(np.mean(pixel)), color=FAINT, linestyle="--", label="pixel loss")
    axis.set_yscale("function", functions=(_towards_one, _from_there))
    axis.set_yticks([-0.5, 0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999])
    axis.minorticks_off()
    values = np.concatenate([line.get_ydata() for line in axis.lines])
    axis.set_ylim(
        _from_there(_towards_one(values).min() - 0.1), _from_there(_towards_one(values).max() + 0.1)
    )
    axis.set_xlabel("steps")
    axis.set_ylabel("Spearman correlation, held-out pairs")
    # Learnt losses crowd at the top and meet one another: names stand beside the lines.
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return tidy(axis)


def _towards_one(correlation: Any) -> Any:
    """Orders of magnitude below 1, six at most."""
    return -np.log10(np.maximum(1 - np.asarray(correlation, float), 1e-6))


def _from_there(orders: Any) -> Any:
    return 1 - 10.0 ** -np.asarray(orders, float)
