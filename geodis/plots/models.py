"""What models do: latents that vary one at a time, and how training went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.plots.figure.sprite_sheet import mosaic
from geodis.plots.style import ACCENT, FAINT, INK, new_axes, new_axis, tidy

# Pixels between the images of a mosaic.
GAP = 2
# Panels in a row of a figure of training.
PANELS = 3


def plot_traversals(
    traversals: Any,
    axis: Any = None,
    *,
    names: Sequence[str] | None = None,
    values: Any = None,
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
