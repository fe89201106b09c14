"""Splitting the flat part: direction errors of whole fits over five seeds, beside what is asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._measure import write_table
from geodis import GeoManCER, product_manifold, subspace_angles
from geodis.data.manifolds.directions import random_rotations
from geodis.data.manifolds.flat_products import FlatCase, bent_sample, flat_sample, grid_coordinates

SEEDS = range(5)
Drawn = tuple[np.ndarray, list[np.ndarray]]


def named(case: FlatCase, n: int, noise: float = 0.0) -> Callable[[int], Drawn]:
    def draw(seed: int) -> Drawn:
        sample = flat_sample(case, n, noise=noise, random_state=seed)
        return sample.points, sample.tangents

    return draw


def grid(sizes: tuple[int, ...], step: float) -> Callable[[int], Drawn]:
    def draw(seed: int) -> Drawn:
        turn = random_rotations(1, len(sizes), np.random.default_rng(seed))[0]
        sample = bent_sample(grid_coordinates(sizes, step=step), (1,) * len(sizes), rotation=turn)
        return sample.points, sample.tangents

    return draw


def roll_beside_a_sphere(n: int) -> Callable[[int], Drawn]:
    def draw(seed: int) -> Drawn:
        u = np.random.default_rng(seed).uniform(size=(n, 2)) * [16, 2]
        roll = bent_sample(u, (1, 1), scale=0.25, straight=(1,))
        sphere = product_manifold("S^2", n, random_state=seed + 100)
        points = np.hstack([sphere.points, roll.points])
        tangents = [np.pad(sphere.tangents[0], ((0, 0), (0, 0), (0, 4)))]
        return points, tangents + [np.pad(t, ((0, 0), (0, 0), (3, 0))) for t in roll.tangents]

    return draw


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    draw: Callable[[int], Drawn]
    asked: float | str  # degrees, or what is to be found


CASES = {
    "rectangle 1 x 3, n = 2,000": Case(named("rectangle", 2000), 0.5),
    "Swiss roll, n = 2,000": Case(named("swiss roll", 2000), 0.3),
    "box, n = 2,000": Case(named("box", 2000), 2.0),
    "box, n = 10,000": Case(named("box", 10_000), 0.6),
    "exponential, n = 2,000": Case(named("exponential", 2000), 2.0),
    "circle x interval, n = 2,000": Case(named("circle x interval", 2000), 1.0),
    "equal Gaussians, n = 2,000": Case(named("equal Gaussians", 2000), "refused"),
    "disc x interval, n = 2,000": Case(named("disc x interval", 2000), "2 + 1"),
    "grid 32 x 32 x 6": Case(grid((32, 32, 6), 0.03), 1.0),
    "Swiss roll 16 x 2 x S^2, n = 10,000": Case(roll_beside_a_sphere(10_000), 0.5),
    "box, noise .03, n = 2,000": Case(named("box", 2000, 0.03), "below Isomap + ICA"),
}


def row(name: str, case: Case) -> dict[str, Any]:
    errors, seconds, outcomes = [], [], []
    for seed in SEEDS:
        points, tangents = case.draw(seed)
        begun = time.perf_counter()
        est = GeoManCER(sum(t.shape[1] for t in tangents), verbose=0).fit(points)
        seconds.append(time.perf_counter() - begun)
        own = [est.subspace(j) for j in range(est.n_factors_)]
        errors.append(np.degrees(subspace_angles(own, tangents).mean()))
        refused = est.flat_evidence_ is not None and est.flat_evidence_.refused
        outcomes.append("refused" if refused else " + ".join(map(str, est.factor_dims_)))
    return {
        "sample": name,
        "asked": case.asked,
        "found": ", ".join(f"{what} ({outcomes.count(what)})" for what in dict.fromkeys(outcomes)),
        "median, degrees": None if set(outcomes) == {"refused"} else float(np.median(errors)),
        "largest, degrees": None if set(outcomes) == {"refused"} else max(errors),
        "median s": float(np.median(seconds)),
    }


def main() -> None:
    rows = [row(name, case) for name, case in CASES.items()]
    print(write_table("flat_accuracy", "Flat factors: errors over five seeds", rows))


if __name__ == "__main__":
    main()
