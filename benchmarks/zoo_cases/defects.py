"""Samples with defects: pieces, mixtures, near and exact copies, outliers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.zoo_cases.case import Case, Dims, family
from benchmarks.zoo_cases.clouds import Cloud, below, product


def apart(spec: str, sizes: tuple[int, ...], gap: float, seed: int) -> Cloud:
    """Pieces of one product, each `gap` from the one before along the first column."""
    steps = np.eye(1, product(spec, 1, 0).points.shape[1])[0] * gap
    pieces = [product(spec, n, seed + j).moved(j * steps) for j, n in enumerate(sizes)]
    return below(*pieces)


@family("pieces", "tuning")
def pieces() -> Iterator[Case]:
    two = "S^2 x S^2"
    yield Case("two halves of S^2 x S^2", partial(apart, two, (2000, 2000), 6.0), ((2, 2),))
    yield Case("three unequal of S^2 x S^2", partial(apart, two, (3000, 800, 400), 6.0), ((2, 2),))
    yield Case("four of S^2 x S^1", partial(apart, "S^2 x S^1", (1000,) * 4, 5.0), ((2, 1),))
    yield Case("two of S^3", partial(apart, "S^3", (1500, 1500), 5.0), ((3,),))


def together(first: str, second: str, sizes: tuple[int, int], gap: float, seed: int) -> Cloud:
    """Two different manifolds in one space, the second moved along the last column."""
    clouds = [product(first, sizes[0], seed), product(second, sizes[1], seed + 1)]
    d = max(cloud.points.shape[1] for cloud in clouds)
    wide = [np.pad(c.points, ((0, 0), (0, d - c.points.shape[1]))) for c in clouds]
    wide[1][:, -1] += gap
    return Cloud(np.vstack(wide))


def crossing_planes(seed: int) -> Cloud:
    square = np.random.default_rng(seed).uniform(-1, 1, (3000, 2))
    flat = np.pad(square, ((0, 0), (0, 1)))
    flat[1500:] = flat[1500:, [0, 2, 1]]
    return Cloud(flat)


@family("mixtures", "held-out")
def mixtures() -> Iterator[Case]:
    made: dict[str, tuple[str, str, tuple[int, int], float]] = {
        "circle and S^2 apart": ("S^1", "S^2", (1500, 1500), 4.0),
        "S^2 x S^2 and S^4 apart": ("S^2 x S^2", "S^4", (2000, 2000), 6.0),
        "S^3 and S^2 meeting": ("S^3", "S^2", (1500, 1500), 0.0),
        "S^2 x S^1 and S^2 apart": ("S^2 x S^1", "S^2", (1500, 1500), 5.0),
    }
    for title, (first, second, sizes, gap) in made.items():
        yield Case(title, partial(together, first, second, sizes, gap), ())
    yield Case("two planes crossing", crossing_planes, ())


def copied(spec: str, n: int, copies: int, jitter: float, share: float, seed: int) -> Cloud:
    """A share of the rows `copies` times, in random order, each moved by `jitter`."""
    cloud, rng = product(spec, n, seed), np.random.default_rng([seed, 8])
    extra = np.tile(np.arange(round(share * n)), copies - 1)
    rows = rng.permutation(np.concatenate([np.arange(n), extra]))
    again = cloud.rows(rows)
    return again.moved(jitter * rng.standard_normal(again.points.shape))


def copies_of(title: str, spec: str, n: int, dims: Dims, copies: int, jitter: float) -> Case:
    draw = partial(copied, spec, n, copies, jitter, 1.0)
    return Case(f"{spec}, {title}", draw, (dims,))


@family("near copies", "tuning")
def near_copies() -> Iterator[Case]:
    for jitter in (1e-9, 1e-6, 1e-3):
        title = f"every row twice, jitter {jitter:g}"
        yield copies_of(title, "S^2 x S^2", 2000, (2, 2), 2, jitter)
    yield copies_of("every row five times, jitter 1e-3", "S^2 x S^2", 1500, (2, 2), 5, 1e-3)
    yield copies_of("every row twice, jitter 1e-9", "S^3", 1500, (3,), 2, 1e-9)


@family("copies", "held-out")
def copies() -> Iterator[Case]:
    yield copies_of("every row twice", "S^2 x S^1", 1500, (2, 1), 2, 0.0)
    yield copies_of("every row ten times", "S^2 x S^2", 1200, (2, 2), 10, 0.0)
    third = partial(copied, "S^3 x S^2", 3000, 2, 0.0, 1 / 3)
    yield Case("S^3 x S^2, a third of the rows twice", third, ((3, 2),))
    third = partial(copied, "S^3 x S^2", 3000, 2, 1e-8, 1 / 3)
    yield Case("S^3 x S^2, a third of the rows twice, jitter 1e-8", third, ((3, 2),))
    yield copies_of("every row three times, jitter 1e-5", "S^2 x S^1", 1500, (2, 1), 3, 1e-5)


def with_outliers(spec: str, n: int, share: float, distance: float, seed: int) -> Cloud:
    """A share of the rows moved to a sphere of radius `distance`; their tangents are unknown."""
    cloud, rng = product(spec, n, seed), np.random.default_rng([seed, 9])
    rows = rng.choice(n, round(share * n), replace=False)
    far = rng.standard_normal((len(rows), cloud.points.shape[1]))
    far *= distance / np.linalg.norm(far, axis=1, keepdims=True)
    return replaced(cloud, rows, far)


def with_background(spec: str, n: int, share: float, seed: int) -> Cloud:
    """A share of the rows uniform in the bounding box."""
    cloud, rng = product(spec, n, seed), np.random.default_rng([seed, 9])
    rows = rng.choice(n, round(share * n), replace=False)
    low, high = cloud.points.min(axis=0), cloud.points.max(axis=0)
    return replaced(cloud, rows, rng.uniform(low, high, (len(rows), len(low))))


def replaced(cloud: Cloud, rows: np.ndarray, points: np.ndarray) -> Cloud:
    changed, tangents = cloud.points.copy(), [frames.copy() for frames in cloud.tangents]
    changed[rows] = points
    for frames in tangents:
        frames[rows] = np.nan
    return Cloud(changed, tangents)


@family("far outliers", "tuning")
def far_outliers() -> Iterator[Case]:
    for share in (0.01, 0.02, 0.05):
        draw = partial(with_outliers, "S^2 x S^2", 3000, share, 5.0)
        yield Case(f"S^2 x S^2, {share:.0%} at distance 5", draw, ((2, 2),))
    yield Case(
        "S^2 x S^1, 3% at distance 3", partial(with_outliers, "S^2 x S^1", 2000, 0.03, 3), ((2, 1),)
    )
    yield Case("S^3, 2% at distance 3", partial(with_outliers, "S^3", 2000, 0.02, 3), ((3,),))


@family("background", "held-out")
def background() -> Iterator[Case]:
    for share in (0.01, 0.03, 0.05):
        draw = partial(with_background, "S^3 x S^2", 4000, share)
        yield Case(f"S^3 x S^2, {share:.0%} in the box", draw, ((3, 2),))
    draw = partial(with_background, "S^2 x S^1", 2500, 0.03)
    yield Case("S^2 x S^1, 3% in the box", draw, ((2, 1),))
