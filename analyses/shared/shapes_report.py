"""What `metric_agreement` found of factors of several shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analyses.shared.shaped_codes import SHAPES

# Of a perfect code, below it a score does not give the factors their due.
DUE = 0.9


def shapes_text(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Scores of perfect and of turned codes, a column a shape."""
    shapes = [shape for shape in SHAPES if any(row["shape"] == shape for row in rows)]
    means = {
        (shape, state): pd.DataFrame(
            [row["scores"] for row in rows if (row["shape"], row["state"]) == (shape, state)]
        ).mean()
        for shape in shapes
        for state in ("perfect", "turned")
    }
    lines = ["", "## Circles, spheres, and factors that depend on each other", ""]
    lines += [f"- {shape}: {SHAPES[shape]}" for shape in shapes]
    lines += [
        "",
        "Perfect codes with noise of a hundredth, and the same turned by a random rotation of all "
        f"latents. In bold perfect codes below {DUE} (above {1 - DUE:.1f} for t_mex, lower is "
        "better). Scores of single latents and columns cannot give a circle or a sphere its due; "
        "gaps and ratios of information punish factors for what they say of each other.",
        "",
        "| score | " + " | ".join(f"{shape}, {state}" for shape, state in means) + " |",
        "|---" + "|--:" * len(means) + "|",
    ]
    names = list(dict.fromkeys(name for mean in means.values() for name in mean.index))
    for name in names:
        cells = []
        for (_, state), mean in means.items():
            value = mean.get(name)
            short = value is not None and (value > 1 - DUE if name == "t_mex" else value < DUE)
            text = "" if value is None else f"{value:.2f}"
            cells.append(f"**{text}**" if short and state == "perfect" else text)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
