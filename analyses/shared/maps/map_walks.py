"""Walks along one factor while the others stay, and how far these move on the true coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from analyses.shared.model_runs import Row
from benchmarks.map_cases.cases import BEND, Kind, MapSample
from benchmarks.map_cases.ours import OwnMaps
from geodis import Scenes, plots

STARTS, STEPS, LENGTH = 12, 9, 1.5
READ_FROM = 40  # codes around a place that tell what it shows

Reader = Callable[[np.ndarray], list[np.ndarray]]  # points (s, d) -> true coordinates by factor


@dataclass(frozen=True, eq=False)
class Strip:
    """True coordinates along one walk, by factor, for a picture."""

    factor: str
    coordinates: list[np.ndarray]


def straightened(points: np.ndarray, kind: Kind) -> np.ndarray:
    """Undo the winding of points that were bent: the angle on every column's circle."""
    if kind not in BEND:
        return points
    a, half = BEND[kind], points.shape[1] // 2
    return np.arctan2(a * points[:, :half], 1 - a * points[:, half:]) / a


def exact_reader(sample: MapSample, kind: Kind) -> Reader:
    """True coordinates of places of a product: its own turn of the space is undone."""
    sides = np.hstack(sample.coordinates)
    flat = straightened(sample.points, kind)
    back = np.linalg.lstsq(flat, sides, rcond=None)[0]
    stops = np.cumsum(sample.widths)[:-1]
    return lambda points: np.split(straightened(points, kind) @ back, stops, axis=1)


def local_reader(sample: MapSample) -> Reader:
    """True coordinates of places among codes: a local linear regression on the nearest codes."""
    sides, tree = np.hstack(sample.coordinates), cKDTree(sample.points)
    dim, stops = sum(sample.dims), np.cumsum(sample.widths)[:-1]

    def read(points: np.ndarray) -> list[np.ndarray]:
        near = tree.query(points, READ_FROM + 1)[1]
        read_off = []
        for place, rows in zip(points, near, strict=True):
            # A code that is a sample itself must not be read from its own label.
            apart = sample.points[rows] - place
            rows = rows[np.argsort((apart**2).sum(axis=1))]
            rows = rows[1:] if np.allclose(sample.points[rows[0]], place) else rows[:-1]
            centre = sample.points[rows].mean(axis=0)
            along = np.linalg.svd(sample.points[rows] - centre, full_matrices=False)[2][:dim]
            design = np.column_stack([np.ones(len(rows)), (sample.points[rows] - place) @ along.T])
            read_off.append(np.linalg.lstsq(design, sides[rows], rcond=None)[0][0])
        return np.split(np.array(read_off), stops, axis=1)

    return read


def on_factor(name: str, coordinates: np.ndarray) -> np.ndarray:
    """The nearest points of a factor, where it is a sphere, a circle or the rotations."""
    if name == "SO(3)":
        u, _, v = np.linalg.svd(coordinates.reshape(-1, 3, 3))
        u[:, :, 2] *= np.linalg.det(u @ v)[:, None]
        return (u @ v).reshape(-1, 9)
    if name.startswith("S^") or name == "circle":
        return coordinates / np.linalg.norm(coordinates, axis=1, keepdims=True)
    return coordinates


def walked(
    sample: MapSample, own: OwnMaps, read: Reader, seed: int
) -> tuple[list[Row], list[Strip]]:
    """Walk from some points along every factor: how far the others move, and one walk of each.

    What moves is measured as geodesic distance between the true coordinates that a place shows
    and those of the start.
    """
    rng = np.random.default_rng([seed, 6])
    there = np.isfinite(np.hstack(own.maps)).all(axis=1)
    starts = rng.choice(np.flatnonzero(there), STARTS, replace=False)
    rows, strips = [], []
    for j, (factor, i) in enumerate(zip(sample.factors, own.found, strict=True)):
        if i is None:
            continue
        moved, leaked, gaps, stopped = [], [], [], 0
        for start in starts:
            direction = rng.standard_normal(factor.dim)
            walk = own.est.walk(int(start), i, direction=direction, length=LENGTH, steps=STEPS)
            shown = [
                on_factor(f.name, coordinates)
                for f, coordinates in zip(sample.factors, read(walk.points), strict=True)
            ]
            away = [
                f.distances(c[start : start + 1], s)[0]
                for f, c, s in zip(sample.factors, sample.coordinates, shown, strict=True)
            ]
            moved.append(away[j][-1])
            leaked.append(np.max([a for k, a in enumerate(away) if k != j], axis=0)[1:])
            gaps.append((walk.gap / walk.spacing).max())
            stopped += walk.stopped is not None
            if start == starts[0]:
                strips.append(Strip(factor.name, shown))
        together = np.concatenate(leaked)
        rows.append(
            {
                "index": j,
                "leak": float(np.sqrt((together**2).mean())),
                "most": float(together.max()),
                "moved": float(np.median(moved)),
                "gap": float(np.median(gaps)),
                "stopped": f"{stopped} of {STARTS}",
            }
        )
    return rows, strips


def reading_error(sample: MapSample, read: Reader, seed: int) -> list[float]:
    """How far from the truth a reader is at samples, root mean square by factor."""
    rows = np.random.default_rng([seed, 7]).choice(len(sample.points), 200, replace=False)
    errors = []
    for factor, true, shown in zip(
        sample.factors, sample.coordinates, read(sample.points[rows]), strict=True
    ):
        own = on_factor(factor.name, shown)
        away = [
            factor.distances(a[None], b[None])[0, 0] for a, b in zip(true[rows], own, strict=True)
        ]
        errors.append(float(np.sqrt(np.mean(np.square(away)))))
    return errors


def add_walks(row: Row, sample: MapSample, own: OwnMaps, read: Reader, seed: int) -> list[Strip]:
    """Put what walks do into the parts of a row of the analysis; the first walk of each factor."""
    rows, strips = walked(sample, own, read, seed)
    reading = reading_error(sample, read, seed)
    for walk in rows:
        others = [error for k, error in enumerate(reading) if k != walk["index"]]
        row["factors"][walk["index"]]["walk"] = {**walk, "reading": max(others)}
    return strips


def draw_strips(strips: Sequence[Strip], path: Any, title: str) -> None:
    """Render what the places of walks through scenes show: a row a factor."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.1 * STEPS, 1.5 * len(strips)), layout="constrained")
    panels = figure.subplots(len(strips), STEPS, squeeze=False)
    names = {"SO(3)": "the object turns", "S^2": "the light moves"}
    for line, strip in zip(panels, strips, strict=True):
        turns, lights = strip.coordinates
        images = Scenes(64, n_jobs=1).render(turns.reshape(-1, 3, 3), lights, verbose=0)
        for axis in line:
            axis.axis("off")
        for axis, image in zip(line, images, strict=False):
            axis.imshow(image.squeeze(), cmap="gray", vmin=0, vmax=255)
        line[0].set_title(names[strip.factor], loc="left", fontsize=9)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    plots.save_figure(panels[0][0], path)
