"""FactorVAE against beta-VAE at equal reconstruction, and how it sees correlation (seed 003).

Small perceptrons on sprites of 16 x 16, a pixel of which counts sixteen times, so that published
strengths mean what they mean on 64 x 64, and reconstruction errors are in nats of such an image.
A FactorVAE has the initial weights, batches and noise of the beta-VAEs of its seed; its
discriminator has 6 layers of 200 units, published 1,000. The FactorVAE score prunes collapsed
latents; of InfoWGAN-GP its categorical code is one discrete latent with Gini's variance (appendix
B). "At equal reconstruction" compares a FactorVAE with the beta-VAEs of its seed, between whose
strengths score and reconstruction are joined by straight lines. The true total correlation (TC) is
that of q(z), the mean of the posteriors of all images, at latents drawn from it; the
discriminator's is its mean log-ratio at the same latents. Networks of VAEs of both kinds compute in
bfloat16 while they train and objectives in float32, InfoWGAN-GP all in float32.

Run `python -m analyses.factor_vae_study --preset quick`; what is finished is kept. `--parts 1` are
the beta-VAEs, `--parts 2` InfoWGAN-GP too; the third are the FactorVAEs. Results of the longer
preset stand in the folder itself, of others in a folder of their own beside them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from analyses.factor_vae_study.factor_vae_report import write_report
from analyses.factor_vae_study.named_runs import factor_rows, swept_rows
from analyses.factor_vae_study.run_measures import measure
from analyses.factor_vae_study.study_presets import PRESETS
from analyses.factor_vae_study.watched_factor_vaes import watched_runs
from analyses.shared.run import main_of
from analyses.shared.studies.kept_runs import KEPT, costed, keep_runs
from analyses.shared.studies.small_sprites import small_sprites
from analyses.shared.studies.swept_study import (
    known_of,
    last_rows,
    measure_runs,
    study_options,
    study_table,
    study_words,
    write_study,
)

OUT = Path(__file__).parents[1] / "results" / "factor_vae_study"


def run(name: str, out: Path, runs: Path, parts: int | None) -> bool:
    """Train what is not trained yet, measure and report what is finished; whether all is."""
    preset = PRESETS[name]
    grid = small_sprites(preset.data, preset.image_size)
    folder = runs / f"factor_vae_study_{name}"
    table, planned = study_table(
        folder,
        preset.sweeps(),
        {preset.data: grid},
        scores=(),
        stack=preset.stack,
        train=parts,
        kept=out / KEPT,
    )
    watched = watched_runs(preset, grid, folder, train=parts is None or parts > 2)
    last = last_rows(table)
    known: Mapping[str, Any] = known_of(out, preset, "measured", {})
    with costed(folder):
        measured = measure_runs(last, folder, known, lambda each: measure(each, grid, preset.drawn))
    rows = pd.concat([swept_rows(last, measured), factor_rows(watched)], ignore_index=True)
    if rows.empty:
        return False
    out.mkdir(parents=True, exist_ok=True)
    keep_runs(folder, out / KEPT)
    write_study(out, name, preset, rows, measured=measured)
    words = study_words(__doc__, preset.data, folder)
    planned += len(preset.planned_factor_vaes)
    done = table["run"].nunique() + len(watched)
    course = [
        {"gamma": each["gamma"], "seed": each["seed"], **row}
        for each in watched
        for row in each["course"]
    ]
    write_report(rows, pd.DataFrame(course), preset, name, planned, words, out)
    return bool(done == planned)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 130 where runs are left."""
    return main_of(__doc__, PRESETS, OUT, run, arguments, study_options, preset_of_out="longer")


if __name__ == "__main__":
    sys.exit(main())
