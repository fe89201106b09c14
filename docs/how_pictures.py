"""The pictures of the page that explains GeoManCER, drawn from its own steps.

A hook of MkDocs; they are drawn once, and again when this file changes:
`python docs/how_pictures.py` draws them.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "pages" / "figures" / "how"
N = 700


def on_pre_build(config: Any) -> None:
    """Draw them before the pages are collected, unless they are there."""
    made = FOLDER / "made"
    if not made.exists() or made.stat().st_mtime < Path(__file__).stat().st_mtime:
        draw_all(FOLDER)
        made.touch()


def draw_all(folder: Path, n: int = N) -> None:
    """Draw every picture; `n` points make the shapes."""
    from geodis import plots

    folder.mkdir(parents=True, exist_ok=True)
    drawn = {"neighbours": neighbours(n), "tangents": tangents(n), "transport": transport(4 * n)}
    drawn |= product_pictures(3 * n)
    for name, axis in drawn.items():
        suffix = "svg" if name in ("fields", "spectrum") else "png"  # many points are large as SVG
        plots.save_figure(axis, folder / f"{name}.{suffix}")


def sphere(n: int) -> np.ndarray:
    """Points on a sphere, shape (n, 3)."""
    import geodis as gd

    return gd.product_manifold("S^2", n=n, random_state=0).points


def cylinder(n: int) -> np.ndarray:
    """Points on a cylinder, shape (n, 3): a circle times an interval."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle), rng.uniform(-1.2, 1.2, n)])


# Seen from the front and a little from above.
TURN, RISE = 0.5, 0.45
VIEW = np.array(
    [
        [np.cos(TURN), -np.sin(TURN), 0],
        [np.sin(TURN) * np.sin(RISE), np.cos(TURN) * np.sin(RISE), np.cos(RISE)],
        [-np.sin(TURN) * np.cos(RISE), -np.cos(TURN) * np.cos(RISE), np.sin(RISE)],
    ]
)


def panels(*titles: str) -> Any:
    """Empty square panels with titles, side by side."""
    from geodis import plots

    axes = plots.new_axes(1, len(titles), 3.6 * len(titles), 3.9)[0]
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_aspect("equal")
        axis.set_axis_off()
    return axes


def dots(axis: Any, points: np.ndarray, color: str, size: float = 5.0) -> np.ndarray:
    """Draw points, those behind paler; return which are in front."""
    seen = points @ VIEW.T
    outwards = points * [1, 1, abs(np.linalg.norm(points[0]) - 1) < 1e-6]  # of a cylinder, level
    front = outwards @ VIEW[2] > 0
    axis.scatter(*seen[~front, :2].T, s=size, color=color, alpha=0.18, linewidths=0)
    axis.scatter(*seen[front, :2].T, s=size, color=color, linewidths=0)
    return front


def spread_out(points: np.ndarray, shown: np.ndarray, count: int = 60) -> np.ndarray:
    """Some of the points that are shown, each far from all before it."""
    rows = np.flatnonzero(shown)
    chosen = [rows[0]]
    gap = np.full(len(rows), np.inf)
    for _ in range(min(count, len(rows)) - 1):
        gap = np.minimum(gap, np.linalg.norm(points[rows] - points[chosen[-1]], axis=1))
        chosen.append(rows[int(np.argmax(gap))])
    return np.array(chosen)


def lines(axis: Any, start: np.ndarray, stop: np.ndarray, **look: Any) -> None:
    """Draw a segment for each row."""
    from matplotlib.collections import LineCollection

    pairs = np.stack([start @ VIEW.T, stop @ VIEW.T], axis=1)[:, :, :2]
    axis.add_collection(LineCollection(list(pairs), **look))
    axis.autoscale_view()


def neighbours(n: int) -> Any:
    """The graph of neighbours, and those of one point."""
    import geodis as gd
    from geodis import plots

    points = sphere(n)
    near = gd.nearest_neighbors(points, 8)
    axes = panels("every point and its neighbours", "one point and its neighbours")
    front = dots(axes[0], points, plots.INK)
    own = np.repeat(np.arange(n), 8)
    other = near.indices.ravel()
    shown = front[own] & front[other]
    look = {"color": plots.FAINT, "linewidths": 0.35}
    lines(axes[0], points[own[shown]], points[other[shown]], **look)
    middle = int(np.argmax(points @ VIEW[2]))
    dots(axes[1], points, plots.FAINT)
    lines(axes[1], points[[middle] * 8], points[near.indices[middle]], color=plots.ACCENT)
    dots(axes[1], points[near.indices[middle]], plots.ACCENT, 20.0)
    dots(axes[1], points[[middle]], plots.INK, 45.0)
    return axes[0]


def frames_of(points: np.ndarray) -> np.ndarray:
    """Tangent frames, shape (n, 2, 3)."""
    import geodis as gd

    return gd.manifold.tangent_frames(points, gd.nearest_neighbors(points, 20), 2).frames


def tangents(n: int) -> Any:
    """A frame at every few points."""
    from geodis import plots

    axes = panels("a frame of two directions at every point", "the same on a cylinder")
    for axis, points in zip(axes, (sphere(n), cylinder(n)), strict=True):
        frames = frames_of(points)
        front = dots(axis, points, plots.FAINT)
        some = spread_out(points, front)
        for direction, color in enumerate(plots.FACTOR_COLORS[:2]):
            arm = 0.13 * frames[some, direction]
            lines(axis, points[some] - arm, points[some] + arm, color=color, linewidths=1.6)
    return axes[0]


