"""Disentanglement against reconstruction with independent subspaces as prior (seed 002).

MIG and the expected log-likelihood of an image for beta-VAE, beta-TCVAE, and both with the
published prior of independent subspaces (ISA), over nine strengths, with most seeds where claims
are tested; and an ISA-VAE that learns its exponents from 2.0 on, at half the rate of the networks
as published. All are perceptrons trained in stacks on small sprites, but for learnt exponents, and
are scored three times to show whether they are converged.

Run `python -m analyses.isa_tradeoff --preset quick`; what is finished is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analyses.isa_tradeoff.isa_claims import ISA, ISA_TC, LEARNT, SAMPLED, TC, VAE
from analyses.isa_tradeoff.isa_report import named, write_report
from analyses.shared.run import main_of
from analyses.shared.studies.kept_runs import KEPT
from analyses.shared.studies.small_sprites import small_sprites
from analyses.shared.studies.swept_study import (
    StudyPart,
    known_measures,
    last_rows,
    measure_runs,
    study_options,
    study_table,
    study_words,
    write_study,
)
from geodis import models

OUT = Path(__file__).parents[1] / "results" / "isa_tradeoff"
BETAS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0)
TESTED = (1.0, 4.0)


@dataclass(frozen=True)
class Preset:
    """Published (seed 002, table 1): dSprites of 64 x 64 pixels, 20 latents, 20 epochs.

    Perceptrons of 1,200 units, batches of 2,048, 50 seeds at beta 1.
    """

    data: str
    image_size: int
    network: str
    steps: int
    score_at: tuple[int, ...]
    batch_size: int
    subspaces: int
    size: int
    seeds: int
    seeds_learnt: int
    seeds_other: int
    stack: int
    n: int = 2000
    betas: tuple[float, ...] = BETAS
    precision: str = "float32"


PRESETS = {
    "quick": Preset("hearts", 16, "vector", 4000, (1000, 2000), 64, 5, 4, 8, 6, 2, 16),
    "paper": Preset(
        "thinned sprites",
        image_size=16,
        network="vector",
        steps=16_000,
        score_at=(4000, 8000),
        batch_size=64,
        subspaces=5,
        size=4,
        seeds=20,
        seeds_learnt=10,
        seeds_other=3,
        stack=20,
        precision="bfloat16",
    ),
    "tiny-for-tests": Preset(
        "hearts", 16, "vector", 4, (2,), 16, 2, 2, 2, 1, 1, 4, 200, (1.0, 4.0)
    ),
}


def study_parts(preset: Preset) -> list[StudyPart]:
    """The tested strengths first, then the control and learnt exponents, then all others."""
    others = [beta for beta in preset.betas if beta not in TESTED]
    training = {
        "steps": preset.steps,
        "batch_size": preset.batch_size,
        "precision": preset.precision,
    }
    parts = [
        (_entries(preset, TESTED, (VAE, ISA)), preset.seeds),
        (_entries(preset, TESTED[1:], (TC, ISA_TC)), preset.seeds),
        (_entries(preset, TESTED[1:], (SAMPLED,)), preset.seeds),
        (_entries(preset, TESTED, (LEARNT,)), preset.seeds_learnt),
    ]
    if others:
        parts.append((_entries(preset, others, (VAE, TC, ISA, ISA_TC)), preset.seeds_other))
    return [StudyPart(entries, seeds, training) for entries, seeds in parts]


def _entries(preset: Preset, betas: Sequence[float], names: Sequence[str]) -> list[dict[str, Any]]:
    count, size = preset.subspaces, preset.size
    layout = {exponent: [[[exponent, size]] * count] for exponent in (2.0, 2.2)}
    kinds: dict[str, dict[str, Any]] = {
        VAE: {"model": "BetaVAE", "latents": count * size},
        TC: {"model": "BetaTCVAE", "latents": count * size},
        ISA: {"model": "ISAVAE", "subspaces": layout[2.2]},
        ISA_TC: {"model": "ISATCVAE", "subspaces": layout[2.2]},
        # Exponents of 2 and a scale of 2 are the standard normal.
        SAMPLED: {"model": "ISAVAE", "subspaces": layout[2.0], "p0": 2.0, "scale": 2.0},
        LEARNT: {"model": "ISAVAE", "subspaces": layout[2.0], "learn": "subspaces"},
    }
    shared = {"beta": list(betas), "network": preset.network, "loss": "bernoulli"}
    return [{**kinds[name], **shared} for name in names]


def run(name: str, out: Path, runs: Path, parts: int | None) -> bool:
    preset = PRESETS[name]
    folder = runs / f"isa_tradeoff_{name}"
    table, planned = study_table(
        folder,
        study_parts(preset),
        {preset.data: small_sprites(preset.data, preset.image_size)},
        scores=("mig", "dci"),
        score_at=preset.score_at,
        n=preset.n,
        stack=preset.stack,
        train=parts,
        kept=out / KEPT,
    )
    last = last_rows(table)
    if last.empty:
        return False
    learnt = last[last["learn"].notna()] if "learn" in last else last[:0]
    exponents = measure_runs(learnt, folder, known_measures(out, preset), learnt_exponents)
    out.mkdir(parents=True, exist_ok=True)
    write_study(out, name, preset, last, measured=exponents)
    words = study_words(__doc__, preset.data, folder)
    values = {run: found["exponents"] for run, found in exponents.items()}
    write_report(named(last), named(table), values, preset, name, planned, words, out)
    return len(last) == planned


def learnt_exponents(model: models.Model) -> dict[str, list[float]]:
    """Exponents of the subspaces, sorted; the root's is fixed."""
    return {"exponents": sorted(model.prior.exponents[:-1].tolist())}


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments, study_options)


if __name__ == "__main__":
    sys.exit(main())
