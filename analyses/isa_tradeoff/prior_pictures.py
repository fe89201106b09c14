"""Priors of independent subspaces as pictures: iso-contours, trees, and marginals (seed 002)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from geodis import models, plots

EXPONENTS = (1.0, 2.0, 9.0)
# The three of equation 6: one latent alone, two that share a subspace.
REACH, SIDE = 1.35, 121


def draw_priors(path: Path) -> None:
    """Figures 2 to 4: level lines of equation 6, two orientations, and the two trees."""
    axes = plots.new_axes(3, 3, 9.6, 9.4)
    for row, p0 in enumerate(EXPONENTS):
        for column, p1 in enumerate(EXPONENTS):
            _contours(axes[row][column], p0, p1)
    plots.save_figure(axes[0][0], path / "prior_contours.png")
    axes = plots.new_axes(1, 4, 12.8, 3.4)[0]
    for axis, (p, name) in zip(axes, ((1.0, "Laplace, p = 1"), (9.0, "p = 9")), strict=False):
        _places(axis, p, name)
    _tree(axes[2], [("p1", 1), ("", 2)], "equation 6", single=True)
    _tree(axes[3], [("p1", 3), ("p2", 2), ("p3", 3)], "independent subspaces, equation 9")
    plots.save_figure(axes[0], path / "prior_orientations_and_trees.png")


def contour_levels(p0: float, p1: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Norm f of equation 6 on two planes of its three latents.

    Returns
    -------
    at : ndarray of shape (s,)
        Places along both axes of a plane.
    across, within : ndarray of shape (s, s)
        f(z) where z1 and z2 vary (of two subspaces), and where z2 and z3 do (of one).

    Examples
    --------
    >>> at, across, within = contour_levels(2.0, 1.0)
    >>> middle = len(at) // 2
    >>> bool(np.allclose(across[middle], abs(at)) and np.allclose(within[middle], abs(at)))
    True
    """
    prior = models.LpNested((p0, [1, (p1, [2])]))
    at = np.linspace(-REACH, REACH, SIDE)
    first, second = (torch.from_numpy(one) for one in np.meshgrid(at, at))
    none = torch.zeros_like(first)
    with torch.no_grad():
        across = prior.norm(torch.stack([first, second, none], dim=-1)).numpy()
        within = prior.norm(torch.stack([none, first, second], dim=-1)).numpy()
    return at, across, within


def _contours(axis: Any, p0: float, p1: float) -> None:
    at, across, within = contour_levels(p0, p1)
    for values, color, style in (
        (across, plots.FACTOR_COLORS[0], "solid"),
        (within, plots.FACTOR_COLORS[1], "dashed"),
    ):
        axis.contour(at, at, values, [0.5, 1.0], colors=[color], linestyles=style, linewidths=1.4)
    axis.set_title(f"p0 = {p0:g}, p1 = {p1:g}", loc="left", fontsize=10)
    axis.set(aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    if (p0, p1) == (EXPONENTS[-1], EXPONENTS[0]):
        axis.set_xlabel("solid: z1 and z2, of two subspaces\ndashed: z2 and z3, of one", fontsize=8)


def _places(axis: Any, p: float, name: str) -> None:
    """Level lines of two independent latents, with the square of places turned to fit them."""
    prior = models.LpNested((p, [2]))
    at = np.linspace(-1.7, 1.7, SIDE)
    grid = torch.stack([torch.from_numpy(one) for one in np.meshgrid(at, at)], dim=-1)
    with torch.no_grad():
        values = prior.norm(grid).numpy()
    axis.contour(at, at, values, [0.4, 0.8, 1.2], colors=[plots.FAINT], linewidths=1.2)
    angle = fitting_angle(prior)
    corners = 0.85 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]).T
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    axis.plot(*(turn @ corners), color=plots.ACCENT, lw=1.6)
    axis.set_title(
        f"{name}: the square of places\nfits best turned by {np.degrees(angle):.0f}°",
        loc="left",
        fontsize=9,
    )
    axis.set(aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])


def fitting_angle(prior: models.LpNested, angles: Sequence[float] | None = None) -> float:
    """Angle, in radians, at which a square of places is likeliest under a prior of two latents.

    The square is even, of the variance of the standard normal; 0 is along the axes.

    Examples
    --------
    >>> round(np.degrees(fitting_angle(models.LpNested((1.0, [2])))))
    45
    >>> round(np.degrees(fitting_angle(models.LpNested((9.0, [2])))))
    0
    """
    tried = np.radians(np.arange(0, 46, 5)) if angles is None else np.asarray(angles)
    side = np.sqrt(3) * np.linspace(-1, 1, 41) * 0.5
    square = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    found = []
    for angle in tried:
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        with torch.no_grad():
            found.append(float(prior.log_prob(torch.from_numpy(square @ turn)).mean()))
    return float(tried[int(np.argmax(found))])


def _tree(axis: Any, children: list[tuple[str, int]], title: str, single: bool = False) -> None:
    """A root over subspaces over latents; the first child of a single tree is a latent itself."""
    leaves = sum(count for _, count in children)
    places, start = [], 0
    root = ((leaves - 1) / 2, 2.0)
    number = 1
    for j, (name, count) in enumerate(children):
        own = [start + i for i in range(count)]
        start += count
        middle = float(np.mean(own))
        leaf = single and j == 0
        label = name if not single else "p1"
        inner = (middle, 1.0)
        if not leaf:
            axis.plot([root[0], inner[0]], [root[1], inner[1]], color=plots.INK, lw=1)
            axis.text(*inner, label, ha="center", va="center", fontsize=9, bbox=_box())
        for x in own:
            above = root if leaf else inner
            axis.plot([above[0], x], [above[1], 0.0], color=plots.INK, lw=1)
            places.append((x, f"z{number}"))
            number += 1
    for x, label in places:
        axis.text(x, 0.0, label, ha="center", va="center", fontsize=9, bbox=_box())
    axis.text(*root, "p0", ha="center", va="center", fontsize=9, bbox=_box())
    axis.set(xlim=(-0.6, leaves - 0.4), ylim=(-0.4, 2.4))
    axis.set_axis_off()
    axis.set_title(title, loc="left", fontsize=9)


def _box() -> dict[str, Any]:
    return {"boxstyle": "round", "facecolor": "white", "edgecolor": plots.FAINT}
