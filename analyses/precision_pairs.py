"""Does bfloat16 change what models learn? Sixty pairs that differ in nothing else.

Three methods of the study on its plain set, every seed trained in float32 and in bfloat16, in
stacks as the study is. Run `python -m analyses.precision_pairs --runs FOLDER`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from analyses.shared.model_runs import table, write_markdown
from analyses.shared.run import main_of
from analyses.shared.studies.kept_runs import KEPT, cost_of
from analyses.shared.studies.paired_comparisons import compare_pairs
from analyses.shared.studies.swept_study import StudyPart, study_options, study_table, write_study
from analyses.unsupervised_study.narrow_models import COMMON
from analyses.unsupervised_study.study_presets import METHODS
from analyses.unsupervised_study.study_sets import PLAIN, study_set

OUT = Path(__file__).parent / "results" / "precision_pairs"
PRECISIONS = ("float32", "bfloat16")
# What is compared, with the difference that would matter: of MIG, and of nats at sixteen a pixel.
COMPARED = {"score mig": 0.02, "score sap": 0.02, "term reconstruction": 2.0}
CHOSEN = {"beta-VAE": 4.0, "beta-TCVAE": 4.0, "DIP-VAE-II": 5.0}


@dataclass(frozen=True)
class Preset:
    """How many seeds each of the three methods has, and how long they are trained."""

    seeds: int
    steps: int
    score_at: tuple[int, ...]
    stack: int = 20


PRESETS = {"quick": Preset(20, 8000, (1000, 2000, 4000)), "tiny-for-tests": Preset(2, 4, (2,), 2)}


def study_part(preset: Preset) -> StudyPart:
    """All runs: methods, precisions, seeds."""
    entries: list[dict[str, Any]] = [
        {
            "model": METHODS[name].model,
            **METHODS[name].settings(strength),
            **COMMON,
            "precision": list(PRECISIONS),
        }
        for name, strength in CHOSEN.items()
    ]
    training = {"steps": preset.steps, "batch_size": 64, "learning_rate": 1e-3}
    return StudyPart(entries, preset.seeds, training)


def run(name: str, out: Path, runs: Path, parts: int | None) -> bool:
    """Train what is not trained, and compare the pairs that are whole."""
    preset = PRESETS[name]
    folder = runs / f"precision_pairs_{name}"
    found, planned = study_table(
        folder,
        [study_part(preset)],
        {PLAIN: study_set(PLAIN)},
        scores=("mig", "sap"),
        score_at=preset.score_at,
        stack=preset.stack,
        train=parts,
        kept=out / KEPT,
    )
    if found.empty:
        return False
    write_study(out, name, preset, found)
    write_markdown(out, _lines(found, preset, name, cost_of(folder)))
    return bool(found["run"].nunique() == planned)


def pairs_of(found: pd.DataFrame) -> pd.DataFrame:
    """One row a model, seed and step, columns (value, precision), of pairs that are whole."""
    wide = found.pivot_table(
        index=["model", "seed", "step"], columns="precision", values=list(COMPARED)
    )
    return wide.dropna()


def _lines(found: pd.DataFrame, preset: Preset, name: str, cost: str) -> list[str]:
    """The table of `results.md`: every value at every step, of all models and of each."""
    wide, rows = pairs_of(found), []
    for step in sorted(wide.index.unique("step")):
        own = wide.xs(step, level="step")
        groups = {"all": own, **dict(tuple(own.groupby(level="model")))}
        for kind, pairs in groups.items():
            for value, margin in COMPARED.items():
                if len(pairs) < 2:
                    continue
                new, old = (pairs[value][precision] for precision in reversed(PRECISIONS))
                both = compare_pairs(new, old, margin)
                within = "yes" if -margin < both.low and both.high < margin else "not shown"
                cells = [f"{both.mean:+.4f} ({both.low:+.4f} to {both.high:+.4f})", within]
                means = [f"{old.mean():.4f}", f"{new.mean():.4f}"]
                rows.append([f"{step:,}", kind, value, str(both.n), *means, *cells])
    header = ["step", "model", "value", "pairs", *PRECISIONS, "difference (95 %)", "within margin"]
    margins = ", ".join(f"{value} {margin:g}" for value, margin in COMPARED.items())
    return [
        "# bfloat16 against float32",
        "",
        f"Preset {name}: {preset.steps:,} steps of 64, {preset.seeds} seeds of each method. Pairs "
        "share weights, batches and noise at the start; rounding makes them another seed's within "
        f"some hundred steps, so that distributions are compared. Margins: {margins}. "
        f"{cost}".rstrip(),
        "",
        *table(header, rows),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 130 where runs are left."""
    return main_of(__doc__, PRESETS, OUT, run, arguments, study_options)


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    sys.exit(main())
