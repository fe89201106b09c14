"""Loss kernels: how far a loss that also compares h * images follows the ground truth.

1. Table 6.1 of Michlo (2022) on XYSquares, squares of 8 pixels 8 apart: kernels by hand, the
   published learnt kernels where their file is at hand, and ours, with pairs of an image with
   itself, as published, and without.
2. Its figures 6.1 to 6.3: kernels learnt for squares of 8, 4, 2 and 1 pixels, kernels by hand and
   learnt, and what a learnt kernel does to images.
3. Sprites and XYObject: one kernel, a bank, and a small network; by factor.
4. Transfer of a kernel to data it was not learnt on, and adversarial kernels.

Correlations on XYSquares are computed as in `analyses.xysquares_overlap`: exactly along factors,
and from the 64 x 64 distances of one square for random pairs.

Run `python -m analyses.loss_kernels --preset quick`; `--parts sets transfer` renews some parts and
keeps the rest. Learnt losses are kept beside the results and are not learnt again, and learning
that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import geodis as gd
from analyses import xysquares_overlap
from analyses.shared.loss_kernels_published import COLUMNS, RECOMPUTED, TABLE_6_1
from analyses.shared.loss_kernels_report import tables
from analyses.shared.run import main_of
from geodis import distances, plots
from geodis.base import Stages, whole_file, write_json
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.sprites import Sprites
from geodis.data.grids.squares import XYObject, XYSquares
from geodis.kernels import (
    FeatureOptions,
    KernelOptions,
    LossKernel,
    learn_features,
    learn_kernel,
    load_kernel,
    save_kernel,
)

OUT = Path(__file__).parent / "results" / "loss_kernels"
PUBLISHED_KERNELS = Path(__file__).parents[1] / "../shared/oracles/kernels/learnt_kernels.npz"

# Learnt on XYSquares; r31 with "same" is the setting of the published kernel.
LEARNT: dict[str, tuple[int, KernelOptions]] = {
    "ours r31": (31, KernelOptions()),
    "ours r31, cut to the image": (31, KernelOptions(support="same")),
    "ours r31, signed, no symmetry": (31, KernelOptions(symmetry="none", nonnegative=False)),
    "ours r31, four kernels": (31, KernelOptions(kernels=4)),
    "ours r31, pairs along factors": (31, KernelOptions(by="factor")),
    "ours r63": (63, KernelOptions()),
    "ours r63, full": (63, KernelOptions(support="full")),
    "adversarial r31": (31, KernelOptions(adversarial=True)),
    "adversarial r31, signed": (31, KernelOptions(adversarial=True, nonnegative=False)),
    "adversarial r63, signed": (63, KernelOptions(adversarial=True, nonnegative=False)),
}
REPEATED = ("ours r31", "ours r63")  # over all seeds
SQUARES = (8, 4, 2, 1)


@dataclass(frozen=True)
class Preset:
    """How much is drawn and learnt."""

    seeds: tuple[int, ...] = (0,)
    n_pairs: int = 2**17  # on XYSquares
    test_pairs: int = 4096  # on the other sets, at random and along each factor
    feature_steps: int = 400
    radius: int = 31  # on the other sets
    squares: tuple[int, ...] = SQUARES
    learnt: tuple[str, ...] = tuple(LEARNT)


PRESETS = {"quick": Preset(), "paper": Preset((0, 1, 2), 2**20, 4096, 600)}


class Analysis:
    """Results as they grow, and the learnt losses they rest on."""

    def __init__(self, preset: Preset, out: Path, name: str, stages: Stages) -> None:
        self.preset, self.out, self.name, self.stages = preset, out, name, stages
        self.results: dict[str, Any] = {part: [] for part in PARTS}
        self.other_sets: dict[str, FactorGrid] = {"XYObject": XYObject(), "Sprites": Sprites()}

    def keep(self, parts: Sequence[str]) -> None:
        """Take other parts than these from the results that are there."""
        path = self.out / "results.json"
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            self.results |= {part: before[part] for part in PARTS if part not in parts}

    def loss(self, key: str, make: Callable[[Path], Any]) -> Any:
        """A learnt loss: from its file where it was learnt before, else learnt and written.

        `make` gets the name of a checkpoint.
        """
        path = self.out / "losses" / f"{key}.safetensors"
        if path.exists():
            return load_kernel(path)
        checkpoint = self.out / "losses" / f"{key}.checkpoint"
        with self.stages.stage(f"learn {key}"):
            save_kernel(make(checkpoint), path)
        checkpoint.unlink(missing_ok=True)
        return load_kernel(path)

    def on_squares(self, name: str, seed: int) -> Any:
        """One of `LEARNT`."""
        key = f"{name.replace(', ', '-').replace(' ', '-')}-seed{seed}"
        radius, options = LEARNT[name]
        return self.loss(
            key,
            lambda checkpoint: learn_kernel(
                XYSquares(),
                radius,
                options=options,
                checkpoint=checkpoint,
                random_state=seed,
                verbose=0,
            ),
        )

    def write(self) -> None:
        """Write results.json and results.md, whole."""
        versions = {
            "geodis": gd.__version__,
            "numpy": np.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        }
        settings = asdict(self.preset)
        content = {"preset": self.name, "settings": settings, "versions": versions}
        write_json(self.out / "results.json", {**content, **self.results})
        with whole_file(self.out / "results.md") as temporary:
            temporary.write_text(tables(self.results, self.preset.test_pairs), encoding="utf-8")


def table_rows(name: str, loss: Any, preset: Preset, **more: Any) -> list[dict[str, Any]]:
    """Rows of table 6.1 of one loss, with self pairs and without."""
    rows = []
    sizes = xysquares_overlap.Preset(n_pairs=preset.n_pairs)
    for self_pairs in (True, False):
        measured = xysquares_overlap.run_case(8, loss, self_pairs, sizes)
        row = {
            key: None if measured["note"] and key in COLUMNS[:2] else measured[key]
            for key in COLUMNS
        }
        known = {
            "published": TABLE_6_1.get(name) if self_pairs else None,
            "recomputed": RECOMPUTED[name][0 if self_pairs else 1] if name in RECOMPUTED else None,
        }
        rows.append({"loss": name, "self_pairs": self_pairs, **known, **row, **more})
    return rows


def made(loss: Any) -> dict[str, Any]:
    """What a table says of how a loss was learnt."""
    return {key: loss.made[key] for key in ("seed", "steps", "held_out", "seconds")}


def part_table(work: Analysis) -> None:
    """Table 6.1."""
    preset = work.preset
    given: dict[str, Any] = {
        "mse": "mse",
        "gaussian r31": LossKernel.gaussian(31),
        "box r31": LossKernel.box(31),
    }
    if PUBLISHED_KERNELS.exists():
        kernels = np.load(PUBLISHED_KERNELS)
        for radius in (31, 63):
            weights = kernels[f"learnt_abs_r{radius}_xy8"]
            given[f"published kernel r{radius}"] = LossKernel(weights)
    for name, loss in given.items():
        with work.stages.stage(name):
            work.results["table"] += table_rows(name, loss, preset)
    work.write()
    for name in preset.learnt:
        for seed in preset.seeds if name in REPEATED else preset.seeds[:1]:
            loss = work.on_squares(name, seed)
            with work.stages.stage(name):
                work.results["table"] += table_rows(name, loss, preset, **made(loss))
            work.write()


def part_squares(work: Analysis) -> None:
    """Figure 6.1: squares of 8, 4, 2 and 1 pixels, as far apart as they are wide."""
    for size in work.preset.squares:
        grid = XYSquares(spacing=size, square_size=size, grid_size=64 // size)
        key = f"squares-of-{size}-r63"
        # Many places make many planes: full support, whose cost does not depend on them.
        options = KernelOptions(support="auto" if size == 8 else "full")
        loss = work.loss(key, lambda _, g=grid, o=options: learn_on(g, 63, 0, o))  # type: ignore
        work.results["squares"].append(
            {"size": size, "pixel_loss": loss.made["pixel_loss"], **made(loss)}
        )
        work.write()


def learn_on(grid: FactorGrid, radius: int, seed: int, options: KernelOptions) -> LossKernel:
    """A kernel learnt on a set, in silence, from factors that are numbers, as published."""
    options = replace(options, kinds="numbers")
    return learn_kernel(grid, radius, options=options, random_state=seed, verbose=0)


def losses_for(work: Analysis, name: str, grid: FactorGrid) -> dict[str, Any]:
    """What is compared on a set: pixels, a box, and what is learnt on it."""
    preset, seed = work.preset, work.preset.seeds[0]
    radius = min(preset.radius, max(grid.image_shape or (1,)) - 2)
    channels = (grid.image_shape or (1, 1, 1))[2]

    bank = KernelOptions(kernels=4, nonnegative=False, symmetry="flip", per_channel=channels > 1)
    losses: dict[str, Any] = {"mse": "mse", f"box r{radius}": LossKernel.box(radius)}
    losses["kernel"] = work.loss(
        f"{name}-kernel", lambda _: learn_on(grid, radius, seed, KernelOptions())
    )
    losses["four signed kernels"] = work.loss(
        f"{name}-bank", lambda _: learn_on(grid, radius, seed, bank)
    )
    losses["features"] = work.loss(
        f"{name}-features",
        lambda checkpoint: learn_features(
            grid,
            steps=preset.feature_steps,
            options=FeatureOptions(kinds="numbers"),
            checkpoint=checkpoint,
            random_state=seed,
            verbose=0,
        ),
    )
    return losses


def rank_correlation(grid: FactorGrid, loss: Any, pairs: np.ndarray) -> float:
    """Spearman's correlation over pairs of scaled ground-truth and perceived distances."""
    a, b = pairs.T
    truth = distances.ground_truth(grid.factors(a), grid.factors(b), np.array(grid.sizes))
    seen = distances.perceived_between(grid, a, b, loss)
    return distances.correlation(truth, seen).spearman