def transport(n: int) -> Any:
    """An arrow carried around a loop: on a sphere it comes back turned, on a cylinder not."""
    from geodis import plots

    steps = np.linspace(0, 1, 15)[:-1, None]
    corners = np.array([VIEW[2] + side for side in (1.1 * VIEW[1], -VIEW[1] + VIEW[0],
                                                    -VIEW[1] - VIEW[0])])  # fmt: skip
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    ends = np.roll(corners, -1, axis=0)
    loop = np.vstack([a + steps * (b - a) for a, b in zip(corners, ends, strict=True)])
    towards = np.arctan2(VIEW[2, 1], VIEW[2, 0])
    angle, height = np.array([[-0.6, 0.6, 0.6, -0.6], [-0.7, -0.7, 0.7, 0.7]])
    square = np.column_stack([np.cos(towards + angle), np.sin(towards + angle), height])
    ends = np.roll(square, -1, axis=0)
    around = np.vstack([a + steps * (b - a) for a, b in zip(square, ends, strict=True)])
    turned = []
    axes = panels("", "")
    for axis, points, wanted in zip(axes, (sphere(n), cylinder(n)), (loop, around), strict=True):
        frames = frames_of(points)
        near = ((wanted[:, None] - points) ** 2).sum(axis=2).argmin(axis=1)
        path = np.append(near, near[0])
        arrow = [frames[path[0]] @ VIEW[1]]
        arrow[0] = arrow[0] / np.linalg.norm(arrow[0])
        for before, after in pairwise(path):
            u, _, v = np.linalg.svd(frames[after] @ frames[before].T)
            arrow.append(u @ v @ arrow[-1])  # the nearest rotation between the two frames
        dots(axis, points[:: max(1, n // 900)], plots.FAINT, 3.0)
        lines(axis, points[path[:-1]], points[path[1:]], color=plots.FAINT, linewidths=1.0)
        for place in range(0, len(path) - 1, 3):
            draw_arrow(axis, points[path[place]], frames[path[place]].T @ arrow[place], plots.INK)
        start, stop = (points[path[0]], frames[path[0]].T @ arrow[-1])
        draw_arrow(axis, start, stop, plots.ACCENT)
        turned.append(np.degrees(np.arccos(np.clip(arrow[0] @ arrow[-1], -1, 1))))
    axes[0].set_title(f"sphere: back (red) turned by {turned[0]:.0f} degrees", loc="left",
                      fontsize=10)  # fmt: skip
    axes[1].set_title(f"cylinder: back turned by {turned[1]:.0f} degrees", loc="left", fontsize=10)
    return axes[0]


def draw_arrow(axis: Any, start: np.ndarray, arrow: np.ndarray, color: str) -> None:
    """An arrow in space."""
    foot, tip = start @ VIEW.T, (start + 0.3 * arrow) @ VIEW.T
    style = {"arrowstyle": "-|>", "color": color, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", xy=tip[:2], xytext=foot[:2], arrowprops=style)


def product_pictures(n: int) -> dict[str, Any]:
    """From the field that no loop turns to the maps, on a sphere times a circle."""
    import geodis as gd
    from geodis import plots
    from geodis.manifold.holonomy.connection import connection
    from geodis.manifold.holonomy.laplacian import unvec_symmetric

    points = gd.product_manifold("S^2 x S^1", n=n, rotate=True, random_state=0).points
    near = gd.nearest_neighbors(points, 20)
    frames = gd.manifold.tangent_frames(points, near, 3).frames
    graph = gd.neighbor_graph(points, 10)
    laplacian = gd.manifold.ConnectionLaplacian(graph, connection(frames, graph))
    fields = gd.manifold.bottom_eigenfields(laplacian, random_state=0)
    matrices = unvec_symmetric(fields.fields[:, :, 0].astype(float), 3)
    found = gd.manifold.factor_axes(fields, random_state=0).axes
    drawn = {"fields": field_matrices(matrices, found)}
    est = gd.GeoManCER(verbose=0, random_state=0).fit(points)
    drawn["spectrum"] = plots.plot_eigenvalue_spectrum(est)
    drawn["maps"] = plots.plot_maps(est)
    flat = cylinder(n)
    drawn["axes"] = axes_of_factors(flat, gd.GeoManCER(verbose=0, random_state=0).fit(flat))
    return drawn


def field_matrices(matrices: np.ndarray, axes: np.ndarray) -> Any:
    """The bottom field at five points, in the frames as they are and in the axes found."""
    from geodis import plots

    some = np.linspace(0, len(matrices) - 1, 5).astype(int)
    grid = plots.new_axes(2, len(some), 7.4, 3.6)
    turned = axes @ matrices @ np.swapaxes(axes, 1, 2)
    most = abs(matrices[some]).max()
    for row, (name, values) in enumerate((("in its frame", matrices), ("turned", turned))):
        for axis, place in zip(grid[row], some, strict=True):
            axis.imshow(values[place], cmap="RdBu_r", vmin=-most, vmax=most)
            axis.set_xticks([])
            axis.set_yticks([])
        grid[row, 0].set_ylabel(name)
    for axis, place in zip(grid[0], some, strict=True):
        axis.set_title(f"point {place:,}", fontsize=9)
    return grid[0, 0]


def axes_of_factors(points: np.ndarray, est: Any) -> Any:
    """Frames before the split, and axes after it."""
    from geodis import plots

    frames = frames_of(points)
    axes = panels("before: any two directions", "after: the axes of the two factors")
    for axis, own in zip(axes, (frames, est.axes_), strict=True):
        front = dots(axis, points, plots.FAINT, 3.0)
        some = spread_out(points, front)
        for direction, color in enumerate(plots.FACTOR_COLORS[:2]):
            arm = 0.13 * own[some, direction]
            lines(axis, points[some] - arm, points[some] + arm, color=color, linewidths=1.6)
    return axes[0]


if __name__ == "__main__":
    draw_all(FOLDER)
