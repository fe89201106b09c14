"""Figures of models: traversals, training curves and loss kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.plots.figure.sprite_sheet import mosaic
from geodis.plots.style import ACCENT, FACTOR_COLORS, FAINT, INK, new_axes, new_axis, tidy

# Pixels between the images of a mosaic.
GAP = 2
# Panels in a row of a figure of training.
PANELS = 3


def plot_traversals(
    traversals: Any, axis: Any = None, *, names: Sequence[str] | None = None, values: Any = None
) -> Any:
    """Draw decoded traversals, with a row per latent, which increases from left to right.

    Parameters
    ----------
    traversals : array-like of shape (z, steps, h, w, c) or (z, steps, columns)
        Output of `geodis.models.traverse`; vectors are drawn as curves.
    axis : matplotlib axis, optional
    names : sequence of z str, optional
        Labels of the rows; "z 0", "z 1", ... by default.
    values : array-like of shape (steps,), optional
        Labels of the columns.

    Returns
    -------
    matplotlib axis
    """
    images = to_numpy(traversals, "traversals")
    if images.ndim not in (3, 5):
        raise InputError(
            "traversals must have shape (z, steps, h, w, c) or (z, steps, columns); "
            f"got shape {images.shape}."
        )
    z, steps = images.shape[:2]
    names = [f"z {i}" for i in range(z)] if names is None else list(names)
    if len(names) != z:
        raise InputError(f"names must have one entry per latent, {z} in all; got {len(names)}.")
    if images.ndim == 3:
        return _curves(images, axis, names)
    height, width, channels = images.shape[2:]
    if axis is None:
        side = 0.62 / max(height, width)
        axis = new_axis(1.2 + side * steps * width, 0.5 + side * z * height)
    whole = mosaic(images, GAP)
    shown = whole[..., 0] if channels == 1 else whole
    axis.imshow(shown, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axis.set_yticks(np.arange(z) * (height + GAP) + (height - 1) / 2, names)
    labels = [] if values is None else [f"{value:g}" for value in np.round(values, 2)]
    places = np.arange(steps) * (width + GAP) + (width - 1) / 2
    axis.set_xticks(places if labels else [], labels)
    axis.tick_params(length=0, labelsize=8)
    axis.spines[:].set_visible(False)
    return axis


def _curves(rows: np.ndarray, axis: Any, names: Sequence[str]) -> Any:
    """Draw decoded vectors as curves over their columns, pale for low values of the latent."""
    z, steps, columns = rows.shape
    axis = new_axis(6.4, 0.6 + 0.7 * z) if axis is None else axis
    span = max(float(np.ptp(rows)), 1e-12)
    for i in range(z):
        for j in range(steps):
            height = (rows[i, j] - rows.min()) / span + 1.2 * (z - 1 - i)
            axis.plot(np.arange(columns), height, color=INK, alpha=0.15 + 0.85 * j / (steps - 1))
    axis.set_yticks(1.2 * np.arange(z)[::-1] + 0.5, names)
    axis.set_xlabel("column")
    axis.tick_params(axis="y", length=0)
    return tidy(axis)


def plot_training(
    history: Any, axis: Any = None, *, term: str | None = None, figure: Any = None
) -> Any:
    """Draw every term of the loss and every score against the training step.

    Parameters
    ----------
    history : Training, or sequence of mappings
        Output of `geodis.models.train`, or its ``history``.
    axis : matplotlib axis, optional
        Where to draw a single term; by default all terms are drawn on a new figure.
    term : str, optional
        The term to draw on `axis`.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw the panels; a new figure by default.

    Returns
    -------
    matplotlib axis
        The first panel.
    """
    entries: Sequence[Mapping[str, float]] = getattr(history, "history", history)
    names = list(dict.fromkeys(name for entry in entries for name in entry if name != "step"))
    if not names:
        raise InputError("history must have at least one step with a term; got none.")
    if axis is not None:
        term = names[0] if term is None else term
        if term not in names:
            raise InputError(f"term must be one of {', '.join(names)}; got {term!r}.")
        return _line(axis, entries, term)
    columns = min(PANELS, len(names))
    rows = -(-len(names) // columns)
    axes = new_axes(rows, columns, 3.4 * columns, 2.4 * rows, figure)
    for panel, name in zip(axes.ravel(), names, strict=False):
        _line(panel, entries, name)
    for panel in axes.ravel()[len(names) :]:
        panel.set_visible(False)
    lowest = axes.ravel()[max(len(names) - columns, 0) : len(names)]
    for panel in lowest:
        panel.set_xlabel("step")
    return axes[0, 0]


def _line(axis: Any, entries: Sequence[Mapping[str, float]], name: str) -> Any:
    points = [(entry["step"], entry[name]) for entry in entries if name in entry]
    steps, values = np.array(points, dtype=float).T
    few = len(points) < 40  # scores are evaluated rarely, terms often
    axis.plot(
        steps, values, color=FAINT if not few else ACCENT, lw=0.8, marker="o" if few else "", ms=4
    )
    if not few:
        width = max(len(values) // 50, 1)
        smooth = np.convolve(values, np.ones(width) / width, mode="valid")
        axis.plot(steps[width // 2 : width // 2 + len(smooth)], smooth, color=INK, lw=1.6)
    axis.set_title(name.replace("_", " "), loc="left", fontsize=10)
    return tidy(axis)


# Loss kernels: weights, effect on images, and learning curves.

COLUMNS = 4
WHITE = 0.995  # quantile of the weights drawn white, so that a few peaks do not hide the rest


def plot_kernels(kernels: Mapping[str, Any], *, figure: Any = None) -> Any:
    r"""Draw kernels side by side, each with its own grey scale.

    Parameters
    ----------
    kernels : mapping of str to LossKernel or array-like
        An array has shape (s, s), (c, s, s) or (k, c, s, s); of several kernels the first is drawn,
        and the title states their number. The largest 0.5 % of the weights are white; black is
        zero, or the smallest weight if some are negative.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw the panels; a new figure by default.

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
        raise InputError("kernels must have at least one kernel; got none.")
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
    """Draw traversals of a grid, and their images after filtering with a kernel (6.3).

    Parameters
    ----------
    grid : FactorGrid
    kernel : LossKernel
        Its first kernel is used. Filtered images are scaled to [0, 1] over the row.
    at : int
        Index of the image that sets the other factors.
    factors : sequence of int or str, optional
        Factors to traverse; the first three by default.
    figure : matplotlib Figure or SubFigure, optional
        Where to draw the panels; a new figure by default.

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
    """Draw the correlation on held-out pairs by step, on a logarithmic scale towards 1.

    Parameters
    ----------
    losses : mapping of str to LossKernel or FeatureLoss
        Learnt losses, whose ``made["history"]`` is drawn; the pixel loss is a dashed line.
    axis : matplotlib axis, optional

    Returns
    -------
    matplotlib axis
    """
    axis = new_axis() if axis is None else axis
    for i, (name, loss) in enumerate(losses.items()):
        history = loss.made.get("history")
        if not history:
            raise InputError(f"losses must be learnt losses; got {name} without a history.")
        color = FACTOR_COLORS[i % len(FACTOR_COLORS)]
        steps, _, correlation = zip(*history, strict=True)
        width = 1.0 + (len(losses) - 1 - i) / 2  # so that coinciding lines remain visible
        axis.plot(steps, correlation, "o-", ms=3, color=color, label=name, lw=width)
    pixel = [loss.made["pixel_loss"] for loss in losses.values()]
    if all(value is not None and np.isfinite(value) for value in pixel):
        axis.axhline(float(np.mean(pixel)), color=FAINT, linestyle="--", label="pixel loss")
    axis.set_yscale("function", functions=(_to_orders, _from_orders))
    axis.set_yticks([-0.5, 0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999])
    axis.minorticks_off()
    values = np.concatenate([line.get_ydata() for line in axis.lines])
    axis.set_ylim(
        _from_orders(_to_orders(values).min() - 0.1), _from_orders(_to_orders(values).max() + 0.1)
    )
    axis.set_xlabel("steps")
    axis.set_ylabel("Spearman correlation, held-out pairs")
    # Curves crowd at the top: place the legend outside.
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return tidy(axis)


def _to_orders(correlation: Any) -> Any:
    """Map a correlation to its orders of magnitude below 1, at most six."""
    return -np.log10(np.maximum(1 - np.asarray(correlation, float), 1e-6))


def _from_orders(orders: Any) -> Any:
    """Invert `_to_orders`."""
    return 1 - 10.0 ** -np.asarray(orders, float)
