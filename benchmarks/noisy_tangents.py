"""Tangents under noise: how the error falls with the number of points, and what it costs.

S^2 x S^2 in twenty columns. Noise moves a point along the surface too, which no fit can see: the
error against the tangent at the clean point cannot fall below that at which the two differ, while
the error against the tangent at the projection of the noisy point falls with n.
``python -m benchmarks.noisy_tangents``
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks._measure import measure, write_table
from geodis.base.jobs import one_blas_thread
from geodis.manifold.local.angles import principal_angles
from geodis.manifold.local.principal import kept_directions
from geodis.manifold.pipeline import estimate_tangents
from geodis.manifold.split_result import Task

POINTS = (4_000, 20_000, 60_000, 200_000)
NOISE = (0.05, 0.1)
COLUMNS, COMPARED = 20, 1_000


def noisy_spheres(n: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Clean points (n, 6), noisy ones in all columns, and the rows that span the six."""
    rng = np.random.default_rng(seed)
    clean = rng.standard_normal((n, 2, 3))
    clean = (clean / np.linalg.norm(clean, axis=2, keepdims=True)).reshape(n, 6)
    basis = np.linalg.qr(rng.standard_normal((COLUMNS, COLUMNS)))[0][:6]
    return clean, clean @ basis + noise * rng.standard_normal((n, COLUMNS)), basis


def tangents_of_spheres(points: np.ndarray) -> np.ndarray:
    """Tangents (n, 4, 6) of S^2 x S^2 where points (n, 6) project to it."""
    frames = np.zeros((len(points), 4, 6))
    for j in (0, 1):
        part = slice(3 * j, 3 * j + 3)
        frames[:, 2 * j : 2 * j + 2, part] = np.linalg.svd(points[:, None, part])[2][:, 1:]
    return frames


def row(n: int, noise: float) -> dict[str, Any]:
    """One fit of all tangents."""
    clean, noisy, basis = noisy_spheres(n, noise, seed=0)
    begun = time.process_time()
    with one_blas_thread():
        kept = kept_directions(noisy, random_state=0)
        tangents = estimate_tangents(kept.project(noisy), 4, Task())
    cpu = time.process_time() - begun
    some = np.linspace(0, n - 1, COMPARED).astype(int)
    frames = tangents.frames[some] @ kept.basis
    near, true = (tangents_of_spheres(x[some]) @ basis for x in (noisy @ basis.T, clean))
    return {
        "n": n,
        "noise": noise,
        "neighbours": tangents.n_neighbors,
        "error at the projection": float(principal_angles(frames, near).mean()),
        "error at the clean point": float(principal_angles(frames, true).mean()),
        "CPU s": cpu,
    }


def warm_up() -> None:
    """Compile."""
    row(1_500, 0.05)


def main() -> None:
    rows = []
    for noise in NOISE:
        for n in POINTS:
            result = measure(row, n, noise, warm_up=warm_up)
            rows.append({**result.value, "more memory, MB": result.megabytes})
            print(rows[-1], flush=True)
            write_table("noisy_tangents", "Tangents of S^2 x S^2 under noise, one thread", rows)


if __name__ == "__main__":
    main()
