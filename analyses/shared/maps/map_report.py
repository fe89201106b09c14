"""Tables and the figure of the analysis of maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analyses.shared.model_runs import Row, table, write_markdown
from geodis import plots
from geodis.plots import FACTOR_COLORS

# Of shortest paths, of the refined map and of projection, where the prototype was measured.
PROTOTYPE: dict[tuple[str, int, str, str], str] = {
    ("S^2 x S^2", 4000, "clean", "S^2"): ".044 / .009 / .005",
    ("S^2 x S^2", 10_000, "noise .02", "S^2"): ".046 / .018 / .019",
    ("S^2 x S^2", 20_000, "noise .05", "S^2"): ".065 / .041 / .044",
    ("SO(3) x S^2", 20_000, "noise .02", "S^2"): ".129 / .022 / .020",
    ("SO(3) x S^2", 20_000, "noise .02", "SO(3)"): ".065 / .055 / .061",
    ("SO(3) x S^2", 4000, "bent .5, noise .02", "S^2"): ".133 / .025 / .019",
}
# What is asked of the error, by kind; at noise .02 it is asked of 10,000 points.
ASKED = {"clean": 0.012, "noise .02": 0.02, "bent .5": 0.03}
# Or so many times what noise does to the ends alone.
AT_FLOOR = 1.1
ASKED_R2 = 0.99
ASKED_LEAK = {"clean": 0.02, "noise .03": 0.06}
UNKNOWN = "unknown"


def right_name(kind: str, said: str) -> bool | None:
    """Whether a factor has the name of its kind; None where it is unknown."""
    return None if said == UNKNOWN else said == kind


def parts_of(rows: Sequence[Row]) -> list[Row]:
    """A row a true factor, with its case and the seconds of its fit."""
    return [
        {"case": row["case"], "found": row["found"], "uncertain": row["uncertain"], **part}
        for row in rows
        for part in row["factors"]
    ]


def grouped(parts: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Parts with the same key, in the order in which they come."""
    groups: dict[Any, list[Row]] = {}
    for part in parts:
        groups.setdefault(key(part), []).append(part)
    return groups


def cell(parts: Sequence[Row], name: str, digits: int = 3) -> str:
    """The mean over seeds, and the range where there are several."""
    values = [part[name] for part in parts if isinstance(part.get(name), int | float)]
    values = [value for value in values if np.isfinite(value)]
    if not values:
        return ""
    text = f"{np.mean(values):.{digits}f}"
    spread = f" ({min(values):.{digits}f} to {max(values):.{digits}f})"
    return text + spread if len(values) > 1 else text


def names_cell(parts: Sequence[Row]) -> str:
    """What the maps were called, and how often."""
    said = [part["said"] for part in parts if "said" in part]
    if len(set(said)) == 1:
        return said[0]
    return ", ".join(f"{name} ({said.count(name)})" for name in dict.fromkeys(said))


def found_cell(parts: Sequence[Row]) -> str:
    said = [" + ".join(map(str, part["found"])) for part in parts]
    said = [
        f"{text}{', doubted' * bool(p['uncertain'])}" for text, p in zip(said, parts, strict=True)
    ]
    return "; ".join(dict.fromkeys(said))


def product_lines(rows: Sequence[Row], part: str) -> list[str]:
    """Distances, coordinates and names of products, a line a factor."""
    own = [p for p in parts_of(rows) if p["case"]["part"] == part]
    cells = []

    def key(p: Row) -> Any:
        case = p["case"]
        return case["product"], case["n"], case["kind"], p["factor"]

    for (product, n, kind, factor), group in grouped(own, key).items():
        line = [product, f"{n:,}", kind, factor, str(len({p["case"]["seed"] for p in group}))]
        line += [cell(group, name) for name in ("error", "floor", "rescaled", "projection")]
        if part == "published":
            line.append(PROTOTYPE.get((product, n, kind, factor), ""))
        line += [cell(group, "r2", 4), cell(group, "leaked"), cell(group, "linear")]
        line.append(names_cell(group))
        cells.append([*line, found_cell(group)])
    header = ["product", "n", "kind", "factor", "seeds"]
    header += ["error", "floor", "rescaled", "projection"]
    header += ["prototype: paths / refined / projection"] * (part == "published")
    header += ["R^2", "leaked", "all columns", "called", "found"]
    return table(header, cells) if cells else []


def scene_lines(rows: Sequence[Row]) -> list[str]:
    """The same of scenes, a line a code and factor."""
    own = [p for p in parts_of(rows) if p["case"]["part"] == "scenes"]
    cells = []
    for (codes, factor), group in grouped(own, lambda p: (p["case"]["codes"], p["factor"])).items():
        line = [codes, factor, str(len(group))]
        line += [cell(group, name) for name in ("rescaled", "projection")]
        line += [cell(group, "r2", 4), cell(group, "leaked"), cell(group, "linear")]
        line += [names_cell(group), found_cell(group)]
        cells.append(line)
    header = ["code", "factor", "seeds", "error, rescaled", "projection", "R^2", "leaked"]
    return table([*header, "all columns", "called", "found"], cells) if cells else []


