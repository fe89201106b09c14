"""The page of all doubts, made from their registry, and its pictures.

A hook of MkDocs. The page is in the repository; a test says when it is behind:
`python docs/doubts_page.py` writes it and draws the pictures, which are drawn again when this file
changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np

PAGE = Path(__file__).parent / "pages" / "doubts.md"
PICTURES = PAGE.parent / "figures" / "doubts"

HEAD = """# Doubts, and what to do

An answer that may be wrong comes with its reasons: `est.uncertain_` is true, and `est.doubts_` has
a `Doubt` for each. A doubt prints as a sentence, and has a `code`, a `kind`, the numbers behind it
in `evidence`, what it is `about`, and a `remedy`:

```python
import warnings

import numpy as np

import geodis as gd

side = np.linspace(0, 1, 30)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # they say the same
    est = gd.GeoManCER(verbose=0).fit(grid)
for doubt in est.doubts_:
    print(doubt.code, doubt.evidence, doubt.remedy, sep="\\n  ")
assert "grid" in [doubt.code for doubt in est.doubts_]
```

Estimates of the dimension (`est.dimension_.doubts`), flat parts (`est.flat_evidence_.doubts`), the
product test (`est.product_test_.doubts`) and the names of spaces (`est.topology_[0].doubts`) have
doubts, too. Every code is on this page. Words in italics stand for numbers of your data. A doubt
marked "remark" weighs nothing when `dim="scan"` compares dimensions.
"""

# The heading of every kind, what it is, and what its picture shows.
KINDS = {
    "sampling": (
        "The rows are no random sample",
        "The method assumes rows that are drawn independently from the whole space.",
        "A grid, a walk along part of a ring, two pieces, and points far from all others",
    ),
    "noise": (
        "Noise hides the answer",
        "Noise blurs tangents, and with them the dimension and the directions of factors.",
        "A thin ring, a thick ring, and counts whose scatter grows with their size",
    ),
    "metric": (
        "Lengths are not those of a product",
        "In a product, lengths in one factor do not depend on the place in another.",
        "A cylinder of one width and one whose width changes, and a flat and a curved sheet",
    ),
    "not a manifold": (
        "The points lie on no manifold",
        "A manifold looks like a line, a plane or a solid near every point, of one dimension.",
        "Three arms that meet, a disc with a line, and two crossing curves",
    ),
    "not global": (
        "It holds nearby and not for the whole",
        "Directions may split at every point although the space as a whole is no product.",
        "A cylinder and a Moebius band: alike nearby, different as a whole",
    ),
    "too few points": (
        "There are too few points",
        "A neighbourhood must be small against the curvature and still hold many points.",
        "A star-shaped curve in 30, 120 and 1,000 points",
    ),
    "told by the user": (
        "What was given disagrees with the points",
        "Parameters are obeyed, and checked against the points where that is possible.",
        "A ring with dim=2, a disc with dim=1, and two groups with n_factors=2",
    ),
}


def on_pre_build(config: Any) -> None:
    """Write the page and draw its pictures before the pages are collected."""
    write_page(PAGE)
    made = PICTURES / "made"
    if not made.exists() or made.stat().st_mtime < Path(__file__).stat().st_mtime:
        draw_all(PICTURES)
        made.touch()


def write_page(path: Path) -> None:
    """Write the page where it has changed."""
    text = doubts_page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def doubts_page() -> str:
    """A section a kind, with a picture and a heading a doubt."""
    from geodis.manifold.doubts import doubt_kinds

    lines = [HEAD]
    for kind, (title, what, picture) in KINDS.items():
        lines += [f"## {title}\n", f"{what}\n"]
        lines += [f"![{picture}](figures/doubts/{picture_name(kind)}.png)\n"]
        for of in doubt_kinds().values():
            if of.kind == kind:
                remark = "" if of.weight else " *(remark)*"
                lines += [f"### `{of.code}`{remark}\n"]
                lines += [f"- **It says:** “{readable(of.sentence)}”"]
                lines += [f"- **It arises when:** {of.why}"]
                todo = readable(of.remedy)
                lines += [f"- **What to do:** {todo[0].upper()}{todo[1:]}.\n"]
    return "\n".join(lines).rstrip() + "\n"


def picture_name(kind: str) -> str:
    """The name of the file of a kind's picture."""
    return kind.replace(" ", "_")


def readable(template: str) -> str:
    """A template with the names of its numbers in italics."""
    return re.sub(r"\{(\w+)[^}]*\}", r"*\1*", template).replace("**", "* *")


# ---- pictures ----


