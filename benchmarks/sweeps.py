"""A sweep killed at random moments, and how long hundreds of finished runs take to recognise.

One sweep is started again and again in a process of its own, which the system ends after a random
time (SIGKILL: nothing is written on the way out), and then once more to its end. Its table must be,
byte for byte, that of a sweep that nobody disturbed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks._measure import write_table
from geodis import FactorGrid
from geodis.models import sweep

MODELS = [
    {"model": ["vae", "beta-tcvae"], "beta": [1.0, 4.0], "latents": 4, "network": "vector"},
    {"model": "factor-vae", "latents": 4, "network": "vector", "discriminator_width": 50},
]
SCORES = ["mig", "dci", "sap"]
# Files that a sweep writes beside its table; those of the system's lock are no result.
TABLES = ("table.csv", "table.parquet")


def small_grid() -> FactorGrid:
    """A dot at 6 x 6 places in 3 brightnesses, 8 x 8 images."""
    factors = np.stack(np.unravel_index(np.arange(108), (6, 6, 3)), axis=1)
    images = np.zeros((108, 8, 8), dtype=np.uint8)
    images[np.arange(108), factors[:, 0], factors[:, 1]] = 85 * (1 + factors[:, 2])
    return FactorGrid.from_arrays(images, factors, names=("row", "column", "light"))


def small_sweep(folder: Path, steps: int, stack: int = 1) -> None:
    """Ten runs, scored half way and at the end."""
    torch.set_num_threads(1)
    sweep(
        folder,
        MODELS,
        {"dots": small_grid()},
        seeds=2,
        training={"steps": steps, "batch_size": 16},
        scores=SCORES,
        score_at=[steps // 2],
        n=108,
        stack=stack,
        verbose=0,
    )


def killed_sweep(
    folder: Path, steps: int, stack: int, kills: int, longest: float, luck: random.Random
) -> int:
    """Start and kill so often, and start once more; how often it was killed before it ended."""
    context = multiprocessing.get_context("fork")
    for killed in range(kills):
        process = context.Process(target=small_sweep, args=(folder, steps, stack))
        process.start()
        process.join(luck.uniform(0.0, longest))
        if process.exitcode is not None:
            return killed
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    small_sweep(folder, steps, stack)
    return kills


def kill_row(steps: int, kills: int, stack: int) -> dict[str, Any]:
    """Whether the table of a killed sweep is that of an undisturbed one."""
    with tempfile.TemporaryDirectory() as name:
        whole, broken = Path(name) / "whole", Path(name) / "broken"
        begun = time.perf_counter()
        small_sweep(whole, steps, stack)
        # All attempts together last two thirds of the sweep on average: the last one ends it.
        longest = (time.perf_counter() - begun) * 4 / 3 / kills
        killed = killed_sweep(broken, steps, stack, kills, longest, random.Random(0))
        same = all((whole / file).read_bytes() == (broken / file).read_bytes() for file in TABLES)
    return {
        "part": "killed at random moments" + f", stacks of {stack}" * (stack > 1),
        "runs": 10,
        "kills": killed,
        "tables": "identical" if same else "different",
    }


def recognition_row(runs: int) -> dict[str, Any]:
    """CPU seconds until a sweep of finished runs has its table again."""
    betas = np.linspace(1, 9, runs // 10).tolist()
    entries = [{"model": "vae", "beta": betas, "latents": 2, "network": "vector"}]
    options: dict[str, Any] = {"training": {"steps": 1}, "scores": [], "n": 100, "verbose": 0}
    with tempfile.TemporaryDirectory() as name:
        data = {"dots": small_grid()}
        sweep(name, entries, data, seeds=10, **options)
        begun, wall = time.process_time(), time.perf_counter()
        done = sweep(name, entries, data, seeds=10, **options)
        assert done.trained == 0 and done.planned == runs
        return {
            "part": "finished runs recognised",
            "runs": runs,
            "CPU seconds": time.process_time() - begun,
            "seconds": time.perf_counter() - wall,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=720)
    chosen = parser.parse_args()
    rows = [kill_row(chosen.steps, chosen.kills, stack) for stack in (1, 4)]
    rows.append(recognition_row(chosen.runs))
    print(write_table("sweeps", "Sweeps: killed, and recognised", rows))


if __name__ == "__main__":
    main()
