"""Every score under changes that must not change it: order, units, precision, names, company.

A score that is registered is here by that alone. What is no law for it stands in `NO_LAW` of
`score_laws.py`, with the reason; everything else is held against it. What it needs beside latents
and factors comes from `score_arguments.py`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks._measure import write_table
from benchmarks.score_arguments import ON_CIRCLES, arguments_of, draw_sample
from benchmarks.score_laws import COMPARED_WITH, LAWS, NO_LAW, NOT_HELD, Change
from geodis.base.check import InputError
from geodis.scores.registry import ScoreEntry, entries

# How far two values may be apart that are computed from the same numbers in another order.
CLOSE = 1e-9
# Solvers stop at a tolerance of their own; what they predict turns on rows at the border.
CLOSE_OF = {
    "explicitness": 1e-3,
    # Its explicitness is of a solver, and the noise that breaks its ties is rounded itself.
    "infomec": 1e-3,
    # A penalty that is chosen, of features that hardly differ.
    "block_r2_kernel": 1e-6,
    "dci_es": 1e-6,
    "downstream_logistic": 2e-2,
    "downstream_trees": 2e-2,
    "beta_vae": 2e-2,
    "sap": 2e-2,
    # Roots and logarithms of eigenvalues that are nothing but rounding.
    "wasserstein_correlation": 1e-6,
    "gaussian_total_correlation": 1e-6,
}
# What such calls broke at one time, all of it mended.
FOUND = (
    "Mended: `dci`, `factor_vae` and `downstream_trees` depended on the order of latents, where "
    "splits or votes are equal.",
    "Mended: latents that stand still, the order of the latents and ties changed some of `t_mex`, "
    "`block_r2`, `snc`, `dci_es`, `infomec`, `z_max_variance` and `windin`; `equivariance` took "
    "moves from the first point of a traversal for places.",
    "Mended: `edi` depended on the origin of a latent, where neighbours are tied, and on the order "
    "of factors of equal shares.",
    "`block_r2_kernel` chooses among penalties that hardly differ, and is held to six digits.",
)


@dataclass
class Held:
    """What became of the calls of one score.

    Attributes
    ----------
    calls, refused : int
        Refused are those that a sentence answered, before and after the change alike.
    broken : dict of str to list of str
        By law.
    """

    calls: int = 0
    refused: int = 0
    broken: dict[str, list[str]] = field(default_factory=dict)


def value_of(entry: ScoreEntry, latents: Any, factors: Any) -> dict[str, float] | str:
    """The rows of a score, or the sentence by which it refuses."""
    arguments, options = arguments_of(entry, latents, factors)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return entry.rows_of(entry.compute(*arguments, **options))
        except InputError as refusal:
            return str(refusal)


def difference(entry: ScoreEntry, before: Any, after: Any) -> str:
    """What a change did to a score; nothing if it is the same."""
    if isinstance(before, str) or isinstance(after, str):
        same = isinstance(before, str) and isinstance(after, str)
        return "" if same else f"{str(before)[:90]} -> {str(after)[:90]}"
    close = CLOSE_OF.get(entry.name, CLOSE)
    for row, value in before.items():
        other = after.get(row, np.nan)
        if not (value == other or abs(value - other) <= close * max(1.0, abs(value))):
            return f"{row} {value:.6g} -> {other:.6g}"
    return ""


def hold(entry: ScoreEntry, seeds: range, laws: Mapping[str, Change] = LAWS) -> Held:
    """Hold every law against one score, on several samples."""
    held = Held()
    for seed in seeds:
        latents, factors = draw_sample(seed, complete=entry.name in ON_CIRCLES)
        before = value_of(entry, latents, factors)
        held.calls += 1
        held.refused += isinstance(before, str)
        for law, change in laws.items():
            if entry.name in NO_LAW.get(law, {}):
                continue
            random = np.random.default_rng((seed, len(law)))
            held.calls += 1
            try:
                start = before
                if law in COMPARED_WITH:
                    other = laws[COMPARED_WITH[law]](latents, factors, random)
                    start = value_of(entry, *other)
                changed = change(latents, factors, random)
                problem = difference(entry, start, value_of(entry, *changed))
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                held.broken.setdefault(law, []).append(f"seed {seed}: {problem}")
    return held


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=60, help="for every score")
    parser.add_argument("--only", nargs="*", default=[], help="names of scores")
    asked = parser.parse_args(arguments or [])
    rows: list[dict[str, Any]] = []
    for entry in entries():
        if entry.name in NOT_HELD or (asked.only and entry.name not in asked.only):
            continue
        begun = time.process_time()
        held = hold(entry, range(asked.samples if entry.default else max(asked.samples // 10, 1)))
        for law, problems in held.broken.items():
            print(f"{entry.name}: {law}, {len(problems)} times, such as {problems[0]}", flush=True)
        no_law = [law for law, names in NO_LAW.items() if entry.name in names]
        rows.append(
            {
                "score": entry.name,
                "calls": held.calls,
                "refused": held.refused,
                "laws": len(LAWS) - len(no_law),
                "broken": sum(map(len, held.broken.values())),
                "CPU s": round(time.process_time() - begun, 1),
                "no law": ", ".join(no_law),
            }
        )
        print(rows[-1], flush=True)
    totals = Counter({key: sum(row[key] for row in rows) for key in ("calls", "broken")})
    print(dict(totals))
    if not asked.only:
        write_laws(rows)


def write_laws(rows: list[dict[str, Any]]) -> None:
    """The table, how many calls it is of, and what calls have found."""
    calls, broken = (sum(row[key] for row in rows) for key in ("calls", "broken"))
    total = f"{calls:,} calls of {len(rows)} scores, of which {broken} broke a law."
    title = "Scores under changes that must not change them"
    write_table("metamorphic", title, rows, remarks=(total, *FOUND))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
