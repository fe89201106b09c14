"""Distances within data sets: which factors a pixel loss sees, and how they agree with the truth.

1. Table 3.1 of Michlo (2022): mean and standard deviation of perceived distances along factors
   and between random pairs; its figure 3.13, their distribution.
2. Its table 4.1: correlation of ground-truth and perceived distances, for the mean squared error
   and with a box blur; its figure 3.4, average distance matrices.

Built-in sets are drawn; published ones are read from files that are given:
`python -m analyses.dataset_distances --published dsprites=dsprites.npz`. Every published number
stands beside ours. Sprites have the factors of dSprites but are drawn otherwise, so the numbers
of dSprites beside them are for orientation. Scenes are not here: rotation and light are
continuous, and no two scenes differ in one number alone.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from analyses.shared.run import main_of
from analyses.shared.studies.published_files import files_of
from geodis import distances, plots
from geodis.base import Stages, check_choice, whole_file, write_json
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.published import PUBLISHED
from geodis.distances import FactorKinds
from geodis.distances.distance_agreement import RANDOM
from geodis.distances.grid_distances import GROUND_TRUTH, PERCEIVED

OUT = Path(__file__).parent / "results" / "dataset_distances"

BLUR = "box:31"
IMAGE_SIZE = 64  # to which the study resized every set

BUILT_IN: dict[str, Callable[[], FactorGrid]] = {
    "xysquares": gd.XYSquares,
    "xyobject": gd.XYObject,
    "xyobject_shades": gd.XYObjectShades,
    "sprites": gd.Sprites,
    "sprites_masked": lambda: gd.NoiseMasked(gd.Sprites(binary=True), random_state=0),
}
# Every image of these takes a texture of its own: one pair of so many.
THINNED = {"sprites_masked": 16}

# Table 3.1: factor -> mean and standard deviation; "all" stands for every factor.
TABLE_3_1: dict[str, dict[str, tuple[float, float]]] = {
    "cars3d": {
        "random": (0.0519, 0.0188),
        "azimuth": (0.0355, 0.0185),
        "object_type": (0.0349, 0.0176),
        "elevation": (0.0174, 0.0100),
    },
    "shapes3d": {
        "random": (0.2432, 0.0918),
        "wall_hue": (0.1122, 0.0661),
        "floor_hue": (0.1086, 0.0623),
        "object_hue": (0.0416, 0.0292),
        "shape": (0.0207, 0.0161),
        "scale": (0.0182, 0.0153),
        "orientation": (0.0116, 0.0079),
    },
    "smallnorb": {
        "random": (0.0535, 0.0529),
        "lighting": (0.0531, 0.0563),
        "category": (0.0113, 0.0066),
        "rotation": (0.0090, 0.0071),
        "instance": (0.0068, 0.0048),
        "elevation": (0.0034, 0.0030),
    },
    "dsprites": {
        "random": (0.0754, 0.0289),
        "y": (0.0584, 0.0378),
        "x": (0.0559, 0.0363),
        "scale": (0.0250, 0.0148),
        "shape": (0.0214, 0.0095),
        "orientation": (0.0172, 0.0106),
    },
    "xysquares": {"random": (0.0308, 0.0022), "all": (0.0104, 0.0000)},
}
# Table 4.1 (and 4.2 for XYSquares): linear and rank (mse), linear and rank (box).
TABLE_4_1: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "cars3d": {
        "random": (0.15, 0.13, 0.04, 0.10),
        "elevation": (0.90, 0.93, 0.69, 0.88),
        "azimuth": (0.30, 0.34, 0.08, 0.25),
        "object_type": (0.04, 0.04, 0.00, 0.01),
    },
    "shapes3d": {
        "random": (0.53, 0.45, 0.29, 0.29),
        "floor_hue": (0.62, 0.76, 0.60, 0.74),
        "wall_hue": (0.60, 0.74, 0.55, 0.72),
        "object_hue": (0.53, 0.71, 0.41, 0.63),
        "scale": (0.81, 0.88, 0.71, 0.87),
        "shape": (0.69, 0.79, 0.58, 0.80),
        "orientation": (0.84, 0.92, 0.74, 0.87),
    },
    "smallnorb": {
        "random": (0.10, 0.14, 0.07, 0.14),
        "category": (0.44, 0.53, 0.15, 0.47),
        "instance": (0.37, 0.52, 0.10, 0.51),
        "elevation": (0.81, 0.90, 0.51, 0.64),
        "rotation": (0.12, 0.19, 0.07, 0.21),
        "lighting": (0.07, 0.29, 0.07, 0.28),
    },
    "dsprites": {
        "random": (0.43, 0.38, 0.29, 0.36),
        "shape": (0.66, 0.72, 0.66, 0.87),
        "scale": (0.93, 0.95, 0.84, 0.96),
        "orientation": (0.13, 0.17, 0.15, 0.21),
        "x": (0.66, 0.75, 0.63, 0.83),
        "y": (0.65, 0.75, 0.63, 0.83),
    },
    "xysquares": {"random": (0.55, 0.36, 0.95, 0.94), "all": (0.52, 0.58, 0.96, 0.97)},
}
TITLES = {
    "xysquares": "XYSquares",
    "xyobject": "XYObject",
    "xyobject_shades": "XYObject (shades)",
    "sprites": "Sprites",
    "sprites_masked": "Sprites on noise",
    "cars3d": "Cars3D",
    "shapes3d": "3D Shapes",
    "smallnorb": "SmallNORB",
    "dsprites": "dSprites",
    "mpi3d": "MPI3D",
}
# Published numbers that stand beside a set which is only like the published one.
LIKE = {"sprites": "dsprites"}
COLUMNS = ("pearson mse", "spearman mse", "pearson box", "spearman box")
# The study takes every factor as a number; the last are of what factors are: any two labels are as
# far apart, which is no order along the factor, and circles go round.
RUNS: tuple[tuple[str, bool, FactorKinds | None], ...] = (
    ("with self pairs", True, "numbers"),
    ("without", False, "numbers"),
    ("as what they are", False, None),
)
TOGETHER = "geometric mean"
TOLERANCE, EXACT_TOLERANCE = 0.01, 0.001


@dataclass(frozen=True)
class Preset:
    """How many pairs a factor; the study drew 50,000 and 1,048,576."""

    importance_pairs: int = 20_000
    correlation_pairs: int = 2**16  # all ordered pairs of 1024 traversals of eight values
    blurred_pairs: int = 2**16
    n_traversals: int = 128
    seed: int = 0


PRESETS = {"quick": Preset(), "paper": Preset(50_000, 2**20, 2**18, 512)}


def run_set(name: str, grid: FactorGrid, preset: Preset) -> dict[str, Any]:
    """Everything about one data set."""
    options: dict[str, Any] = {"random_state": preset.seed}
    preset = thinned(preset, THINNED.get(name, 1))
    importance = distances.factor_importance(grid, n_pairs=preset.importance_pairs, **options)
    correlations: dict[str, dict[str, dict[str, float]]] = {}
    losses = (("mse", "mse", preset.correlation_pairs), ("box", BLUR, preset.blurred_pairs))
    others = bool(set(grid.kinds) - {"numbers"})
    for title, self_pairs, kinds in RUNS[: 3 if others else 2]:
        rows: dict[str, dict[str, float]] = {}
        for short, loss, n_pairs in losses:
            agreement = distances.distance_correlations(
                grid, loss=loss, n_pairs=n_pairs, kinds=kinds, self_pairs=self_pairs, **options
            )
            for factor, by_pair in {RANDOM: agreement.random, **agreement.factors}.items():
                for measure in ("pearson", "spearman"):
                    value = getattr(by_pair[GROUND_TRUTH, PERCEIVED], measure)
                    rows.setdefault(factor, {})[f"{measure} {short}"] = value
        means = [rows[factor] for factor in rows if factor != RANDOM]
        rows[TOGETHER] = {
            column: distances.geometric_mean([row[column] for row in means])
            for column in (means[0] if means else ())
        }
        correlations[title] = rows
    matrices = distances.traversal_matrices(grid, n_traversals=preset.n_traversals, **options)
    return {
        "name": name,
        "sizes": dict(zip(grid.names, grid.sizes, strict=True)),
        "importance": importance,
        "correlations": correlations,
        "matrices": matrices,
    }


def thinned(preset: Preset, by: int) -> Preset:
    """The preset with one pair of so many."""
    counts = ("importance_pairs", "correlation_pairs", "blurred_pairs", "n_traversals")
    return replace(preset, **{name: max(2, getattr(preset, name) // by) for name in counts})


def published_beside(name: str, factor: str) -> dict[str, float]:
    """Published numbers of a factor, or of the set that a set is like."""
    source = LIKE.get(name, name)
    spread = TABLE_3_1.get(source, {})
    agree = TABLE_4_1.get(source, {})
    everything = "" if factor == RANDOM else "all"
    numbers: dict[str, float] = {}
    if (row := spread.get(factor) or spread.get(everything)) is not None:
        numbers |= dict(zip(("mean", "std"), row, strict=True))
    if (cells := agree.get(factor) or agree.get(everything)) is not None:
        numbers |= dict(zip(COLUMNS, cells, strict=True))
    return numbers


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for every factor: ours, with and without self pairs, and the published."""
    importance = result["importance"]
    rows = []
    for factor in importance.names:
        row: dict[str, Any] = {"factor": factor, "mean": importance.mean[factor]}
        row["std"] = importance.std[factor]
        for kind, by_factor in result["correlations"].items():
            row[kind] = by_factor.get(factor, {})
        row["published"] = published_beside(result["name"], factor)
        rows.append(row)
    together = {kind: by[TOGETHER] for kind, by in result["correlations"].items()}
    return [*rows, {"factor": TOGETHER, "mean": None, "std": None, **together, "published": {}}]


