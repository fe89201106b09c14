"""Tables and figures of `metric_agreement`, from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import geodis as gd
from analyses.shared.shapes_report import shapes_text
from analyses.shared.synthetic_codes import FAMILIES
from geodis import plots
from geodis.base import whole_file, write_json
from geodis.plots import FACTOR_COLORS, MARKERS, tidy

Rows = Sequence[dict[str, Any]]

# Of the distance between the undamaged code and chance: what counts as no reaction.
LITTLE = 0.1
# A code without any defect should score at least this.
HIGH = 0.9
DRAWN = ("mig", "sap", "dci_disentanglement", "modularity", "beta_vae", "factor_vae", "axis_ratio")


def write_rows(rows: Rows, content: dict[str, Any], out: Path) -> None:
    """Write results.json, whole."""
    write_json(out / "results.json", {**content, "rows": list(rows)})


def write_report(rows: Rows, content: dict[str, Any], out: Path) -> None:
    """Write results.md and every figure that there are rows for."""
    parts = {
        part: [row for row in rows if row["part"] == part]
        for part in ("family", "missing", "collapse", "entangled", "shapes")
    }
    lines = [
        "# Which scores agree, and what they see",
        "",
        f"Preset {content['preset'] or 'given'}.",
    ]
    for part, text, figures in (
        ("family", family_text, (draw_levels, draw_defects, draw_agreement)),
        ("missing", missing_text, (draw_missing,)),
        ("collapse", collapse_text, (draw_collapse,)),
        ("entangled", entangled_text, (draw_entangled,)),
        ("shapes", shapes_text, ()),
    ):
        if own := parts[part]:
            lines += text(own)
            for figure in figures:
                drawn = figure(own)
                if drawn is not None:
                    axis, file = drawn
                    plots.save_figure(axis, out / file)
    with whole_file(out / "results.md") as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def by_model(rows: Rows) -> pd.DataFrame:
    """One row a code: family, level, seed, and its scores."""
    keys = ("family", "level", "seed")
    return pd.DataFrame([{**{key: row[key] for key in keys}, **row["scores"]} for row in rows])


def reactions(rows: Rows) -> pd.DataFrame:
    """Scores by families: how much of the way from the undamaged code to chance a score falls.

    (value at level 0 - value at the largest level) / (value at level 0 - chance), means over
    seeds; scores without a chance level are left out.
    """
    frame = by_model(rows)
    chance = pd.DataFrame([row["chance"] for row in rows if row["chance"]]).mean()
    last = frame["level"].max()
    falls = {}
    for family, own in frame.groupby("family", sort=False):
        mean = own.groupby("level")[list(chance.index)].mean()
        if {0.0, last} <= set(mean.index):
            falls[family] = (mean.loc[0.0] - mean.loc[last]) / (mean.loc[0.0] - chance)
    return pd.DataFrame(falls)


def against_intuition(family: str, fall: float) -> bool:
    """Whether a score ignores a defect, or reacts to what is none."""
    intuition = FAMILIES[family].intuition
    return (intuition == "falls" and fall < LITTLE) or (intuition == "stays" and abs(fall) > LITTLE)


def family_text(rows: Rows) -> list[str]:
    frame, falls = by_model(rows), reactions(rows)
    lines = ["", "## Defects and reactions", ""]
    lines += [f"- {name}: {item.text}; a score {item.intuition}" for name, item in FAMILIES.items()]
    lines += [
        "",
        "Per cent of the way from the undamaged code (0) to chance (100) that a score falls at the "
        f"largest level. In bold what defies intuition: less than {LITTLE:.0%} where it should "
        "fall, more where it should stay.",
        "",
        "| score | " + " | ".join(falls.columns) + " |",
        "|---" + "|--:" * len(falls.columns) + "|",
    ]
    for score, row in falls.iterrows():
        cells = [
            f"**{100 * fall:.0f}**" if against_intuition(str(family), fall) else f"{100 * fall:.0f}"
            for family, fall in row.items()
        ]
        lines.append(f"| {score} | " + " | ".join(cells) + " |")
    perfect = frame[(frame["level"] == 0) & (frame["family"] == "noisy")][list(falls.index)].mean()
    low = ", ".join(f"{name} {value:.2f}" for name, value in perfect.items() if value < HIGH)
    lines += ["", f"Below {HIGH} for the code without any defect, on its axes: {low or 'none'}."]
    if len(frame) > 2:
        scores = frame.drop(columns=["family", "level", "seed"])
        pairs = gd.scores.agreement(scores[list(falls.index)]).pairs().dropna()
        lines += ["", "## Agreement", "", f"Spearman's rank correlation over {len(frame)} codes."]
        for title, chosen in (("least", pairs.head(8)), ("most", pairs.tail(8)[::-1])):
            listed = [
                f"{row.first} and {row.second} {row.correlation:.2f}" for row in chosen.itertuples()
            ]
            lines += ["", f"The pairs that agree {title}: {'; '.join(listed)}."]
    return lines


def draw_levels(rows: Rows) -> tuple[Any, str]:
    frame = by_model(rows)
    families = list(dict.fromkeys(frame["family"]))
    columns = min(3, len(families))
    panels = plots.new_axes(-(-len(families) // columns), columns, 3.6 * columns, 7.6).ravel()
    for panel, family in zip(panels, families, strict=False):
        mean = frame[frame["family"] == family].groupby("level").mean(numeric_only=True)
        for score, color, marker in zip(DRAWN, FACTOR_COLORS, MARKERS, strict=True):
            panel.plot(mean.index, mean[score], color=color, marker=marker, ms=4, label=score)
        intuition = {"depends": "it depends"}.get(FAMILIES[family].intuition)
        intuition = intuition or f"a score {FAMILIES[family].intuition}"
        panel.set_title(f"{family} ({intuition})", loc="left", fontsize=10)
        panel.set_ylim(-0.03, 1.03)
        tidy(panel)
    for panel in panels[len(families) :]:
        panel.set_visible(False)
    figure = panels[0].figure
    for panel in panels[max(0, len(families) - columns) : len(families)]:
        panel.set_xlabel("level of the defect")
    figure.supylabel("score", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False, fontsize=9)
    return panels[0], "levels.png"


def draw_defects(rows: Rows) -> tuple[Any, str]:
    """Reactions as a heat map; frames mark what defies intuition."""
    from matplotlib.patches import Rectangle

    falls = reactions(rows)
    axis = plots.new_axis(7.6, 1.8 + 0.3 * len(falls))
    axis.imshow(100 * falls.to_numpy(), cmap="Blues", vmin=0, vmax=100, aspect="auto")
    for i, (_, row) in enumerate(falls.iterrows()):
        for j, (family, fall) in enumerate(row.items()):
            color = "white" if fall > 0.6 else "black"
            axis.text(j, i, f"{100 * fall:.0f}", ha="center", va="center", fontsize=8, color=color)
            if against_intuition(str(family), fall):
                box = (j - 0.47, i - 0.45)
                axis.add_patch(Rectangle(box, 0.94, 0.9, fill=False, ec="#D55E00", lw=2))
    names = [f"{family}\n({FAMILIES[family].intuition})" for family in falls.columns]
    axis.set_xticks(range(len(names)), names, fontsize=8)
    axis.set_yticks(range(len(falls)), list(falls.index))
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title(
        "Fall from the undamaged code (0) to chance (100); framed: against intuition",
        loc="left",
        fontsize=10,
    )
    return axis, "defects.png"


def draw_agreement(rows: Rows) -> tuple[Any, str] | None:
    if len(rows) < 3:
        return None
    scores = by_model(rows)[list(reactions(rows).index)]
    return plots.plot_agreement(gd.scores.agreement(scores)), "agreement.png"


def _means(rows: Rows, key: str) -> pd.DataFrame:
    return pd.DataFrame([{key: row[key], **row["scores"]} for row in rows]).groupby(key).mean()


FAILURES = ("beta_vae", "factor_vae", "mig", "dci_disentanglement")


def missing_text(rows: Rows) -> list[str]:
    lines = ["", "## Missing factors", ""]
    lines.append(
        "Perfect codes of the first factors only. Kim and Mnih (2018): a linear classifier that "
        "sees the other latents move recognises the one factor that is missing. The majority vote "
        "does not, unless latents of noise draw the votes of the missing factor."
    )
    for filling in ("nothing", "noise"):
        mean = _means([row for row in rows if row["filling"] == filling], "kept")
        lines += ["", f"| factors kept, {filling} instead | " + " | ".join(FAILURES) + " |"]
        lines.append("|---" + "|--:" * len(FAILURES) + "|")
        for kept in mean.index[::-1]:
            cells = " | ".join(f"{mean.at[kept, name]:.3f}" for name in FAILURES)
            lines.append(f"| {kept} | {cells} |")
    return lines


def draw_missing(rows: Rows) -> tuple[Any, str]:
    panels = plots.new_axes(1, 2, 8.6, 3.6).ravel()
    for panel, filling in zip(panels, ("nothing", "noise"), strict=True):
        mean = _means([row for row in rows if row["filling"] == filling], "kept")
        most = int(mean.index.max())
        for name, color, marker in zip(FAILURES, FACTOR_COLORS, MARKERS, strict=False):
            panel.plot(most - mean.index, mean[name], color=color, marker=marker, label=name)
        panel.plot(
            np.arange(most + 1),
            1 - np.arange(most + 1) / most,
            ":",
            color="black",
            lw=1,
            label="share of factors that are there",
        )
        panel.axvline(1, color="#d0d0d0", lw=8, zorder=0)
        panel.set_title(f"{filling} in place of a factor", loc="left", fontsize=10)
        panel.set(xlabel=f"factors missing, of {most}", ylim=(-0.03, 1.05))
        tidy(panel, whole_x=True)
    panels[0].set_ylabel("score")
    handles, labels = panels[0].get_legend_handles_labels()
    panels[0].figure.legend(
        handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8
    )
    return panels[0], "missing_factors.png"


def _collapse(rows: Rows) -> pd.DataFrame:
    keys = ["collapsed", "pruned", "unpruned"]
    return pd.DataFrame(rows)[keys].groupby("collapsed").mean()


def collapse_text(rows: Rows) -> list[str]:
    lines = ["", "## Collapsed latents", ""]
    lines.append(
        "A perfect code beside constant latents. Not pruned, a constant latent has the ratio 0/0, "
        "which takes every vote; the score is then that of a guess."
    )
    lines += ["", "| constant latents | FactorVAE score | not pruned |", "|---|--:|--:|"]
    lines += [
        f"| {count} | {row['pruned']:.3f} | {row['unpruned']:.3f} |"
        for count, row in _collapse(rows).iterrows()
    ]
    return lines


def draw_collapse(rows: Rows) -> tuple[Any, str]:
    axis, mean = plots.new_axis(5.4, 3.4), _collapse(rows)
    for column, label, color, marker in (
        ("pruned", "collapsed latents left out", FACTOR_COLORS[0], "o"),
        ("unpruned", "not pruned, as published code does", FACTOR_COLORS[1], "s"),
    ):
        axis.plot(mean.index, mean[column], color=color, marker=marker, label=label)
    axis.set(xlabel="constant latents beside a perfect code", ylabel="FactorVAE score")
    axis.set_ylim(0, 1.05)
    axis.legend(frameon=False, loc="center right")
    return tidy(axis, whole_x=True), "collapse.png"


def _before_and_after(rows: Rows) -> pd.DataFrame:
    mean = {
        code: pd.DataFrame([row["scores"] for row in rows if row["code"] == code]).mean()
        for code in ("before", "after")
    }
    chance = pd.DataFrame([row["chance"] for row in rows]).mean()
    return pd.DataFrame({**mean, "chance": chance}).loc[list(mean["before"].index)]


def entangled_text(rows: Rows) -> list[str]:
    frame = _before_and_after(rows)
    lines = ["", "## A code and its entangled twin (theorem 1)", ""]
    smallest = min(min(row["ks"]) for row in rows if row["code"] == "after")
    correlation = max(row["correlation"] for row in rows if row["code"] == "after")
    tests = sum(len(row["ks"]) for row in rows if row["code"] == "after")
    lines.append(
        "Independent uniform latents, and their image under `geodis.entangle`, which has the same "
        f"distribution: the smallest of {tests} Kolmogorov-Smirnov p-values of its coordinates is "
        f"{smallest:.2f}, the largest correlation of two coordinates {correlation:.3f}. Only "
        "scores that know the factors tell them apart."
    )
    lines += ["", "| score | before | after | chance |", "|---|--:|--:|--:|"]
    for name, row in frame.iterrows():
        chance = "" if np.isnan(row["chance"]) else f"{row['chance']:.3f}"
        lines.append(f"| {name} | {row['before']:.3f} | {row['after']:.3f} | {chance} |")
    return lines


def draw_entangled(rows: Rows) -> tuple[Any, str]:
    """Both codes in two dimensions, and the scores of both in four."""
    from matplotlib.figure import Figure

    frame = _before_and_after(rows)
    known = frame[frame["chance"].notna() & ~frame.index.str.startswith("downstream")]
    figure = Figure(figsize=(10.5, 6.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.5))
    z = np.random.default_rng(0).uniform(size=(2500, 2))
    twins = {"A code": z, "Its twin": gd.entangle(z, "uniform")}
    for i, (title, code) in enumerate(twins.items()):
        panel = figure.add_subplot(grid[i, 0])
        panel.scatter(code[:, 0], code[:, 1], s=5, c=np.floor(6 * z[:, 0]), linewidths=0)
        panel.set(xticks=[0, 1], yticks=[0, 1], aspect="equal")
        panel.set(xlabel="latent 0", ylabel="latent 1")
        panel.set_title(f"{title}, uniform; colour: factor 0", loc="left", fontsize=9)
    axis = figure.add_subplot(grid[:, 1])
    place = np.arange(len(known))
    axis.barh(place - 0.2, known["before"], 0.38, color=FACTOR_COLORS[0], label="the code")
    axis.barh(place + 0.2, known["after"], 0.38, color=FACTOR_COLORS[1], label="its twin")
    axis.plot(
        known["chance"], place, "|", color="black", ms=12, mew=2, label="chance", clip_on=False
    )
    axis.set_yticks(place, list(known.index))
    axis.set_ylim(len(known) - 0.4, -0.6)
    axis.set_xlabel("score")
    same = frame.loc["gaussian_total_correlation"]
    axis.set_title(
        "Scores with the factors, four dimensions\n(total correlation, without them: "
        f"{same['before']:.3f} and {same['after']:.3f})",
        loc="left",
        fontsize=9,
    )
    figure.legend(
        *axis.get_legend_handles_labels(),
        loc="outside lower right",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    tidy(axis)
    return axis, "entangling.png"
