"""What a score is called with: latents and factors, and what it needs beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from geodis.data.factors import Factors, as_factors
from geodis.scores.registry import ScoreEntry

# Scores of whole grids, whose numbers go round.
ON_CIRCLES = ("d_lsbd",)


def draw_sample(seed: int, *, complete: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Latents and factors, small; numbers that half precision holds, so that it changes nothing.

    A complete sample has every combination of values twice, and two latents at least.
    """
    rng = np.random.default_rng(seed)
    f, z = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    sizes = rng.integers(2, 6, f)
    if complete:
        z = max(z, 2)
        factors = np.repeat(np.stack(list(np.ndindex(*sizes))), 2, axis=0)
    else:
        factors = np.column_stack([rng.integers(size, size=160) for size in sizes])
    n = len(factors)
    mixing = rng.standard_normal((f, z)) * (rng.random((f, z)) < 0.7)
    noise = rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal((n, z))
    latents = factors @ mixing + noise
    return np.round(latents * 2**6).clip(-(2**10), 2**10) / 2**6, factors


def arguments_of(entry: ScoreEntry, latents: Any, factors: Any) -> tuple[tuple[Any, ...], dict]:
    """Arguments and options of a call."""
    options: dict[str, Any] = {"random_state": 0} if entry.random else {}
    if entry.name == "windin":
        options["log_variances"] = _log_variances(latents)
    if entry.name in ON_CIRCLES:
        factors = _on_circles(factors)
    return ((latents, factors) if entry.needs_factors else (latents,)), options


def _log_variances(latents: Any) -> np.ndarray:
    """Of an encoder whose errors are a third of what each latent varies, in its own unit."""
    means = np.asarray(latents, dtype=float)
    unit = np.abs(means).max(axis=0)
    unit[unit == 0] = 1.0
    spread = np.maximum((means / unit).std(axis=0), 1e-3) / 3
    return np.tile(2 * (np.log(spread) + np.log(unit)), (len(means), 1))


def _on_circles(factors: Any) -> Factors:
    """Numbers of several values, with the period after which they would come back."""
    known = as_factors(factors)
    periods = {}
    for name, column in zip(known.names, known.values.T, strict=True):
        values = np.unique(column)
        if name not in known.categories and len(values) > 1:
            periods[name] = float(np.ptp(values)) * len(values) / (len(values) - 1)
    return replace(known, periods=periods)
