"""Walks along one factor: how far the others move, and whether the one moves as far as it should.

A place is brought back to the true coordinates by undoing the embedding. "Leak" is how far the
factors that should stay are from the true start, in radians, root mean square over the places of
twelve walks along every factor; "moved" the same beside where the first place is: with noise, the
start itself is known only up to the noise along the manifold. "Length" is by how much the moved
factor went too far.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks._measure import write_table
from geodis import GeoManCER, Scenes, product_manifold
from geodis.data.manifolds.directions import random_rotations

SEEDS = range(5)
STARTS, STEPS, ANGLE = 12, 9, 1.5
# Columns of the true coordinates, and how long a radian is.
WIDTHS = {"S^2": 3, "SO(3)": 9, "S^1": 2}
RADIAN = {"S^2": 1.0, "SO(3)": np.sqrt(2), "S^1": 1.0}
DIMS = {"S^2": 2, "SO(3)": 3, "S^1": 1}
WIDTH, COMPONENTS = 32, 20

Undo = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Case:
    """A row of the table.

    Attributes
    ----------
    spec : str
    n : int
    noise : float
        Standard deviation in every column.
    bent : float
        Curvature of circles that the turned columns are wound on: isometric, and no product.
    warp : float
        The second factor is larger where the first is high, by this share: no product at all.
    asked : float or None
        Leak, at most.
    """

    spec: str
    n: int
    noise: float = 0.0
    bent: float = 0.0
    warp: float = 0.0
    asked: float | None = None

    @property
    def kind(self) -> str:
        """How it is embedded."""
        given = {"noise": self.noise, "bent": self.bent, "warp": self.warp}
        return ", ".join(f"{name} {value:g}" for name, value in given.items() if value) or "clean"


CASES = [
    Case("S^2 x S^2", 4000, asked=0.02),
    Case("S^2 x S^2", 4000, noise=0.03, asked=0.06),
    Case("S^2 x S^2", 4000, bent=0.5, asked=0.02),
    Case("S^2 x S^2", 4000, warp=0.15, asked=0.02),
    Case("S^2 x SO(3)", 6000, asked=0.02),
    Case("S^2 x SO(3)", 6000, noise=0.03, asked=0.06),
    Case("S^2 x SO(3)", 6000, bent=0.5, asked=0.02),
    Case("S^2 x S^1", 4000, asked=0.02),
    Case("S^2 x S^1", 4000, noise=0.03, asked=0.06),
]


def embedded(case: Case, true: np.ndarray, seed: int) -> tuple[np.ndarray, Undo]:
    """The points of a case, and what brings points back to true coordinates."""
    rng = np.random.default_rng([seed, 1])
    points, undo = true, lambda x: x
    if case.warp:
        scale = 1 + case.warp * true[:, 2:3]
        points = np.hstack([true[:, :3], scale * true[:, 3:]])  # its length is undone at reading
    if case.bent:
        turn, a = random_rotations(1, points.shape[1], rng)[0], case.bent
        z = a * points @ turn
        points = np.hstack([np.sin(z), 1 - np.cos(z)]) / a

        def undo(x: np.ndarray) -> np.ndarray:
            half = x.shape[1] // 2
            return np.arctan2(a * x[:, :half], 1 - a * x[:, half:]) @ turn.T / a

    return points + case.noise * rng.standard_normal(points.shape), undo


def parts(names: Sequence[str], true: np.ndarray) -> list[np.ndarray]:
    """True coordinates by factor, brought onto it."""
    stops = np.cumsum([WIDTHS[name] for name in names])[:-1]
    return [on(name, own) for name, own in zip(names, np.split(true, stops, axis=1), strict=True)]


def on(name: str, own: np.ndarray) -> np.ndarray:
    """The nearest places of a sphere, a circle or the rotations."""
    if name != "SO(3)":
        return own / np.linalg.norm(own, axis=1, keepdims=True)
    u, _, v = np.linalg.svd(own.reshape(-1, 3, 3))
    u[:, :, 2] *= np.linalg.det(u @ v)[:, None]
    return (u @ v).reshape(-1, 9)


def angles(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Radians between places."""
    if name == "SO(3)":
        between = a.reshape(-1, 3, 3) @ np.swapaxes(b.reshape(-1, 3, 3), 1, 2)
        return Rotation.from_matrix(between).magnitude()
    return 2 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))


