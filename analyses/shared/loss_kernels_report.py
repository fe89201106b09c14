"""The tables of `analyses.loss_kernels` as Markdown, with what they show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analyses.shared.loss_kernels_published import COLUMNS, beyond_rounding

WHY_NOT = """\
One kernel sees a pair only through the power spectrum of the difference of its images, channel by
channel: distances that are a positive combination of autocorrelations of that difference. This can
measure how far something moved, and not what it is. A bank of four signed kernels, one for each
channel, sees no more than that, and gains nothing here on pairs that it has not learnt from.

- XYObject: its colours are 24 palette entries, whose order is one of hue and shade and not of
  channel values, so that a step from red to yellow and one to blue differ in kind; size and colour
  change the energy of the difference as well as its shape. A network that mixes channels can
  unfold the palette, and features do; kernels that never mix channels cannot.
- Sprites: a square looks the same after a quarter turn and an ellipse after half a turn, while the
  ground truth counts them as far apart: no loss of any kind can order those pairs. Shapes are
  labels, with distances that no image shows. What a kernel can repair are the two positions.
"""


NAMES = (
    "Names: r31 is a kernel of radius 31. The published kernels, and ours where the name says so, "
    'cut h * x to the image; our others keep all of it, except "ours r63". Kernels are symmetric '
    "and not negative unless they are signed. Adversarial ones were learnt to lower correlations."
)


def tables(results: dict[str, Any], pairs: int) -> str:
    """All tables as one text; `pairs` were drawn for each number of the other sets."""
    lines = ["# Loss kernels", ""]
    lines += _table(results["table"])
    if results["squares"]:
        lines += ["", "## Squares of other sizes, radius 63 (figure 6.1)", ""]
        lines += ["| square | pixels | learnt | steps | seconds |", "|---|---|---|---|---|"]
        lines += [
            f"| {row['size']} | {_number(row['pixel_loss'])} | {_number(row['held_out'])} | "
            f"{row['steps']} | {sum(row['seconds'].values()):.0f} |"
            for row in results["squares"]
        ]
        lines += ["", "Rank correlation on held-out random pairs, without self pairs."]
    for name in dict.fromkeys(row["set"] for row in results["sets"]):
        lines += ["", f"## {name}: rank correlation without self pairs", ""]
        lines += [f"Of {pairs:,} pairs at random, or along the factor.", ""]
        lines += _keyed([row for row in results["sets"] if row["set"] == name], "loss")
    if results["sets"]:
        lines += ["", "### Where a linear kernel cannot help", "", WHY_NOT.rstrip()]
    if results["transfer"]:
        lines += ["", "## Transfer: rank correlation on random pairs, kernels learnt on ...", ""]
        lines += _keyed(results["transfer"], "set")
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = [
        "Pearson (linear) and Spearman (rank) correlation of ground-truth and perceived distances "
        "on XYSquares, squares of 8 pixels 8 apart; ours / published (Michlo, 2022, table 6.1). "
        "Learnt losses: mean over seeds, and the range of the last column where there are more. "
        "Seconds are of preparing pairs and learning, on one thread.",
        "",
        NAMES,
    ]
    head = [column.replace("_", ", ") for column in COLUMNS]
    for self_pairs in (True, False):
        title = (
            "With pairs of an image with itself, as published" if self_pairs else ("Without them")
        )
        lines += ["", f"## {title}", "", "| loss | " + " | ".join(head) + " | seconds |"]
        lines += ["|---" * (len(head) + 2) + "|"]
        own = [row for row in rows if row["self_pairs"] == self_pairs]
        for name in dict.fromkeys(row["loss"] for row in own):
            lines.append(_row(name, [row for row in own if row["loss"] == name]))
    return [*lines, *_agreement(rows), "", _plateau()]


def _agreement(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How far the cells are from published and recomputed ones."""
    published, recomputed = (
        [
            (row[column], value)
            for row in rows
            for column, value in zip(COLUMNS, row[key] or (), strict=bool(row[key]))
            if value is not None
        ]
        for key in ("published", "recomputed")
    )
    if not published:
        return []
    beyond = [beyond_rounding(ours, value) for ours, value in published]
    apart = max(abs(ours - value) for ours, value in recomputed)
    return [
        "",
        f"The published numbers have two decimals. Of {len(beyond)} cells, "
        f"{sum(value == 0 for value in beyond)} are numbers that round to them, and the others are "
        f"within {max(beyond):.4f} of such a number. From values that disent 0.8.0 computes with "
        f"the published kernels, with and without self pairs, ours differ by at most {apart:.4f}. "
        "Without self pairs the mean squared error is the same for every pair along a factor: "
        "nothing is left to order.",
    ]