def check(result: dict[str, Any]) -> list[str]:
    """Say which numbers of a published set are not reproduced, and why."""
    name, notes = result["name"], []
    if name in LIKE:
        return [
            f"{TITLES[name]} are drawn by geodis with smooth edges: numbers of "
            f"{TITLES[LIKE[name]]} stand beside them for orientation, not as a claim.",
            f"{TITLES[name]}, orientation: it has no order for pixels around its circle either, "
            "for a square looks the same after a quarter of a turn and an ellipse after a half.",
        ]
    for row in rows_of(result):
        for key, value in row["published"].items():
            ours = row[key] if key in ("mean", "std") else row["with self pairs"].get(key)
            exact = name == "xysquares" and key in ("mean", "std")
            tolerance = EXACT_TOLERANCE if exact else TOLERANCE
            # Published numbers are rounded: half of their last digit is no difference.
            if ours is not None and abs(ours - value) > tolerance:
                notes.append(
                    f"{TITLES[name]}, {row['factor']}, {key}: {ours:.4f}, published {value}: "
                    f"{_reason(name)}."
                )
    return notes


def _reason(name: str) -> str:
    if name == "xysquares":
        return "more than both numbers of pairs explain"
    return (
        f"images were resized to {IMAGE_SIZE} x {IMAGE_SIZE} here and in the study by different "
        "filters, and both are estimates from random pairs"
    )