def measured(
    est: GeoManCER, names: Sequence[str], true: np.ndarray, undo: Undo, seed: int
) -> dict[str, Any]:
    """What walks along all factors do to the true coordinates."""
    rng = np.random.default_rng([seed, 2])
    leaks, moves, errors, seconds, gaps = [], [], [], [], []
    starts = rng.choice(len(true), STARTS, replace=False)
    for found in range(est.n_factors_):
        for start in starts:
            direction = rng.standard_normal(est.factor_dims_[found])
            asked = ANGLE * max(RADIAN[n] for n in names if DIMS[n] == est.factor_dims_[found])
            begun = time.process_time()
            walk = est.walk(int(start), found, direction=direction, length=asked, steps=STEPS)
            seconds.append(time.process_time() - begun)
            shown, begin = parts(names, undo(walk.points)), parts(names, true[[start]])
            gone = [angles(name, own, own[:1])[-1] for name, own in zip(names, shown, strict=True)]
            moved = int(np.argmax(gone))
            errors.append(gone[moved] / ANGLE - 1)
            gaps.append((walk.gap / walk.spacing).max())
            for name, own, at in zip(names, shown, begin, strict=True):
                if own is not shown[moved]:
                    leaks.append(angles(name, own, at))
                    moves.append(angles(name, own, own[:1])[1:])
    return {
        "doubted": float(est.uncertain_),
        "leak": root_mean_square(leaks),
        "largest": float(np.max(np.concatenate(leaks))),
        "moved": root_mean_square(moves),
        "length, %": 100 * float(np.mean(errors)),
        "length, rms %": 100 * root_mean_square([np.array(errors)]),
        "gap, spacings": float(np.max(gaps)),
        "CPU s a walk": float(np.median(seconds)),
    }


def root_mean_square(values: Sequence[np.ndarray]) -> float:
    return float(np.sqrt(np.mean(np.concatenate(values) ** 2)))


def row(case: Case) -> dict[str, Any]:
    told = []
    for seed in SEEDS:
        sample = product_manifold(case.spec, case.n, random_state=seed)
        points, undo = embedded(case, sample.points, seed)
        told.append(measured(fitted(points, sample.names), sample.names, sample.points, undo, seed))
    return {"product": case.spec, "n": case.n, "kind": case.kind, "asked": case.asked} | over(told)


def fitted(points: np.ndarray, names: Sequence[str]) -> GeoManCER:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GeoManCER(sum(DIMS[name] for name in names), len(names), verbose=0).fit(points)


def over(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over the seeds, and of what is a largest the largest."""
    return {
        name: (np.max if name in ("largest", "gap, spacings") else np.mean)(
            [one[name] for one in told]
        ).item()
        for name in told[0]
    }


def code_row() -> dict[str, Any]:
    """The object turns and the light stays, or the other way, in codes that were wound."""
    case, told = Case("SO(3) x S^2", 6000, bent=0.5, asked=0.02), []
    names = ("SO(3)", "S^2")
    for seed in SEEDS:
        sample = Scenes(8, n_jobs=1).sample(case.n, random_state=seed)
        points, undo = embedded(case, sample.points, seed)
        told.append(measured(fitted(points, names), names, sample.points, undo, seed))
    named = {"product": "scenes: codes", "n": case.n, "kind": case.kind, "asked": case.asked}
    return named | over(told)


def image_row() -> dict[str, Any]:
    """Components of images of an object that turns around one axis under a light that goes around.

    They are no product, which the fit says: the light changes an image by as much as the side
    that it falls on lets it.
    """
    names, n, told = ("S^1", "S^1"), 2500, []
    for seed in SEEDS:
        images, true = turning_and_lit(n, seed)
        points, undo = components(images, true)
        told.append(measured(fitted(points, names), names, true, undo, seed))
    known = [{name: value for name, value in one.items() if "length" not in name} for one in told]
    named = {"product": "scenes: images, S^1 x S^1", "n": n, "kind": f"{COMPONENTS} components"}
    return named | over(known)


def turning_and_lit(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, pixels) of an object that turns under a light that goes around, and both."""
    turn, light = np.random.default_rng(seed).uniform(0, 2 * np.pi, (2, n))
    tilt = Rotation.from_rotvec([0.5, 0, 0])
    turns = (tilt * Rotation.from_rotvec(turn[:, None] * [0, 1, 0])).as_matrix()
    lights = np.stack([0.8 * np.cos(light), 0.8 * np.sin(light), np.full(n, 0.6)], axis=1)
    images = Scenes(WIDTH, n_jobs=1).render(turns, lights, "float32", verbose=False)
    true = np.stack([np.cos(turn), np.sin(turn), np.cos(light), np.sin(light)], axis=1)
    return images.reshape(n, -1).astype(float), true


def components(images: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, Undo]:
    """First principal components, and what reads true coordinates: a local linear regression."""
    left, size, _ = np.linalg.svd(images - images.mean(axis=0), full_matrices=False)
    points = left[:, :COMPONENTS] * size[:COMPONENTS]

    def undo(places: np.ndarray) -> np.ndarray:
        near = np.argsort(((places[:, None] - points) ** 2).sum(axis=2), axis=1)[:, :12]
        read = []
        for place, rows in zip(places, near, strict=True):
            offsets = points[rows] - place
            along = np.linalg.svd(offsets - offsets.mean(axis=0), full_matrices=False)[2][:2]
            design = np.column_stack([np.ones(len(rows)), offsets @ along.T])
            read.append(np.linalg.lstsq(design, true[rows], rcond=None)[0][0])
        return np.array(read)

    return points, undo


def main() -> None:
    rows = [row(case) for case in CASES]
    rows += [code_row(), image_row()]
    print(write_table("walks", "Walks: what stays, and what moves, over five seeds", rows))


if __name__ == "__main__":
    main()
