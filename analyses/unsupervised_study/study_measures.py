"""What is measured of a trained model at the end: scores with and without factors, downstream."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from analyses.shared.studies.kept_runs import costed
from analyses.unsupervised_study.narrow_models import Narrow
from analyses.unsupervised_study.study_presets import Preset
from analyses.unsupervised_study.study_runs import SEEDS_A_ROUND, finished_table
from analyses.unsupervised_study.study_sets import study_set
from geodis import FactorGrid, models, score_latents, scores
from geodis.base import to_jsonable, whole_file, write_json
from geodis.base.write import FolderHeldError, FolderLock
from geodis.models.model_inputs import to_input
from geodis.models.objectives import reconstruction_rows
from geodis.models.sweeps.run_folder import RUNS
from geodis.scores.inputs import active_latents

# Of the published tables, in their order, with what a table of scores calls them.
PUBLISHED_SCORES = {
    "BetaVAE score": "beta_vae",
    "DCI disentanglement": "dci_disentanglement",
    "FactorVAE score": "factor_vae",
    "MIG": "mig",
    "Modularity": "modularity",
    "SAP": "sap",
}
ON_ROWS = ("mig", "sap", "modularity", "dci")
TC_MEAN, TC_SAMPLED = "TC of means", "TC of samples"
RECONSTRUCTION, KL, ELBO, UDR = "reconstruction", "KL", "ELBO", "UDR"
UNSUPERVISED = (RECONSTRUCTION, TC_MEAN, TC_SAMPLED, KL, ELBO, UDR)
# By what the downstream model is.
ACCURACY = {"logistic": "logistic accuracy", "trees": "trees accuracy"}
EFFICIENCY = {"logistic": "logistic efficiency", "trees": "trees efficiency"}
SIZES = (100, 10_000)  # rows to learn from; of 2,000 that are scored, 1,500 are the most
DOWNSTREAM = (*ACCURACY.values(), *EFFICIENCY.values())
MEASURED = "measured"


@cache
def scored_rows(name: str, n: int) -> np.ndarray:
    """Images of a set on which all its models are measured."""
    grid = study_set(name)
    return np.sort(np.random.default_rng(0).choice(len(grid), min(n, len(grid)), replace=False))


def measure(model: models.Model, grid: FactorGrid, rows: np.ndarray) -> dict[str, Any]:
    """All measures of one model, and its codes of the rows."""
    factors = grid.factors(rows)
    images = grid.images(rows, "auto")
    means, log_variances = models.encode(model, images, log_variances=True)
    on_rows = score_latents(means, factors, ON_ROWS, chance=False, verbose=0, random_state=0)
    codes = models.encode(model, grid)
    values = {
        **on_rows.values_by_name,
        "beta_vae": float(scores.beta_vae(codes, grid, random_state=0)),
        "factor_vae": float(scores.factor_vae(codes, grid, random_state=0)),
        **unsupervised_of(model, images, means, log_variances),
    }
    for kind in ("logistic", "trees"):
        read = scores.downstream(means, factors, model=kind, sizes=SIZES, random_state=0)
        values |= {ACCURACY[kind]: float(read), EFFICIENCY[kind]: read.details["efficiency"]}
    return {"values": values, "means": means, "log_variances": log_variances}


def unsupervised_of(
    model: models.Model, images: np.ndarray, means: np.ndarray, log_variances: np.ndarray
) -> dict[str, float]:
    """Quantities of figures 1 and 4 of seed 000, which need no factors."""
    tc = scores.gaussian_total_correlation
    noise = np.random.default_rng(0).standard_normal(means.shape).astype(np.float32)
    z = torch.from_numpy(means + np.exp(0.5 * log_variances) * noise)
    x = to_input(images, model.shape)
    with torch.no_grad():
        loss = float(reconstruction_rows(x, model.decode(z), "bernoulli").mean())
    kl = float((0.5 * (means**2 + np.exp(log_variances) - 1 - log_variances)).sum(axis=1).mean())
    return {
        RECONSTRUCTION: loss,
        KL: kl,
        ELBO: -Narrow.pixels_in_one * loss - kl,
        TC_MEAN: float(tc(means)),
        TC_SAMPLED: float(tc(means, log_variances=log_variances)),
        "latents in use": float(active_latents(means, log_variances).sum()),
    }


def measured_table(preset: Preset, folder: Path, verbose: bool = True) -> pd.DataFrame:
    """One row a finished run: method, strength, set, seed and every measure at its last step.

    What is measured is kept beside the runs and not measured again; runs that another process is
    measuring are left to it, and are in the table once it is done.
    """
    table = finished_table(preset, folder)
    last = list(table[table["step"] == preset.steps].itertuples())
    places = {str(run.run): folder / MEASURED / f"{run.run}.json" for run in last}
    missing = [run for run in last if not places[str(run.run)].exists()]
    with costed(folder) if missing else nullcontext():
        for run in missing:
            if verbose:
                print(f"measuring {run.method}, {run.strength:g}, {run.data}, seed {run.seed}")
            with suppress(FolderHeldError):
                _measure_run(folder, str(run.run), str(run.data), preset.rows)
    lines = []
    for run in last:
        if places[str(run.run)].exists():
            values = json.loads(places[str(run.run)].read_text(encoding="utf-8"))["values"]
            lines.append({**{name: getattr(run, name) for name in WHOSE}, **values})
    frame = pd.DataFrame(lines)
    if frame.empty:
        return frame
    # Means of a run whose latents are all idle vary by rounding alone, and so does their
    # correlation: such a run has no total correlation of means.
    told = frame[TC_MEAN].where(frame["latents in use"] > 0)
    return frame.assign(**{TC_MEAN: told, UDR: udr_of(frame, folder)})


def balanced(frame: pd.DataFrame, preset: Preset) -> pd.DataFrame:
    """The runs of sets and seeds of which every method and strength is finished.

    A set of which fewer than two seeds are is left out: nothing could be said of luck.

    Examples
    --------
    >>> from analyses.unsupervised_study.study_presets import PRESETS
    >>> runs = pd.DataFrame({"data": ["plain"] * 3, "seed": [0, 0, 1]})
    >>> len(balanced(runs, PRESETS["tiny-for-tests"]))
    0
    """
    wanted = len(preset.methods) * len(preset.strengths)
    whole = frame.groupby(["data", "seed"])["seed"].transform("size") == wanted
    kept = frame[whole]
    seeds = kept.groupby("data")["seed"].transform("nunique")
    return kept[seeds > 1].reset_index(drop=True)


# Of the way from guessing to always right, how far boosted trees must read the factors off the
# codes of a set, on average, for scores of these codes to say anything; codes of noise are at 0.
LEARNT = 0.1


def guessing(name: str) -> float:
    """Accuracy of guessing: mean over factors of one over their number of values.

    Examples
    --------
    >>> round(guessing("plain"), 3)
    0.145
    """
    return float(np.mean([1 / size for size in study_set(name).sizes]))


def learnt_share(own: pd.DataFrame, chance: float) -> float:
    """How far trees read the factors off the codes of a set: 0 for guessing, 1 for always right.

    Examples
    --------
    >>> learnt_share(pd.DataFrame({"trees accuracy": [0.2, 0.4]}), 0.2)
    0.125
    """
    return round(float((own[ACCURACY["trees"]].mean() - chance) / (1 - chance)), 12)


def best_learnt_share(own: pd.DataFrame, chance: float) -> float:
    """The same of the codes of the method that is read best."""
    return max(learnt_share(each, chance) for _, each in own.groupby("method"))


def learnt(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs on sets of which the models of some method have learnt something.

    That others have not is what methods differ by, and stays.
    """
    told = [
        name
        for name, own in frame.groupby("data", sort=False)
        if best_learnt_share(own, guessing(str(name))) >= LEARNT
    ]
    return frame[frame["data"].isin(told)].reset_index(drop=True)


