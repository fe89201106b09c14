"""What `isa_tradeoff` found: cells, comparisons, learnt exponents, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analyses.isa_tradeoff.isa_claims import (
    ADDED,
    FIRST_STATED,
    ISA,
    ISA_SMALL,
    ISA_TC,
    LARGE_BATCHES,
    LEARNT,
    LEARNT_SMALL,
    LIKELIHOOD,
    LOST,
    MARGINS,
    MIG,
    NAMES,
    PUBLISHED_BATCH,
    RESTATED,
    SAMPLED,
    SMALL,
    SMALL_BATCHES,
    TC,
    VAE,
    VAE_SMALL,
)
from analyses.isa_tradeoff.isa_comparisons import (
    at_equal,
    compared,
    margin_words,
    middles,
    ordered_pairs,
    span,
    tables_of_tests,
)
from analyses.isa_tradeoff.isa_exponents import exponent_lines
from analyses.isa_tradeoff.isa_figures import draw_exponents, draw_tradeoff
from analyses.isa_tradeoff.prior_pictures import WORDS as PICTURES
from analyses.isa_tradeoff.prior_pictures import draw_priors
from analyses.shared.model_runs import table, write_markdown
from analyses.shared.studies.paired_comparisons import ALPHA
from analyses.shared.studies.small_sprites import small_sprites
from geodis import plots
from geodis.models.sweeps.run_folder import TERM_STEPS
from geodis.scores import dci

if TYPE_CHECKING:
    import pandas as pd


def named(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of a sweep with the model's name as the paper has it, and the likelihood."""
    names = {"BetaVAE": VAE, "BetaTCVAE": TC, "ISAVAE": ISA, "ISATCVAE": ISA_TC}
    called = rows["model"].map(names)
    for column, name in (("learn", LEARNT), ("p0", SAMPLED)):
        if column in rows:
            called = called.mask(rows[column].notna(), name)
    if "batch_size" in rows:
        called = called.mask(rows["batch_size"].notna(), called + SMALL)
    return rows.assign(name=called, likelihood=-rows["term reconstruction"])


def write_report(
    rows: pd.DataFrame,
    course: pd.DataFrame,
    exponents: Mapping[str, Sequence[float]],
    preset: Any,
    name: str,
    planned: int,
    words: str,
    out: Path,
) -> None:
    """Tables and figures.

    Parameters
    ----------
    rows, course : DataFrame
        Of `named`: the last step of every run, and every scored step.
    exponents : mapping of str to sequence of float
        Learnt ones by run.
    """
    lines = ["# Independent subspaces as prior", "", words, ""]
    lines += [f"Preset {name}: {preset}; {len(rows)} of {planned} runs are finished.", ""]
    lines += _cells(rows, preset)
    lines += _stated(rows, preset)
    lines += _added(rows, preset)
    lines += ordered_pairs(rows)
    lines += at_equal(rows, preset.betas, preset.small.batch_size)
    lines += _convergence(course)
    lines += exponent_lines(rows, exponents)
    lines += ["## Pictures of the priors", "", PICTURES]
    write_markdown(out, lines)
    draw_priors(out)
    plots.save_figure(draw_tradeoff(rows, name), out / "tradeoff.png")
    if exponents:
        plots.save_figure(draw_exponents(rows, exponents), out / "exponents.png")


def _cells(rows: pd.DataFrame, preset: Any) -> list[str]:
    header = ["model", "beta", "runs", "MIG", "DCI", "E log p(x given z), nats an image"]
    cells = []
    for (name, beta), own in rows.groupby(["name", "beta"]):
        spans = [_span(own[column], digits) for column, digits in _COLUMNS.items()]
        cells.append([name, f"{beta:g}", str(len(own)), *spans])
    cells.sort(key=lambda cell: (float(cell[1]), NAMES.index(cell[0])))
    small = preset.small.batch_size
    return [
        "## All strengths",
        "",
        "Means with the smallest and largest. The text of the paper has no values of these: "
        "figures alone, of dSprites (64 x 64 pixels, 737,280 images), 3D faces and cars; "
        f"perceptrons of 1,200 units, batches of {PUBLISHED_BATCH:,}, 20 times through all images, "
        f'50 runs a setting. "Small" is of batches of {small}, and so are both TCVAEs, whose cost '
        "grows with the square of a batch.",
        "",
        *table(header, cells),
        "",
        f"The likelihood is the mean over the batches of the last {TERM_STEPS} steps, of one "
        "sample an image, not over all images. DCI says how importances are shared among latents, "
        "not how much these tell: codes that tell little (MIG near 0) can have a DCI well above "
        f"that of noise, which is {_noise_dci(preset):.3f}. In `tradeoff.png` means over as "
        "many runs as the table says are joined.",
        "",
        f"At beta 1 the three parts of a TCVAE's divergence add up to the estimate from one sample "
        f"an image. So {ISA_TC} at beta 1 is {ISA_SMALL}, whose runs stand for it, and {TC} "
        f"at beta 1 is {SAMPLED + SMALL}, by another name.",
        "",
    ]


def _noise_dci(preset: Any) -> float:
    """DCI disentanglement of codes that are independent of the factors: its chance level."""
    grid = small_sprites(preset.data, preset.image_size)
    rng = np.random.default_rng(0)
    index = rng.choice(len(grid), min(preset.n, len(grid)), replace=False)
    noise = rng.standard_normal((len(index), preset.subspaces * preset.size))
    return dci(noise, grid.factors(index), random_state=0).value