def part_sets(work: Analysis) -> None:
    """Sprites and XYObject, at random and by factor, without self pairs."""
    preset = work.preset
    for name, grid in work.other_sets.items():
        sampled = {"random": distances.sample_pairs(grid, preset.test_pairs, random_state=77)}
        for j, factor in enumerate(grid.names):
            if grid.sizes[j] > 2:  # two values have one distance
                sampled[factor] = distances.sample_pairs(
                    grid, preset.test_pairs, "factor", factor=j, random_state=78 + j
                )
        for title, loss in losses_for(work, name, grid).items():
            with work.stages.stage(f"{name}, {title}"):
                row = {key: rank_correlation(grid, loss, pairs) for key, pairs in sampled.items()}
            more = made(loss) if getattr(loss, "made", None) else {}
            work.results["sets"].append({"set": name, "loss": title, "rank": row, **more})
            work.write()


def part_transfer(work: Analysis) -> None:
    """Kernels on sets that they were not learnt on."""
    preset = work.preset
    seed = preset.seeds[0]
    kernels = {"XYSquares": work.on_squares("ours r31", seed)}
    for name in work.other_sets:
        kernels[name] = load_kernel(work.out / "losses" / f"{name}-kernel.safetensors")
    sets = {"XYSquares": XYSquares(), "XYSquares 4 apart": XYSquares(spacing=4), **work.other_sets}
    for where, grid in sets.items():
        pairs = distances.sample_pairs(grid, preset.test_pairs, random_state=77)
        row = {"mse": rank_correlation(grid, "mse", pairs)}
        for learnt_on, kernel in kernels.items():
            row[learnt_on] = rank_correlation(grid, kernel, pairs)
        work.results["transfer"].append({"set": where, "rank": row})
        work.write()