def walk_lines(rows: Sequence[Row]) -> list[str]:
    """How far the other factors move on walks, a line a case and factor."""
    own = [p for p in parts_of(rows) if "walk" in p]
    cells = []

    def key(p: Row) -> Any:
        case = p["case"]
        what = case["codes"] if "codes" in case else f"{case['product']}, {case['kind']}"
        return what, case["n"], p["factor"]

    for (what, n, factor), group in grouped(own, key).items():
        walks = [p["walk"] for p in group]
        line = [what, f"{n:,}", factor, str(len(group))]
        line += [cell(walks, name) for name in ("leak", "most", "reading", "moved", "gap")]
        cells.append([*line, "; ".join(walk["stopped"] for walk in walks)])
    header = ["points", "n", "along", "seeds", "leakage", "largest", "reading", "moved"]
    return table([*header, "gap in spacings", "stopped"], cells) if cells else []


def missed_lines(rows: Sequence[Row]) -> list[str]:
    """Every factor that stays behind what is asked."""
    lines = []
    for part in parts_of(rows):
        case, said = part["case"], []
        if "r2" not in part:
            said.append(f"no map, {' + '.join(map(str, part['found']))} was found")
        elif not part["r2"] >= ASKED_R2:
            said.append(f"R^2 {part['r2']:.4f}")
        asked = ASKED.get(case.get("kind", ""))
        if asked is not None and "error" in part:
            asked = max(asked, AT_FLOOR * part.get("floor", 0.0))
            if not part["error"] <= asked:
                said.append(f"error {part['error']:.4f} for {asked:.3g}")
        if "said" in part and right_name(part["kind"], part["said"]) is False:
            said.append(f"called {part['said']}")
        asked = ASKED_LEAK.get(case.get("kind", "clean"))
        if asked is not None and part.get("walk", {}).get("leak", 0.0) > asked:
            said.append(f"a walk leaks {part['walk']['leak']:.4f} for {asked}")
        if said:
            where = ", ".join(str(case[k]) for k in ("product", "codes", "kind") if k in case)
            place = f"{where}, n = {case['n']:,}, seed {case['seed']}"
            lines.append(f"- {place}: {part['factor']}: {'; '.join(said)}")
    return lines or ["- none"]


def name_line(rows: Sequence[Row]) -> str:
    """How many names are right."""
    said = [right_name(p["kind"], p["said"]) for p in parts_of(rows) if "said" in p]
    if not said:
        return "No names were given."
    counts = (said.count(True), said.count(False), said.count(None))
    return "Of {} names {} are right, {} wrong and {} unknown.".format(len(said), *counts)


def write_report(rows: list[Row], out: Path, preset: str, *, about: str | None) -> None:
    """Tables and the figure."""
    lines = ["# Maps of the factors", "", *(about or "").strip().split("\n\n")[1:3], ""]
    lines += [
        f"Preset {preset}; means over seeds and over like factors of a product, with the range."
    ]
    sections = {
        "Where the prototype was measured": product_lines(rows, "published"),
        "Other products": product_lines(rows, "products"),
        "Scenes: rotation and light": scene_lines(rows),
        "Walks along one factor": walk_lines(rows),
    }
    for title, own in sections.items():
        if own:
            lines += ["", f"## {title}", "", *own]
    asked = ", ".join(f"{value} {kind}" for kind, value in ASKED.items())
    told = f"Asked: R^2 {ASKED_R2}, error {asked}, or {AT_FLOOR} of the floor."
    lines += ["", "## Behind what is asked", "", told, ""]
    lines += missed_lines(rows)
    lines += ["", "## Names", "", name_line(rows)]
    write_markdown(out, lines)
    drawn = [p for p in parts_of(rows) if p["case"]["part"] == "products" and "r2" in p]
    if drawn:
        plots.save_figure(draw_products(drawn, preset), out / "products.png")


def draw_products(parts: Sequence[Row], preset: str) -> Any:
    """R^2 and the error of every factor, a dot a seed, by kind."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    names = list(dict.fromkeys((p["case"]["product"], p["factor"]) for p in parts))
    kinds = list(dict.fromkeys(p["case"]["kind"] for p in parts))
    figure = Figure(figsize=(9.0, 1.4 + 0.24 * len(names)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axis, key, title in zip(
        panels, ("r2", "error"), ("1 - R²", "error of distances"), strict=True
    ):
        for i, kind in enumerate(kinds):
            own = [p for p in parts if p["case"]["kind"] == kind and key in p]
            values = [
                max(1 - p[key] if key == "r2" else p[key], 1e-5 if key == "r2" else 1e-3)
                for p in own
            ]
            rows = [names.index((p["case"]["product"], p["factor"])) for p in own]
            height = np.array(rows) + 0.16 * (i - (len(kinds) - 1) / 2)
            color, marker = FACTOR_COLORS[i], plots.MARKERS[i]
            axis.plot(values, height, marker, color=color, ms=4, alpha=0.8, label=kind)
        asked = 1 - ASKED_R2 if key == "r2" else ASKED["clean"]
        axis.axvline(asked, color="#8a8a8a", lw=0.8, ls=":")
        axis.set_xscale("log")
        axis.set_xlim(5e-6 if key == "r2" else 5e-4, 1)
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(f"{title}; dotted: asked" + (", clean" if key == "error" else ""))
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="x", color="#e0e0e0", linewidth=0.6)
    panels[0].set_yticks(range(len(names)), [f"{factor} of {product}" for product, factor in names])
    panels[0].invert_yaxis()
    panels[0].set_title(f"Maps against the truth, preset {preset}", loc="left", fontsize=10)
    panels[1].legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return panels[0]
