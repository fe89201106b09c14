"""Maps of the factors: distances, coordinates and names against the truth.

Products with known coordinates and geodesic distances (`benchmarks.map_cases`) are fitted with
nothing told, clean, noisy and bent, and every found factor is matched to the true one whose
coordinates its map explains best. "Error" is the root mean square error of the distances in one
factor over the root mean square of the true ones, between 40 points and 500 others; "rescaled"
after the one factor that makes it least; "projection" that of shortest paths among the points
projected on the ambient directions of the factor, which needs a product of immersions; "floor"
what noise along the factor does to both ends, which no method can tell from another place. "R^2" is
the share of the true coordinates that a linear map of the found ones explains, "leaked" the same
of the other factors', and "all columns" what all columns of the points explain, where nothing is
split. The prototype's figures stand beside, for shortest paths, refined maps and
projection.

The same is asked of scenes with an object under any rotation and any light: of their true latents,
and of learnt codes of their images.

Walks start at 12 points and go 1.5 along every factor, in a random direction, while the others are
held still. "Leakage" is the root mean square distance, in the other factor, of what eight places
on the way show from the start; "reading" is how far from the truth samples are where true
coordinates are read from codes, by a local regression on 40 others.

Run `python -m analyses.maps --preset quick`; what is finished is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from analyses import pixels_to_factors as pixels
from analyses.shared.maps.map_report import write_report
from analyses.shared.maps.map_walks import add_walks, draw_strips, exact_reader, local_reader
from analyses.shared.model_runs import Row, run_preset
from analyses.shared.run import main_of
from benchmarks.map_cases.cases import NOISE, PRODUCTS, Kind, MapSample, draw
from benchmarks.map_cases.factors import ROTATIONS, SPHERE
from benchmarks.map_cases.judge import distance_error, explained, pairs, r_squared
from benchmarks.map_cases.ours import OwnMaps, own_maps, path_lengths, projected

OUT = Path(__file__).parent / "results" / "maps"
TRUE, LABELLED, WALKS = pixels.TRUE, pixels.LABELLED, pixels.WALKS
# The sizes at which the prototype was measured.
PUBLISHED: tuple[tuple[str, int, Kind], ...] = (
    ("S^2 x S^2", 4000, "clean"),
    ("S^2 x S^2", 10_000, "noise .02"),
    ("S^2 x S^2", 20_000, "noise .05"),
    ("SO(3) x S^2", 20_000, "noise .02"),
    ("SO(3) x S^2", 4000, "bent .5, noise .02"),
)
WALKED: tuple[tuple[str, int, Kind], ...] = (
    ("S^2 x S^2", 4000, "clean"),
    ("S^2 x S^2", 4000, "noise .03"),
    ("S^2 x S^2", 4000, "bent .5"),
    ("S^2 x circle", 4000, "clean"),
    ("SO(3) x S^2", 10_000, "clean"),
)


LARGE = 10_000


@dataclass(frozen=True)
class Preset:
    """Sizes of everything; cases of more than 10,000 points have the first two seeds alone."""

    seeds: tuple[int, ...]
    published: tuple[tuple[str, int, Kind], ...] = PUBLISHED
    products: tuple[str, ...] = tuple(PRODUCTS)
    kinds: tuple[Kind, ...] = ("clean", "noise .02", "bent .5")
    n: int = 4000
    walked: tuple[tuple[str, int, Kind], ...] = WALKED
    codes: tuple[str, ...] = (TRUE, LABELLED, WALKS)
    code_seeds: tuple[int, ...] = (0,)
    n_codes: int = 10_000
    training: str = "quick"  # preset of `pixels_to_factors` that codes are learnt by


PRESETS = {
    "quick": Preset(seeds=(0, 1, 2)),
    "paper": Preset(
        seeds=(0, 1, 2, 3, 4),
        kinds=("clean", "noise .02", "bent .5", "bent 1", "wound"),
        code_seeds=(0, 1, 2),
    ),
    "tiny-for-tests": Preset(
        seeds=(0,),
        published=(("S^2 x S^2", 700, "clean"),),
        products=("S^2 x circle",),
        kinds=("clean",),
        n=700,
        walked=(("S^2 x circle", 1000, "clean"),),
        codes=(TRUE,),
        n_codes=1500,
        training="tiny-for-tests",
    ),
}


def plan(preset: Preset) -> list[Row]:
    """Every case: those with few points first, a seed after the other."""
    cases: list[Row] = []
    for seed in preset.seeds:
        for product, n, kind in preset.published:
            if n > LARGE and seed not in preset.seeds[:2]:
                continue
            cases.append({"part": "published", "product": product, "n": n, "kind": kind})
            cases[-1]["seed"] = seed
        for product in preset.products:
            for kind in preset.kinds:
                cases.append({"part": "products", "product": product, "n": preset.n})
                cases[-1] |= {"kind": kind, "seed": seed}
        for product, n, kind in preset.walked:
            cases.append({"part": "walks", "product": product, "n": n, "kind": kind})
            cases[-1]["seed"] = seed
    for seed in preset.code_seeds:
        for codes in preset.codes:
            cases.append({"part": "scenes", "codes": codes, "n": preset.n_codes, "seed": seed})
    return sorted(cases, key=lambda case: (case["seed"], case["n"]))


def run_case(case: Mapping[str, Any], preset: Preset, out: Path = OUT) -> Row:
    """Fit, map, and compare with the truth."""
    if case["part"] == "scenes":
        return run_scenes(case, preset, out)
    sample = draw(case["product"], case["n"], case["kind"], case["seed"])
    own = own_maps(sample, case["seed"])
    row = measured(sample, own, case["seed"], case["kind"])
    if case["part"] == "walks" and hasattr(own.est, "walk"):
        add_walks(row, sample, own, exact_reader(sample, case["kind"]), case["seed"])
    return row


def measured(sample: MapSample, own: OwnMaps, seed: int, kind: Kind = "clean") -> Row:
    """What is said of a fit: a part for every true factor."""
    a, b = pairs(len(sample.points), seed)
    scores = explained(own.maps, sample)
    names = getattr(own.est, "names_", None)
    factors = []
    for j, (factor, i) in enumerate(zip(sample.factors, own.found, strict=True)):
        said: Row = {"factor": factor.name, "kind": factor.kind}
        if i is not None:
            true = sample.distances(j, a, b)
            k = sample.widths[j]
            line = path_lengths(projected(own.est, sample.points, i, k), a, b)
            said |= {
                "r2": scores.own[j],
                "leaked": scores.other[j],
                "linear": r_squared(sample.points, sample.coordinates[j]),
                "columns": own.maps[j].shape[1],
                "projection": distance_error(line, true)[0],
                "floor": NOISE.get(kind, 0.0) * np.sqrt(2) / np.sqrt((true**2).mean()),
                "without": float(1 - np.isfinite(own.maps[j]).all(axis=1).mean()),
            }
            found = own.est.factor_distances(i, a[:, None], b[None])
            said["error"], said["rescaled"] = distance_error(found, true)
            if names is not None:
                said["said"] = str(names[i])
        factors.append(said)
    return {
        "found": own.est.factor_dims_.tolist(),
        "uncertain": bool(own.est.uncertain_),
        "factors": factors,
        "fit_seconds": own.fit_seconds,
        "map_seconds": own.map_seconds,
    }


def run_scenes(case: Mapping[str, Any], preset: Preset, out: Path) -> Row:
    """Maps of a code of rendered images against the true rotations and lights."""
    test = gd.Scenes(pixels.IMAGE_SIZE, n_jobs=1).sample(
        case["n"], random_state=1000 + case["seed"], verbose=0
    )
    codes = codes_of(case["codes"], test, preset, case["seed"], out / "codes")
    truth = [test.rotations.reshape(-1, 9), test.lights]
    sample = MapSample(codes, (ROTATIONS, SPHERE), truth)
    own = own_maps(sample, case["seed"], dim=sum(sample.dims))
    row = measured(sample, own, case["seed"])
    if None not in own.found and hasattr(own.est, "walk"):
        exact = case["codes"] == TRUE  # the points are the true coordinates
        read = exact_reader(sample, "clean") if exact else local_reader(sample)
        strips = add_walks(row, sample, own, read, case["seed"])
        if case["seed"] == 0:
            label = case["codes"].replace(",", "").replace(" ", "_")
            draw_strips(strips, out / f"walks_{label}.png", f"Walks: {case['codes']}")
    return row


def codes_of(name: str, test: Any, preset: Preset, seed: int, folder: Path) -> np.ndarray:
    """The true latents, or a code that is learnt once and kept."""
    if name == TRUE:
        return test.points
    settings = pixels.PRESETS[preset.training]
    label = name.replace(",", "").replace(" ", "_")
    path = folder / f"{label}_{preset.training}_{len(test.points)}_{seed}.npz"
    if path.exists():
        return np.load(path)["codes"].astype(float)
    scenes = gd.Scenes(pixels.IMAGE_SIZE, n_jobs=1)
    encode, _ = pixels.encoder_of(name, scenes, replace(settings), seed)
    codes = encode(test.images)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, codes=codes.astype(np.float32))
    return codes


def run(preset: str, out: Path) -> bool:
    case_of = partial(run_case, out=out)
    return run_preset(preset, out, PRESETS, plan, case_of, partial(write_report, about=__doc__))


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