def run(
    preset: Preset,
    out: Path,
    grids: Mapping[str, Callable[[], FactorGrid]],
    *,
    name: str = "",
    verbose: bool = True,
) -> list[dict[str, Any]]:
    """Run every set; tables and the figures of a set are written as soon as it is done."""
    results: list[dict[str, Any]] = []
    with Stages("data sets", verbose) as stages:
        for i, (key, make) in enumerate(grids.items()):
            with stages.stage(TITLES.get(key, key)):
                stages.advance(i / len(grids))
                results.append(run_set(key, make(), preset))
            draw(results[-1], out)
            write_tables(results, preset, out, name)
    return results


def write_tables(results: Sequence[dict[str, Any]], preset: Preset, out: Path, name: str) -> None:
    """Write results.json with everything, and results.md with tables for people."""
    versions = {"geodis": gd.__version__, "numpy": np.__version__}
    versions["python"] = platform.python_version()
    sets = [
        {
            "name": result["name"],
            "sizes": result["sizes"],
            "rows": rows_of(result),
            "matrices": result["matrices"],
            "notes": check(result),
        }
        for result in results
    ]
    content = {"preset": name, "settings": asdict(preset), "versions": versions, "sets": sets}
    write_json(out / "results.json", content)
    lines = [
        "# Distances within data sets",
        "",
        f"Preset {name or 'given'}. Ours / published (Michlo, 2022, tables 3.1, 4.1 and 4.2). "
        "Correlations of ground-truth and perceived distances: linear and rank, mean squared error "
        f"(mse) and with a box blur of radius 31 (box), with pairs of an image with itself as "
        "published, all factors as numbers. In brackets the same without such pairs, and behind a "
        "semicolon with factors as what they are, which is what geodis takes by default: any two "
        "labels are as far apart, so that along the factor there is no order, and circles go "
        "round. The geometric mean is over the factors that have an order.",
    ]
    for result in results:
        lines += ["", f"## {TITLES.get(result['name'], result['name'])}", ""]
        if result["name"] in THINNED:
            lines += [f"One pair of {THINNED[result['name']]}: these are the roughest.", ""]
        if result["name"] in LIKE:
            lines += [f"Beside them: {TITLES[LIKE[result['name']]]}, which is another set.", ""]
        lines += ["| factor | mean | std | " + " | ".join(COLUMNS) + " |"]
        lines += ["|---" * (3 + len(COLUMNS)) + "|"]
        for row in rows_of(result):
            published = row["published"]
            cells = [
                "" if row[key] is None else _beside(row[key], published.get(key), 4)
                for key in ("mean", "std")
            ]
            for key in COLUMNS:
                if key not in row["with self pairs"]:
                    cells.append("")
                    continue
                bare = row["without"].get(key)
                without = "" if bare is None else f" ({bare:.2f}{_other(row, key)})"
                ours = _beside(row["with self pairs"][key], published.get(key), 2)
                cells.append(ours + without)
            lines.append(f"| {row['factor']} | " + " | ".join(cells) + " |")
    notes = [note for result in results for note in check(result)]
    lines += ["", "## Where ours differ, and why", ""]
    lines += [f"- {note}" for note in notes] or ["- Nowhere."]
    lines += [
        f"- Published numbers were matched within {TOLERANCE} (means and deviations of XYSquares "
        f"within {EXACT_TOLERANCE})."
    ]
    with whole_file(out / "results.md") as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _other(row: Mapping[str, Any], key: str) -> str:
    """The correlation with factors as what they are, where some are no numbers."""
    if "as what they are" not in row:
        return ""
    return f"; {row['as what they are'][key]:.2f}" if row["as what they are"] else "; no order"