def draw_all(folder: Path) -> None:
    """Draw the picture of every kind."""
    from geodis import plots

    assert set(DRAWN) == set(KINDS) == set(kinds())
    folder.mkdir(parents=True, exist_ok=True)
    for kind, draw in DRAWN.items():
        shown = draw(np.random.default_rng(0))
        axes = plots.new_axes(1, len(shown), 2.4 * len(shown), 2.7)[0]
        for axis, (title, points) in zip(axes, shown.items(), strict=True):
            axis.scatter(*points.T, s=4, color=plots.INK, linewidths=0)
            axis.set_title(title, fontsize=9, loc="left")
            axis.set_aspect("equal")
            axis.set_axis_off()
        plots.save_figure(axes[0], folder / f"{picture_name(kind)}.png")


def kinds() -> tuple[str, ...]:
    """All kinds of doubt."""
    from geodis.manifold.doubts import Kind

    return get_args(Kind)


def ring(angle: np.ndarray, radius: float | np.ndarray = 1.0) -> np.ndarray:
    """Points at angles, shape (n, 2)."""
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def turned(points: np.ndarray) -> np.ndarray:
    """Points in space (n, 3) seen a little from above, shape (n, 2)."""
    return np.column_stack([points[:, 0], 0.35 * points[:, 1] + 0.94 * points[:, 2]])


def of_sampling(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Rows that are no random sample."""
    side = np.linspace(-1, 1, 18)
    walk = np.cumsum(0.03 * rng.standard_normal(500))
    pieces = rng.uniform(-0.4, 0.4, (400, 2))
    pieces[200:] += [1.2, 0.0]
    far = np.vstack([0.4 * rng.standard_normal((400, 2)), rng.uniform(-3, 3, (12, 2))])
    return {
        "grid": np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2),
        "slow-walk": ring(walk) + 0.02 * rng.standard_normal((500, 2)),
        "pieces": pieces,
        "outliers": far,
    }


def of_noise(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Noise, even and growing with the values."""
    circle, noise = ring(rng.uniform(0, 2 * np.pi, 600)), rng.standard_normal((600, 2))
    rates = np.exp(rng.uniform(0, 4, (600, 1))) * [1.0, 0.7]
    return {
        "clear": circle + 0.03 * noise,
        "wrong-order": circle + 0.35 * noise,
        "counts": rng.poisson(rates).astype(float),
    }


def of_metric(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Products, and surfaces whose lengths depend on the place."""
    angle, height = rng.uniform(0, 2 * np.pi, 1200), rng.uniform(-1, 1, 1200)
    u, v = rng.uniform(-1, 1, (2, 1200))
    wide = 0.6 + 0.35 * np.cos(3 * height)
    return {
        "a product": turned(np.column_stack([ring(angle, 0.7), height])),
        "departure": turned(np.column_stack([ring(angle, wide), height])),
        "flat": turned(np.column_stack([u, v, 0.5 * u**2])),
        "curved-part": turned(np.column_stack([u, v, u**2 - v**2])),
    }


def of_no_manifold(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Places where arms or dimensions meet."""
    arm = rng.uniform(0, 1, 500)
    arms = ring(2 * np.pi / 3 * rng.integers(3, size=500), arm)
    disc = ring(rng.uniform(0, 2 * np.pi, 400), 0.6 * np.sqrt(rng.uniform(size=400)))
    line = np.column_stack([rng.uniform(0.6, 2, 200), np.zeros(200)])
    eight = rng.uniform(0, 2 * np.pi, 500)
    return {
        "branching-curve": arms + 0.01 * rng.standard_normal((500, 2)),
        "mixed-dimensions": np.vstack([disc, line]),
        "branching-line": np.column_stack([np.sin(eight), np.sin(eight) * np.cos(eight)]),
    }


def of_no_global(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A band, and the same band twisted."""
    angle, across = rng.uniform(0, 2 * np.pi, 1500), rng.uniform(-0.4, 0.4, 1500)
    out = 1 + across * np.cos(angle / 2)
    return {
        "a product": turned(np.column_stack([ring(angle), across])),
        "twisted": turned(np.column_stack([ring(angle, out), across * np.sin(angle / 2)])),
    }


def of_few(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A curve that few points do not show."""
    angle = rng.uniform(0, 2 * np.pi, 1000)
    bent = ring(angle, 1 + 0.5 * np.cos(5 * angle))
    return {f"{n:,} points": bent[:n] for n in (30, 120, 1000)}


def of_told(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Points for which a wrong parameter was given."""
    angle = rng.uniform(0, 2 * np.pi, 500)
    return {
        "given-dimension (dim=2)": ring(angle) + 0.01 * rng.standard_normal((500, 2)),
        "no-curve (dim=1)": ring(angle, np.sqrt(rng.uniform(size=500))),
        "given-factors (n_factors=2)": rng.standard_normal((500, 2)),
    }


DRAWN: dict[str, Callable[[np.random.Generator], dict[str, np.ndarray]]] = {
    "sampling": of_sampling,
    "noise": of_noise,
    "metric": of_metric,
    "not a manifold": of_no_manifold,
    "not global": of_no_global,
    "too few points": of_few,
    "told by the user": of_told,
}


if __name__ == "__main__":
    write_page(PAGE)
    draw_all(PICTURES)
