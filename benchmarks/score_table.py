"""The whole table of scores, small and large; interventional and unsupervised scores against twins.

Processor seconds stand beside those of the clock: other programs on the machine lengthen only the
latter.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._measure import measure, write_table

SMALL, LARGE = (5000, 10, 5), (100_000, 64, 10)


def drawn(n: int, z: int, f: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    factors = np.column_stack([random.integers(5, size=n) for _ in range(f)])
    return factors @ random.standard_normal((f, z)) + random.standard_normal((n, z)), factors


def _processor() -> float:
    """Processor seconds of this process and of those it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def table(size: tuple[int, int, int], dci: bool, chance: int, n_jobs: int) -> dict[str, float]:
    from joblib.externals.loky import get_reusable_executor

    from geodis import score_latents
    from geodis.scores.registry import entries

    names = [entry.name for entry in entries() if entry.default and (dci or entry.name != "dci")]
    begun = _processor()
    scored = score_latents(*drawn(*size), names, chance=chance, n_jobs=n_jobs, verbose=False)
    if n_jobs != 1:
        get_reusable_executor().shutdown(wait=True)  # the times of workers count when they end
    return {"scores": len(scored.frame), "CPU s": _processor() - begun}


def tables() -> list[dict[str, Any]]:
    rows = []
    for size, dci, chance, n_jobs in (
        (SMALL, False, 0, 1),
        (SMALL, True, 0, 1),
        (SMALL, True, 1, 1),
        (LARGE, False, 0, 1),
        (LARGE, True, 0, 1),
        (LARGE, True, 1, 1),
        (LARGE, True, 1, 2),
    ):
        warm_up = partial(table, (200, 4, 2), dci, 0, 1)
        done = measure(table, size, dci, chance, n_jobs, warm_up=warm_up)
        n, z, f = size
        row = {"n": n, "z": z, "f": f, "DCI": dci, "chance": bool(chance), "processes": n_jobs}
        memory = {} if n_jobs > 1 else {"MB": done.megabytes}  # workers are not seen
        rows.append({**row, **done.value, "s": done.seconds, **memory})
        print(rows[-1], flush=True)
    return rows


def _seconds(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Least processor seconds of a few calls, and the last result."""
    best = np.inf
    for _ in range(repeats):
        begun = time.process_time()
        value = function()
        best = min(best, time.process_time() - begun)
    return best, value


def twins() -> list[dict[str, Any]]:
    """The parts that are loops in the papers, on the same draws."""
    from geodis import scores
    from geodis.scores.interventional.beta_vae import pair_differences
    from geodis.scores.interventional.factor_vae import count_votes, vote
    from tests.reference import intervention_and_unsupervised as slow

    latents, factors = drawn(2000, 10, 5)
    random = np.random.default_rng(1)
    left, right = random.integers(2000, size=(2, 1000, 64))
    labels, shape = random.integers(5, size=1000), (10, 5)
    variances, active = latents.var(axis=0, ddof=1), np.ones(10, dtype=bool)

    def votes() -> np.ndarray:
        return count_votes(vote(latents, left, variances, active), labels, shape).T

    def loops() -> np.ndarray:
        return slow.factor_vae_votes(latents, labels, left, variances, 5, active)

    cases: tuple[tuple[str, Callable[[], Any], Callable[[], Any]], ...] = (
        (
            "BetaVAE: 1,000 differences of 64 pairs",
            lambda: pair_differences(latents, left, right),
            lambda: slow.beta_vae_points(latents, left, right),
        ),
        ("FactorVAE: 1,000 votes of 64 rows", votes, loops),
        (
            "IRS, 2,000 rows",
            lambda: float(scores.irs(latents, factors)),
            lambda: slow.irs(latents, factors)[0],
        ),
        (
            "mutual information score, 2,000 rows",
            lambda: float(scores.mutual_info_score(latents)),
            lambda: slow.mutual_info_score(latents),
        ),
        (
            "Wasserstein correlation",
            lambda: float(scores.wasserstein_correlation(latents)),
            lambda: slow.wasserstein_correlation(np.cov(latents.T)),
        ),
    )
    rows = []
    for name, ours, theirs in cases:
        ours()
        seconds, value = _seconds(ours)
        twin, expected = _seconds(theirs, repeats=1)
        rows.append(
            {
                "what": name,
                "CPU s": seconds,
                "twin's CPU s": twin,
                "times faster": twin / seconds,
                "difference": float(np.abs(np.asarray(value) - np.asarray(expected)).max()),
            }
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(
        write_table("score_table_twins", "Interventional and unsupervised scores: twins", twins())
    )
    print(write_table("score_table", "The whole table of scores", tables()))


if __name__ == "__main__":
    main()