def draw(work: Analysis) -> None:
    """Figures 6.1 to 6.3, and how learning went."""
    out, seed = work.out, work.preset.seeds[0]
    by_size = {
        f"squares of {size} px": load_kernel(out / f"losses/squares-of-{size}-r63.safetensors")
        for size in work.preset.squares
    }
    plots.save_figure(plots.plot_kernels(by_size).ravel()[0], out / "kernels_by_square.png")
    ours = {name: work.on_squares(name, seed) for name in work.preset.learnt}
    shown: dict[str, Any] = {"Gaussian r31": LossKernel.gaussian(31), "box r31": LossKernel.box(31)}
    if PUBLISHED_KERNELS.exists():
        shown["published r31"] = np.load(PUBLISHED_KERNELS)["learnt_abs_r31_xy8"]
    shown |= ours
    plots.save_figure(plots.plot_kernels(shown).ravel()[0], out / "kernels.png")
    first = next(iter(ours.values()))
    axes = plots.plot_augmented_traversals(XYSquares(), first, at=9 * 1000 + 77)
    plots.save_figure(axes.ravel()[0], out / "augmented_traversals.png")
    learnt = {name: loss for name, loss in ours.items() if "adversarial" not in name}
    plots.save_figure(plots.plot_learning(learnt), out / "learning.png")


PARTS: dict[str, Callable[[Analysis], None]] = {
    "table": part_table,
    "squares": part_squares,
    "sets": part_sets,
    "transfer": part_transfer,
}


def run(
    preset: Preset,
    out: Path,
    parts: Sequence[str] = tuple(PARTS),
    *,
    name: str = "",
    verbose: bool = True,
) -> dict[str, Any]:
    """Run parts, write results as they grow, and draw the figures at the end."""
    with Stages("loss kernels", verbose) as stages:
        work = Analysis(preset, out, name, stages)
        work.keep(parts)
        for part in parts:
            PARTS[part](work)
        work.write()
        draw(work)
    return work.results


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which parts to renew; the rest is kept."""
    parser.add_argument("--parts", choices=PARTS, nargs="+", default=list(PARTS))


def run_preset(preset: str, out: Path, parts: Sequence[str]) -> bool:
    """Run a preset by its name, and show the tables."""
    run(PRESETS[preset], out, parts, name=preset)
    print((out / "results.md").read_text(encoding="utf-8"))
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 130 after Ctrl-C, when finished rows and learnt losses are written."""
    return main_of(__doc__, PRESETS, OUT, run_preset, arguments, add_options)


if __name__ == "__main__":
    sys.exit(main())