def _plateau() -> str:
    """What a distance reaches that orders everything rightly but ties nothing, and who does."""
    values = np.abs(np.arange(8)[:, None] - np.arange(8)).ravel()
    counts = np.bincount(values) / 64
    every = np.ones(1)
    for _ in range(6):  # a sum over six factors
        every = np.convolve(every, counts)
    along, random = plateau(_without(counts)), plateau(_without(every))
    return (
        "Equal ground-truth distances are ties, and a distance that orders all pairs rightly but "
        f"never ties has a ceiling: {plateau(counts, tied=counts[0]):.4f} along a factor with self "
        f"pairs (which do tie), {along:.4f} without, and {random:.5f} at random without. A kernel "
        "of radius 63 that is cut to the image gets there, ours as the published one; the linear "
        "correlation is 0.9999. To pass it at random, distances would have to be linear in the "
        "number of steps to every digit of single precision. With full support a loss depends on "
        "displacements alone: it ties equal steps along a factor and passes the ceiling there, but "
        "at random hardly any two pairs share the displacements of all squares, and the ceiling is "
        "the same. There it stays lower, for its kernel ends: longer learning, or two signed "
        "kernels, end at the same 0.996."
    )


def plateau(shares: np.ndarray, tied: float = 0.0) -> float:
    """Spearman's correlation of ordered values without ties with classes of these shares.

    With n large, the ranks of the classes have variance (1 - sum of p^3) / 12 against 1 / 12 of
    ranks without ties, and all of it is shared: the correlation is the root of the ratio. Where one
    class of share `tied` is tied among the values too, those have (1 - tied^3) / 12.
    """
    return float(np.sqrt((1 - (shares**3).sum()) / (1 - tied**3)))


def _without(shares: np.ndarray) -> np.ndarray:
    """The shares without those of pairs of an image with itself, the first."""
    return shares[1:] / shares[1:].sum()


def _row(name: str, rows: Sequence[dict[str, Any]]) -> str:
    cells = []
    for i, column in enumerate(COLUMNS):
        correlations = [row[column] for row in rows]
        if None in correlations:
            cells.append("no order")
            continue
        cell = f"{np.mean(correlations):.4f}"
        if rows[0]["published"]:
            cell += f" / {rows[0]['published'][i]:.2f}"
        elif len(correlations) > 1 and i == len(COLUMNS) - 1:
            cell += f" ({min(correlations):.4f} to {max(correlations):.4f})"
        cells.append(cell)
    seconds = [sum(row["seconds"].values()) for row in rows if "seconds" in row]
    cells.append(f"{np.mean(seconds):.0f}" if seconds else "")
    return f"| {name} | " + " | ".join(cells) + " |"


def _keyed(rows: Sequence[dict[str, Any]], first: str) -> list[str]:
    names = list(rows[0]["rank"])
    lines = [f"| {first} | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for row in rows:
        cells = " | ".join(_number(row["rank"][name]) for name in names)
        lines.append(f"| {row[first]} | {cells} |")
    return lines


def _number(value: float | None) -> str:
    return "no order" if value is None or not np.isfinite(value) else f"{value:.4f}"
