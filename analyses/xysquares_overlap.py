"""XYSquares with more and more overlap: how far pixel distances and ground truth agree.

1. Table 4.2 of Michlo (2022), spacings 1 to 8: correlation of ground-truth with perceived
   distances along factors, for the mean squared error and with a box blur (3.8), each published
   number beside ours; with pairs of an image with itself, as published, and without.
2. The rows of its table 6.1 that need no learnt kernel: random pairs, and a Gaussian blur.
3. Its figure 3.9: average distance matrices by spacing, and whether each set is adversarial.

Correlations along factors are exact: all pairs, every place of the square. Every square has a
channel of its own and the losses are means over channels, so distances of three squares are means
of distances of one, which is what is computed; some pairs are compared with the images.

Run `python -m analyses.xysquares_overlap --preset quick`.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from analyses.shared.run import main_of
from geodis import distances, plots
from geodis.base import Stages, whole_file, write_json
from geodis.distances.grid_distances import GROUND_TRUTH, PERCEIVED

OUT = Path(__file__).parent / "results" / "xysquares_overlap"

MEASURES = ("pearson", "spearman")

# Table 4.2: spacing -> linear and rank correlation, by loss.
TABLE_4_2 = {
    "mse": {
        1: (1.00, 1.00),
        2: (0.94, 0.99),
        3: (0.86, 0.95),
        4: (0.75, 0.85),
        5: (0.72, 0.85),
        6: (0.67, 0.85),
        7: (0.60, 0.85),
        8: (0.52, 0.58),
    },
    "box:31": {
        1: (0.98, 0.99),
        2: (0.99, 0.99),
        3: (0.99, 0.99),
        4: (0.99, 0.99),
        5: (0.99, 0.99),
        6: (0.98, 0.98),
        7: (0.97, 0.98),
        8: (0.96, 0.97),
    },
}
# Table 6.1, spacing 8: loss -> linear and rank, along factors and at random.
TABLE_6_1 = {
    "mse": ((0.52, 0.58), (0.55, 0.36)),
    "gaussian:31": ((0.84, 0.88), (0.73, 0.61)),
    "box:31": ((0.96, 0.97), (0.95, 0.94)),
}
TOLERANCE = 0.01
CHECKED_PAIRS = 500
WITHOUT = ", no self pairs"


@dataclass(frozen=True)
class Preset:
    """How many pairs are drawn, and which spacings."""

    spacings: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    n_pairs: int = 2**17
    seed: int = 0


# The study drew 1,048,576 pairs.
PRESETS = {"quick": Preset(), "paper": Preset(n_pairs=2**20)}


def run_case(spacing: int, loss: str, self_pairs: bool, preset: Preset) -> dict[str, Any]:
    """Correlations along factors, exactly, and over random pairs, beside what was published."""
    one = gd.XYSquares(spacing, n_squares=1, rgb=False)
    along = distances.distance_correlations(one, loss=loss, self_pairs=self_pairs)
    # Rows and columns of the picture are alike: one of the two factors is enough.
    factor = next(iter(along.factors.values()))[GROUND_TRUTH, PERCEIVED]
    truth, seen, error = random_distances(spacing, loss, self_pairs, preset)
    random = distances.correlation(truth, seen)
    row: dict[str, Any] = {
        "spacing": spacing,
        "loss": loss,
        "self_pairs": self_pairs,
        "n_pairs": random.n,
        "exact": all(along.exact[name] for name in along.factors),
        "note": factor.note,
        "relative_error_of_the_table": error,
    }
    for k, measure in enumerate(MEASURES):
        row[f"factor_{measure}"] = getattr(factor, measure)
        row[f"random_{measure}"] = getattr(random, measure)
        if loss in TABLE_4_2:
            row[f"published_factor_{measure}"] = TABLE_4_2[loss][spacing][k]
        if spacing == 8 and loss in TABLE_6_1:
            row[f"published_factor_{measure}"] = TABLE_6_1[loss][0][k]
            row[f"published_random_{measure}"] = TABLE_6_1[loss][1][k]
    return row


def random_distances(
    spacing: int, loss: str, self_pairs: bool, preset: Preset
) -> tuple[np.ndarray, np.ndarray, float]:
    """Ground-truth and perceived distances of random pairs of images of three squares.

    The loss is a mean over channels, and a channel has one square: distances of the 64 x 64 pairs
    of places are looked up. On some of the pairs this is compared with the images themselves.
    """
    grid, one = gd.XYSquares(spacing), gd.XYSquares(spacing, n_squares=1, rgb=False)
    left, right = np.divmod(np.arange(len(one) ** 2), len(one))
    table = distances.perceived_between(one, left, right, loss).reshape(len(one), len(one))
    rng = np.random.default_rng(preset.seed)
    a, b = distances.random_pairs(grid, preset.n_pairs, rng, self_pairs=self_pairs)[0].T
    factors = grid.factors(a), grid.factors(b)
    places = [one.index(side.reshape(-1, 2)).reshape(-1, 3) for side in factors]
    seen = table[places[0], places[1]].mean(axis=1)
    part = slice(CHECKED_PAIRS)
    drawn = distances.perceived_between(grid, a[part], b[part], loss)
    error = float((np.abs(drawn - seen[part]) / seen.max()).max())
    return distances.ground_truth(*factors), seen, error


def run_spacing(spacing: int, preset: Preset) -> dict[str, Any]:
    """Average matrices along a factor, and the diagnosis of overlap."""
    one = gd.XYSquares(spacing, n_squares=1, rgb=False)
    grid = gd.XYSquares(spacing)
    options: dict[str, Any] = {"n_traversals": None}
    overlaps = distances.overlap(grid, n_pairs=2000, random_state=preset.seed)
    return {
        "spacing": spacing,
        "matrices": {
            "ground truth": distances.traversal_matrix(one, 0, GROUND_TRUTH, **options),
            "perceived, mse": distances.traversal_matrix(one, 0, loss="mse", **options),
            "perceived, box:31": distances.traversal_matrix(one, 0, loss="box:31", **options),
        },
        "adversarial": overlaps.adversarial,
        "told_apart": float(np.mean([along.told_apart for along in overlaps.factors.values()])),
    }


def differences(row: dict[str, Any]) -> dict[str, float]:
    """Ours minus the published, for every published number of a row."""
    return {
        key.removeprefix("published_"): row[key.removeprefix("published_")] - value
        for key, value in row.items()
        if key.startswith("published_")
    }


def explain(row: dict[str, Any]) -> str:
    """Why a row does not reproduce what was published; empty if it does."""
    off = {key: value for key, value in differences(row).items() if abs(value) > TOLERANCE}
    if not off:
        return ""
    numbers = ", ".join(f"{key.replace('_', ' ')} {value:+.3f}" for key, value in off.items())
    head = f"spacing {row['spacing']}, {row['loss']}: {numbers}"
    if row["self_pairs"]:
        return f"{head} although pairs of an image with itself are in: not explained."
    if row["note"]:
        return f"{head}: without self pairs all distances are equal, and nothing is left to order."
    return f"{head}: the published number counts pairs of an image with itself."


def run(preset: Preset, out: Path, *, name: str = "", verbose: bool = True) -> list[dict[str, Any]]:
    """Run every case, write tables as they grow, and draw the figures at the end."""
    cases = [
        (spacing, loss, self_pairs)
        for spacing in preset.spacings
        for loss in ("mse", "box:31", *(["gaussian:31"] if spacing == 8 else []))
        for self_pairs in (True, False)
    ]
    rows: list[dict[str, Any]] = []
    spacings: list[dict[str, Any]] = []
    with Stages("XYSquares", verbose) as stages:
        for i, (spacing, loss, self_pairs) in enumerate(cases):
            with stages.stage(f"{i + 1}/{len(cases)} spacing {spacing}, {loss}"):
                stages.advance(i / len(cases))
                rows.append(run_case(spacing, loss, self_pairs, preset))
            write_tables(rows, spacings, preset, out, name)
        for spacing in preset.spacings:
            with stages.stage(f"matrices, spacing {spacing}"):
                spacings.append(run_spacing(spacing, preset))
    write_tables(rows, spacings, preset, out, name)
    draw(rows, spacings, out)
    return rows


def write_tables(
    rows: Sequence[dict[str, Any]],
    spacings: Sequence[dict[str, Any]],
    preset: Preset,
    out: Path,
    name: str,
) -> None:
    """Write results.json with everything, and results.md with tables for people."""
    versions = {"geodis": gd.__version__, "numpy": np.__version__}
    versions["python"] = platform.python_version()
    content = {"preset": name, "settings": asdict(preset), "versions": versions, "rows": rows}
    write_json(out / "results.json", {**content, "spacings": list(spacings)})
    lines = [
        "# XYSquares: overlap and correlation",
        "",
        "Pearson (linear) and Spearman (rank) correlation of ground-truth and perceived "
        "distances; ours / published (Michlo, 2022, tables 4.2 and 6.1).",
    ]
    for self_pairs in (True, False):
        own = [row for row in rows if row["self_pairs"] == self_pairs]
        title = (
            "With pairs of an image with itself, as published"
            if self_pairs
            else ("Without them: what geodis takes by default")
        )
        lines += ["", f"## {title}", ""]
        lines += [
            "| spacing | loss | linear, factor | rank, factor | linear, random | rank, random |",
            "|---|---|---|---|---|---|",
        ]
        for row in own:
            cells = [
                _cell(row, f"{where}_{measure}")
                for where in ("factor", "random")
                for measure in MEASURES
            ]
            lines.append(f"| {row['spacing']} | {row['loss']} | " + " | ".join(cells) + " |")
    with_self = [row for row in rows if row["self_pairs"]]
    worst = max((abs(v) for row in with_self for v in differences(row).values()), default=0.0)
    lines += [
        "",
        f"Largest difference from a published number with self pairs: {worst:.4f} (they have two "
        "decimals). Correlations along factors are exact (all pairs of one square at every "
        "place); random pairs are drawn from the whole set, 1 in 32 of them self pairs in the "
        "first table.",
    ]
    notes = [note for row in rows if (note := explain(row))]
    if notes:
        lines += ["", "## Where ours differ by more than 0.01, and why", ""]
        lines += [f"- {note}" for note in notes]
    if spacings:
        lines += ["", "## Can two distances from the same image be told apart (mse)?", ""]
        lines += ["| spacing | share of triplets told apart | adversarial |", "|---|---|---|"]
        lines += [
            f"| {item['spacing']} | {item['told_apart']:.3f} | "
            f"{'yes' if item['adversarial'] else 'no'} |"
            for item in spacings
        ]
    with whole_file(out / "results.md") as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cell(row: dict[str, Any], key: str) -> str:
    published = row.get(f"published_{key}")
    shown = "no order" if row["note"] and key.startswith("factor") else f"{row[key]:.3f}"
    return shown if published is None else f"{shown} / {published:.2f}"


def draw(rows: Sequence[dict[str, Any]], spacings: Sequence[dict[str, Any]], out: Path) -> None:
    """Figure 3.9, and table 4.2 as lines."""
    kinds = spacings[0]["matrices"]
    matrices = {
        kind: {f"{item['spacing']} px": item["matrices"][kind] for item in reversed(spacings)}
        for kind in kinds
    }
    axis = plots.plot_traversal_matrices(matrices, "Spacing of the grid, squares of 8 pixels")
    plots.save_figure(axis, out / "matrices.png")
    lines: dict[str, dict[float, float]] = {}
    published: dict[str, dict[float, float]] = {}
    for row in rows:
        if row["loss"] not in TABLE_4_2:
            continue
        for measure in MEASURES:
            with_self = "" if row["self_pairs"] else WITHOUT
            line = f"{row['loss']}, {measure}{with_self}"
            lines.setdefault(line, {})[row["spacing"]] = row[f"factor_{measure}"]
            if row["self_pairs"]:
                value = row[f"published_factor_{measure}"]
                published.setdefault(line, {})[row["spacing"]] = value
    twins = {line: line.removesuffix(WITHOUT) for line in lines if line.endswith(WITHOUT)}
    axis = plots.plot_correlation_by_spacing(lines, published, twins=twins)
    plots.save_figure(axis, out / "correlations.png")


def run_preset(preset: str, out: Path) -> bool:
    """Run a preset by its name, and say where and why published numbers differ."""
    for row in run(PRESETS[preset], out, name=preset):
        if note := explain(row):
            print(note)
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 130 after Ctrl-C."""
    return main_of(__doc__, PRESETS, OUT, run_preset, arguments)


if __name__ == "__main__":
    sys.exit(main())
