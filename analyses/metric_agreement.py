"""Which disentanglement scores agree, where they defy intuition, and what none of them can see.

1. Codes of known quality, one growing defect each (`synthetic_codes`), under every score: how the
   scores rank them (figure 2 of Locatello et al., 2019), and which scores ignore a defect or
   punish what is none.
2. Kim and Mnih (2018), section 4: the linear classifier of Higgins et al. (2017) forgives one
   missing factor of K.
3. Collapsed latents under the FactorVAE score, pruned as its paper says, and not pruned.
4. Theorem 1 of Locatello et al. (2019): a code and its entangled twin of the same distribution.
5. Perfect codes of factors that are circles, spheres, or depend on each other (`shaped_codes`):
   which scores give them their due.

Run `python -m analyses.metric_agreement --preset quick`; what is finished is kept when it is
interrupted.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import geodis as gd
from analyses.shared import metric_agreement_report as report
from analyses.shared.run import main_of
from analyses.shared.shaped_codes import SHAPES, shaped_code
from analyses.shared.synthetic_codes import FAMILIES, code_of, values_of
from geodis.base import Stages
from geodis.scores.interventional.factor_vae import batch_variances, count_votes
from geodis.scores.interventional.fixed_factor import open_source

OUT = Path(__file__).parent / "results" / "metric_agreement"

# Everything but the accuracies of many sizes, which are one quality seen four times.
SCORES = (
    "information",
    "sap",
    "sap_continuous",
    "dci",
    "explicitness",
    "informativeness_r2",
    "interventional",
    "ratios",
    "identifiability",
    "dependence",
    "unsupervised",
    "jemmig",
    "dcimig",
    "med",
    "edi",
    "snc",
    "equivariance",
)
SHAPE_SCORES = (
    *("mig", "dci", "modularity", "infomec", "edi", "mcc", "weak_mcc_linear", "minimality"),
    *("sufficiency", "t_mex", "block_r2", "block_r2_kernel"),
)
FAILURE_SCORES = ("beta_vae", "factor_vae", "mig", "dci")


@dataclass(frozen=True)
class Preset:
    """Sizes of everything."""

    sizes: tuple[int, ...]  # of the factors of the grid
    levels: tuple[float, ...]
    seeds: tuple[int, ...]
    failure_seeds: tuple[int, ...]
    collapsed: tuple[int, ...]
    entangled_points: int
    entangled_classes: int = 6
    shaped_points: int = 3000


PRESETS = {
    "quick": Preset(
        sizes=(6, 6, 6, 6),
        levels=(0.0, 0.25, 0.5, 0.75, 1.0),
        seeds=(0, 1),
        failure_seeds=(0, 1, 2, 3, 4),
        collapsed=(0, 1, 2, 4, 8),
        entangled_points=5000,
    ),
    "paper": Preset(
        sizes=(10, 10, 10, 10),
        levels=tuple(np.linspace(0, 1, 9).tolist()),
        seeds=(0, 1, 2, 3, 4),
        failure_seeds=tuple(range(20)),
        collapsed=(0, 1, 2, 4, 8, 16),
        entangled_points=50_000,
    ),
}


def run_family(preset: Preset, family: str, level: float, seed: int) -> list[dict[str, Any]]:
    """Every score of one code."""
    grid = gd.FactorGrid(preset.sizes)
    table = gd.score_latents(
        code_of(grid, family, level, seed),
        grid,
        SCORES,
        chance=level == 0,
        verbose=False,
        random_state=seed,
    )
    # Collinear latents have an infinite total correlation, which ranks as the largest.
    values = {name: min(value, 1e9) for name, value in table.values_by_name.items()}
    chance = {str(k): float(v) for k, v in table.frame["chance"].items() if np.isfinite(v)}
    row = {"part": "family", "family": family, "level": level, "seed": seed}
    return [{**row, "scores": values, "chance": chance}]


def run_missing(preset: Preset, seed: int) -> list[dict[str, Any]]:
    """Perfect codes of fewer and fewer factors; noise, or nothing, replaces the others."""
    grid = gd.FactorGrid(preset.sizes)
    random = np.random.default_rng((seed, 11))
    rows = []
    for kept in range(len(preset.sizes), -1, -1):
        for filling in ("nothing", "noise"):
            code = values_of(grid)
            gone = code[:, kept:].shape
            code[:, kept:] = 0.58 * random.standard_normal(gone) if filling == "noise" else 0.0
            table = gd.score_latents(
                code, grid, FAILURE_SCORES, chance=0, verbose=False, random_state=seed
            )
            row = {"part": "missing", "kept": kept, "filling": filling, "seed": seed}
            rows.append({**row, "scores": table.values_by_name})
    return rows


def run_collapse(preset: Preset, count: int, seed: int) -> list[dict[str, Any]]:
    """FactorVAE scores of a perfect code beside constant latents, pruned and not pruned."""
    grid = gd.FactorGrid(preset.sizes)
    code = np.column_stack([np.full((len(grid), count), 0.1), values_of(grid)])
    pruned = float(gd.scores.factor_vae(code, grid, random_state=seed))
    row = {"part": "collapse", "collapsed": count, "seed": seed}
    return [{**row, "pruned": pruned, "unpruned": unpruned_factor_vae(code, grid, seed)}]


def unpruned_factor_vae(code: np.ndarray, grid: gd.FactorGrid, seed: int) -> float:
    """The score as published code computes it: the ratio of a constant latent is 0/0, and wins."""
    random = np.random.default_rng(seed)
    source = open_source(code, grid, "factor_vae")
    labels = source.draw_factors(4000, random)
    rows = source.batches(labels, 64, random)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Exactly 0, as for a decoder that ignores the latent; rounding would decide otherwise.
        variances = np.where(code.std(axis=0) < 1e-12, 0.0, code.var(axis=0, ddof=1))
        local = np.where(variances == 0, 0.0, batch_variances(code, rows))
        votes = (local / variances).argmin(axis=1)
    shape = (code.shape[1], source.n_factors)
    classifier = count_votes(votes[:2000], labels[:2000], shape).argmax(axis=1)
    return float((classifier[votes[2000:]] == labels[2000:]).mean())


def run_entangled(preset: Preset, seed: int) -> list[dict[str, Any]]:
    """Scores before and after the map of theorem 1, and tests that see no difference."""
    random = np.random.default_rng((seed, 13))
    z = random.uniform(size=(preset.entangled_points, 4))
    factors = np.floor(preset.entangled_classes * z).astype(int)
    rows = []
    codes = {"before": z, "after": gd.entangle(z, "uniform")}
    for name, code in codes.items():
        table = gd.score_latents(
            code, factors, (*SCORES, "downstream_logistic"), verbose=False, random_state=seed
        )
        rows.append(
            {
                "part": "entangled",
                "code": name,
                "seed": seed,
                "scores": table.values_by_name,
                "chance": {str(k): float(v) for k, v in table.frame["chance"].items() if v == v},
                "ks": [float(stats.kstest(x, "uniform").pvalue) for x in code.T],
                "correlation": float(np.abs(np.corrcoef(code.T)[~np.eye(4, dtype=bool)]).max()),
            }
        )
    return rows


def run_shapes(preset: Preset, shape: str, seed: int) -> list[dict[str, Any]]:
    """Scores of a code of factors of some shape, perfect and turned."""
    rows = []
    for state in ("perfect", "turned"):
        code, factors, groups = shaped_code(shape, preset.shaped_points, seed)
        if state == "turned":
            random = np.random.default_rng((seed, 17))
            code = code @ np.linalg.qr(random.standard_normal((code.shape[1],) * 2))[0]
        table = gd.score_latents(
            code, factors, SHAPE_SCORES, bins=10, groups=groups, verbose=False, random_state=seed
        )
        chance = {str(k): float(v) for k, v in table.frame["chance"].items() if v == v}
        row = {"part": "shapes", "shape": shape, "state": state, "seed": seed}
        rows.append({**row, "scores": table.values_by_name, "chance": chance})
    return rows


def plan(preset: Preset) -> list[tuple[str, Callable[[], list[dict[str, Any]]]]]:
    """Names and calls, in order."""
    jobs: list[tuple[str, Callable[[], list[dict[str, Any]]]]] = []
    for seed in preset.seeds:
        for family in FAMILIES:
            for level in preset.levels:
                job = partial(run_family, preset, family, level, seed)
                jobs.append((f"{family} {level:g}, seed {seed}", job))
    for seed in preset.failure_seeds:
        jobs.append((f"missing factors, seed {seed}", partial(run_missing, preset, seed)))
        for count in preset.collapsed:
            job = partial(run_collapse, preset, count, seed)
            jobs.append((f"{count} collapsed, seed {seed}", job))
    for seed in preset.seeds:
        jobs.append((f"entangled, seed {seed}", partial(run_entangled, preset, seed)))
        for shape in SHAPES:
            jobs.append((f"{shape}, seed {seed}", partial(run_shapes, preset, shape, seed)))
    return jobs


def run(
    preset: Preset, out: Path, *, name: str = "", verbose: bool = True
) -> tuple[list[dict[str, Any]], bool]:
    """Run every job, write results as they come, and figures at the end or when stopped.

    Returns
    -------
    rows : list of dict
    complete : bool
        False after Ctrl-C.
    """
    rows: list[dict[str, Any]] = []
    complete = False
    content = {
        "preset": name,
        "settings": asdict(preset),
        "versions": {
            "geodis": gd.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    jobs = plan(preset)
    try:
        with Stages("metric agreement", verbose) as stages:
            for done, (text, job) in enumerate(jobs):
                with stages.stage(f"{done + 1}/{len(jobs)} {text}"):
                    stages.advance(done / len(jobs))
                    rows += job()
                if verbose:
                    print(f"{done + 1}/{len(jobs)} {text}", flush=True)
                report.write_rows(rows, content, out)
        complete = True
    except KeyboardInterrupt:
        print(f"stopped after {len(rows)} rows", file=sys.stderr)
    report.write_report(rows, content, out)
    return rows, complete


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 130 after Ctrl-C."""
    return main_of(
        __doc__,
        PRESETS,
        OUT,
        lambda preset, out: run(PRESETS[preset], out, name=preset)[1],
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