def whose_codes_are_read(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs whose own codes trees read at least so far."""
    chance = frame["data"].map(lambda name: guessing(str(name)))
    way = (frame[ACCURACY["trees"]] - chance) / (1 - chance)
    return frame[way >= LEARNT].reset_index(drop=True)


WHOSE = ("run", "method", "strength", "place", "data", "seed")


def _measure_run(folder: Path, run: str, data: str, n: int) -> None:
    grid, own, kept = study_set(data), folder / RUNS / run, folder / MEASURED / f"{run}.json"
    with FolderLock(own):
        if kept.exists():  # by another process since it was asked for
            return
        found = measure(models.load_model(own), grid, scored_rows(data, n))
        kept.parent.mkdir(exist_ok=True)
        with whole_file(kept.with_suffix(".npz")) as temporary:
            np.savez(temporary, means=found["means"], log_variances=found["log_variances"])
        write_json(kept, to_jsonable({"values": found["values"]}))


def udr_of(frame: pd.DataFrame, folder: Path) -> list[float]:
    """UDR of every run among those of its method, strength and set that were trained in its round.

    It is kept with the other measures once a round is whole, for it needs the codes, which are
    not kept for ever. NaN where a run is alone.
    """
    known = frame[UDR].copy() if UDR in frame else pd.Series(np.nan, index=frame.index)
    together = ["method", "strength", "data", frame["seed"] // SEEDS_A_ROUND]
    for _, own in frame.groupby(together):
        if len(own) < 2 or known[own.index].notna().all():
            continue
        codes = []
        for run in own["run"]:
            with np.load(folder / MEASURED / f"{run}.npz", allow_pickle=False) as saved:
                codes.append((saved["means"], saved["log_variances"]))
        ranked = scores.udr(
            [means for means, _ in codes],
            similarity="spearman",
            log_variances=[spread for _, spread in codes],
        )
        known[own.index] = ranked.details["models"]
        for run, value in zip(own["run"], ranked.details["models"], strict=True):
            kept = folder / MEASURED / f"{run}.json"
            values = json.loads(kept.read_text(encoding="utf-8"))["values"]
            write_json(kept, to_jsonable({"values": {**values, UDR: value}}))
    return known.tolist()
