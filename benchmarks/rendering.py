"""Rendering of sprites, textures and scenes: images a second, against literal loops."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._measure import write_table
from geodis import NoiseMasked, Scenes, Sprites

N = 4096  # images of a timed call
SMALL = 16  # height and width where a literal loop takes part
REPEATS = 5


def rate(draw: Callable[[], Any], n: int, repeats: int = REPEATS) -> float:
    """Images a second, the best of several calls after one that compiles."""
    if repeats > 1:
        draw()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        draw()
        seconds.append(time.perf_counter() - start)
    return n / min(seconds)


def main() -> None:
    from tests.reference.rendering import covered_share, ray_cast

    rng = np.random.default_rng(0)
    sprites = Sprites()
    index = rng.integers(len(sprites), size=N)
    scenes = Scenes()
    sample = scenes.sample(N, random_state=0)
    turns, lights = sample.rotations, sample.lights
    cores = os.cpu_count() or 1

    fast: dict[str, tuple[int, Callable[[], Any]]] = {
        "sprites": (1, lambda: sprites.images(index)),
        "sprites, binary": (1, lambda: Sprites(binary=True).images(index)),
        "sprites on noise": (1, lambda: NoiseMasked(sprites, random_state=0).images(index)),
        "scenes": (1, lambda: Scenes(n_jobs=1).render(turns, lights)),
        "scenes, rgb": (1, lambda: Scenes(rgb=True, n_jobs=1).render(turns, lights)),
        "scenes, all threads": (cores, lambda: scenes.render(turns, lights)),
    }
    rows = [
        {"what": what, "size": 64, "threads": threads, "images a second": rate(draw, N)}
        for what, (threads, draw) in fast.items()
    ]

    # Literal loops, at a size at which they end, and the same samples a pixel for scenes.
    small, few = Sprites(SMALL), Scenes(SMALL, n_jobs=1)
    slow: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "sprites": (
            lambda: small.images(index),
            lambda: covered_share(small.outline(int(index[0])), SMALL, SMALL, 4),
        ),
        "scenes": (
            lambda: few.render(turns, lights),
            lambda: ray_cast(few.mesh, turns[0], lights[0], SMALL),
        ),
    }
    for what, (draw, loop) in slow.items():
        per_second, literal = rate(draw, N), rate(loop, 1, repeats=1)
        rows.append(
            {
                "what": what,
                "size": SMALL,
                "threads": 1,
                "images a second": per_second,
                "literal loop": literal,
                "ratio": per_second / literal,
            }
        )
    print(write_table("rendering", "Rendering", rows))


if __name__ == "__main__":
    main()