def _stated(rows: pd.DataFrame, preset: Any) -> list[str]:
    """Both families of stated tests, and their history."""
    small, large = preset.small.batch_size, preset.large.batch_size
    return [
        f"## Tests that were stated before the runs, in batches of {small}",
        "",
        "Five tests were stated before these runs, when smaller studies of the same models on "
        f"other images were known, all in batches of {small}. After the first results three of "
        f"them were stated again in batches of {large}, a size chosen on one run of seed 0 as "
        "large enough for an estimated divergence to be learnt by. Five runs of "
        f"'{LEARNT_SMALL}' at beta 1 were made and not kept: MIG minus that of '{VAE_SMALL}' was "
        f"{LOST}.",
        "",
        "Differences are of runs that share a seed, and with it initial weights where networks are "
        "alike, batches and noise. Sign-flip tests are exact; p of a table's column are corrected "
        f"together (Holm). Power is the chance to see a difference of {MARGINS[MIG]:g} in MIG, or "
        f"of {MARGINS[LIKELIHOOD]:g} nat, with as many pairs of the spread at hand, at the level "
        f"that the first of a table has to pass: {ALPHA:g} over the number of its tests. Not "
        "reproduced: significantly below zero, or the interval below the margin. "
        f"{margin_words(rows)}",
        "",
        f"The published claims are on batches of {PUBLISHED_BATCH:,}. {ISA}, {ISA_TC} and {TC} "
        f"estimate what they minimise from one batch, so what was run in batches of {small} "
        f"is ordered here, and cannot tell of the paper: at beta 4 the estimated divergence of "
        f"{ISA} is so loud that little is learnt.",
        "",
        *tables_of_tests(rows, FIRST_STATED, small),
        f"## The same tests, stated again in batches of {large}",
        "",
        *tables_of_tests(rows, RESTATED, small),
        middles(rows),
        "",
    ]


def _added(rows: pd.DataFrame, preset: Any) -> list[str]:
    large, small = preset.large, preset.small
    return [
        "## The prior, the estimate of its divergence, or its noise?",
        "",
        "Added after the first runs; none is published. A standard normal prior has a divergence "
        "in closed form, an Lp-nested one is estimated from one sample an image, which is louder "
        f"in small batches. {SAMPLED} has the former's prior and the latter's estimate. Models in "
        f"large batches see {large.batch_size * large.steps / 1e6:.1f} million images in "
        f"{large.steps:,} steps, those in small ones {small.batch_size * small.steps / 1e6:.1f} "
        f"million in {small.steps:,}: what that alone does, {VAE} shows, whose divergence has no "
        "noise.",
        "",
        *tables_of_tests(rows, ADDED, small.batch_size),
    ]


_COLUMNS = {MIG: 3, "score dci_disentanglement": 3, LIKELIHOOD: 2}


def _span(values: pd.Series, digits: int) -> str:
    mean = f"{values.mean():.{digits}f}"
    return (
        f"{mean} ({values.min():.{digits}f} to {values.max():.{digits}f})"
        if len(values) > 1
        else mean
    )


def _earlier(course: pd.DataFrame) -> list[str]:
    """The stated differences of MIG at every scored step: what longer training did to them."""
    steps = {
        kinds: sorted(course[course["name"].isin(kinds)]["step"].unique())
        for kinds in (LARGE_BATCHES, SMALL_BATCHES)
    }
    cells = []
    for test in (*RESTATED, *FIRST_STATED):
        kinds = LARGE_BATCHES if test.first in LARGE_BATCHES else SMALL_BATCHES
        found = [(at, compared(course[course["step"] == at], test, MIG)) for at in steps[kinds]]
        told = "; ".join(f"{span(one)} at {at:g}" for at, one in found if one is not None)
        if told:
            cells.append([f"{test.first} - {test.second}", f"{test.beta:g}", told])
    if not cells:
        return []
    return [*table(["difference", "beta", "MIG (95 %) at a step"], cells), ""]


def _convergence(course: pd.DataFrame) -> list[str]:
    cells, moved = [], []
    for batches, kinds in (("large", LARGE_BATCHES), ("small", SMALL_BATCHES)):
        own = course[course["name"].isin(kinds)]
        if own.empty:
            continue
        by_step = {
            column: own.pivot_table(index="run", columns="step", values=column).dropna()
            for column in (MIG, LIKELIHOOD)
        }
        steps = sorted(own["step"].unique())
        last = by_step[MIG][steps[-1]]
        for step in steps:
            mig, likelihood = by_step[MIG][step], by_step[LIKELIHOOD][step]
            rank = f"{mig.corr(last, method='spearman'):.2f}"
            means = f"{mig.mean():.3f}", f"{likelihood.mean():.2f}"
            cells.append([batches, f"{step:g}", str(len(mig)), *means, rank])
        if len(steps) > 1:
            change = (last - by_step[MIG][steps[-2]]).abs().mean()
            moved.append(f"{change:.3f} from step {steps[-2]:g} to {steps[-1]:g} ({batches})")
    header = ["batches", "step", "runs", "MIG, mean", "E log p(x given z), mean"]
    lines = ["## Are they converged?", ""]
    lines += [*table([*header, "ranks of MIG, with the last step"], cells), ""]
    if moved:
        lines += [
            f"The MIG of a run moves by {', '.join(moved)} on average: of differences that are no "
            "larger the verdicts are of models of this length, and do not say which is better in "
            "the end. What the stated tests would have found on the way:",
            "",
            *_earlier(course),
        ]
    return lines
