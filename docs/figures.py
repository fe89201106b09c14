"""What the build makes itself: figures, pages of the analyses' results, numbers taken from them.

A hook of MkDocs; figures are drawn once, and again when this file changes.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGES = HERE / "pages"
FIGURES = PAGES / "figures"
RESULTS = HERE.parent / "analyses" / "results"


def on_pre_build(config: Any) -> None:
    """Draw the figures and copy the results, before the pages are collected."""
    made = FIGURES / "made"
    if not made.exists() or made.stat().st_mtime < Path(__file__).stat().st_mtime:
        draw_figures(FIGURES)
        made.touch()
    write_tables(PAGES / "tables.md", PAGES / "results")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the numbers of a page in."""
    return fill_numbers(markdown)


def fill_numbers(text: str) -> str:
    """Replace ``{{ score defect }}`` by its number in the results of the analysis of scores."""
    if "{{ " not in text:
        return text
    results = (RESULTS / "metric_agreement" / "results.md").read_text(encoding="utf-8")
    numbers = {"preset": re.findall(r"^Preset (\w+)", results, re.MULTILINE)[0]}
    head: list[str] = []
    for line in results.splitlines():
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        if cells[0] == "score" and not head:
            head = cells
        elif head and len(cells) == len(head):
            numbers |= {f"{cells[0]} {name}": cell for name, cell in zip(head, cells, strict=True)}
        elif head:
            break
    return re.sub(r"\{\{ ([\w ]+) \}\}", lambda match: numbers[match[1]], text)


def draw_figures(folder: Path) -> None:
    """One figure a guide, from seconds of work."""
    import numpy as np

    import geodis as gd
    from geodis import plots

    folder.mkdir(parents=True, exist_ok=True)
    sample = gd.product_manifold("S^2 x SO(3)", n=3000, rotate=True, random_state=0)
    est = gd.GeoManCER(verbose=0).fit(sample.points)
    plots.save_figure(plots.plot_eigenvalue_spectrum(est), folder / "spectrum.svg")
    plots.save_figure(plots.plot_directions_by_factor(sample.points, est), folder / "factors.png")
    plots.save_figure(plots.plot_maps(est), folder / "maps.png")

    grid = gd.XYSquares(spacing=4)
    agreement = gd.distances.distance_correlations(grid, n_pairs=4000, random_state=0)
    plots.save_figure(plots.plot_distance_correlations(agreement), folder / "distances.svg")

    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(2000, 3))
    latents = np.column_stack([factors[:, 0], factors[:, 1] + factors[:, 2], factors[:, 2]])
    latents = latents + 0.1 * rng.standard_normal(latents.shape)
    table = gd.score_latents(latents, factors, verbose=0)
    plots.save_figure(plots.plot_scores(table), folder / "scores.svg")

    lines = {
        loss: {
            float(spacing): gd.distances.distance_correlations(
                gd.XYSquares(spacing=spacing), loss=loss, n_pairs=3000, random_state=0
            )
            .random[("ground truth", "perceived")]
            .spearman
            for spacing in (1, 2, 4, 6, 8)
        }
        for loss in ("mse", "box:31")
    }
    plots.save_figure(plots.plot_correlation_by_spacing(lines), folder / "losses.svg")


def write_tables(index: Path, folder: Path) -> None:
    """Copy the results of every analysis beside the pages, and list them."""
    shutil.rmtree(folder, ignore_errors=True)
    lines = [
        "# Reproduced tables\n",
        "Each page is what a script of `analyses/` wrote; its head names the settings and the "
        "command. Where the papers have numbers, they stand beside ours.\n",
    ]
    for results in sorted(RESULTS.glob("*/results.md")):
        name = results.parent.name
        text = results.read_text(encoding="utf-8")
        shutil.copytree(
            results.parent, folder / name, ignore=shutil.ignore_patterns("results.json")
        )
        heading = re.match(r"# (.+)", text)
        title = name.replace("_", " ") if heading is None else heading.group(1)
        lines.append(f"- [{title}](results/{name}/results.md): `python -m analyses.{name}`")
    index.write_text("\n".join(lines) + "\n", encoding="utf-8")
