"""What models do: latents that vary one at a time, and how training went."""

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
    """Draw decoded traversals: a row for every latent, the latent growing from left to right.

    Parameters
    ----------
    traversals : array-like of shape (z, steps, h, w, c) or (z, steps, columns)
        What `geodis.models.traverse` returns; vectors are drawn as curves.
    axis : matplotlib axis, optional
    names : sequence of z str, optional
        "z 0", "z 1", ... unless given.
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
        raise InputError(f"names must be one a latent, {z} in all; got {len(names)}.")
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
    """Decoded vectors as curves over their columns, pale at the low end of the latent."""
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
    """Draw every term of the loss, and every score, against the step.

    Parameters
    ----------
    history : Training, or sequence of mappings
        What `geodis.models.train` returns, or its ``history``.
    axis : matplotlib axis, optional
        For one term only; a figure of all of them otherwise.
    term : str, optional
        Which, with an axis.
    figure : matplotlib Figure or SubFigure, optional
        What the panels are drawn on; one of their own by default.

    Returns
    -------
    matplotlib axis
        The first one.
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
    for panel in axes.ravel()[max(len(names) - columns, 0) : len(names)]:  # the lowest of a column
        panel.set_xlabel("step")
    return axes[0, 0]


def _line(axis: Any, entries: Sequence[Mapping[str, float]], name: str) -> Any:
    points = [(entry["step"], entry[name]) for entry in entries if name in entry]
    steps, values = np.array(points, dtype=float).T
    few = len(points) < 40  # scores come seldom, terms often
    axis.plot(
        steps, values, color=FAINT if not few else ACCENT, lw=0.8, marker="o" if few else "", ms=4
    )
    if not few:
        width = max(len(values) // 50, 1)
        smooth = np.convolve(values, np.ones(width) / width, mode="valid")
        axis.plot(steps[width // 2 : width // 2 + len(smooth)], smooth, color=INK, lw=1.6)
    axis.set_title(name.replace("_", " "), loc="left", fontsize=10)
    return tidy(axis)


# Loss kernels: what they look like, what they do to images, and how they were learnt.

COLUMNS = 4
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