def _beside(ours: float, published: float | None, digits: int) -> str:
    shown = f"{ours:.{digits}f}"
    return shown if published is None else f"{shown} / {published:.{digits}f}"


def draw(result: dict[str, Any], out: Path) -> None:
    """Figures 3.4 and 3.13 of one data set."""
    title = TITLES.get(result["name"], result["name"])
    axis = plots.plot_traversal_matrices(result["matrices"], title)
    plots.save_figure(axis, out / f"matrices_{result['name']}.png")
    axis = plots.plot_distance_distribution(result["importance"])
    axis.set_title(title, loc="left", fontsize=10)
    plots.save_figure(axis, out / f"distribution_{result['name']}.png")


def chosen_grids(published: Sequence[str], only: Sequence[str]) -> dict[str, Callable[[], Any]]:
    """The built-in sets that were asked for, and published ones from their files."""
    grids = {name: make for name, make in BUILT_IN.items() if not only or name in only}

    def opener(name: str, path: str) -> Callable[[], Any]:
        known = check_choice(name, "--published", PUBLISHED)
        return lambda: gd.published_grid(known, path, image_size=IMAGE_SIZE)

    for name, path in files_of(published, PUBLISHED, "dsprites=dsprites.npz").items():
        grids[name] = opener(name, path)
    return grids


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which sets: some of the built-in ones, and published ones from their files."""
    parser.add_argument("--only", action="append", default=[], choices=BUILT_IN)
    parser.add_argument(
        "--published",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help=f"a published data set from its file: {', '.join(PUBLISHED)}",
    )


def run_preset(preset: str, out: Path, only: Sequence[str], published: Sequence[str]) -> bool:
    """Run a preset by its name, and say what is unlike the published tables."""
    grids = chosen_grids(published, only)
    for result in run(PRESETS[preset], out, grids, name=preset):
        for note in check(result):
            print(note)
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 2 for input that cannot be used, 130 after Ctrl-C."""
    return main_of(__doc__, PRESETS, OUT, run_preset, arguments, add_options)


if __name__ == "__main__":
    sys.exit(main())
