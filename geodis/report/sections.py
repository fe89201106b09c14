"""Sections of the page: what each shows, how to read it, where it comes from, how to repeat it."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.report.charts import (
    Chart,
    correlation_chart,
    distance_matrix_chart,
    matrix_chart,
    per_factor_chart,
    scatter_chart,
    spectrum_chart,
)
from geodis.report.cloud import cloud_chart
from geodis.report.material import BINS, MAX_POINTS
from geodis.report.parts import INTERVALS, PAIRS
from geodis.report.sentences import above_chance, judged_scores

if TYPE_CHECKING:
    from geodis.report.results import Report


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Attributes
    ----------
    name, title : str
    about : str
        How to read it, in a sentence.
    source : str
        Who introduced it.
    code : str
        The Python that gives the same numbers.
    body : str
        HTML, in which every text that came from the user is escaped.
    charts : tuple of Chart
    failure : str
        Why there is nothing to show.
    """

    name: str
    title: str
    about: str = ""
    source: str = ""
    code: str = ""
    body: str = ""
    charts: tuple[Chart, ...] = ()
    failure: str = ""


def all_sections(report: Report) -> list[Section]:
    """The sections, in order; one that cannot be made says so in its place."""
    known, seen = report.settings["has_factors"], report.settings["has_images"]
    sections = []
    for name, title, build, applies in (
        ("scores", "Scores", _scores, known),
        ("manifold", "Factors of the manifold", _manifold, True),
        ("points", "Points", _points, True),
        ("distances", "Distances", _distances, known or seen),
        ("held", "Which latent holds which factor", _held_by, known),
        ("more", "What more could be known", _more, not known),
        ("made", "How this was made", _made, True),
    ):
        if not applies:
            continue
        try:
            sections.append(build(Section(name, title), report))
        except Exception as problem:  # a section must not take the page with it
            sections.append(Section(name, title, failure=f"{type(problem).__name__}: {problem}"))
    return sections


def _scores(empty: Section, report: Report) -> Section:
    table = report.scores
    code = f"table = gd.score_latents(latents, factors{_seeded(report, bins=True)})"
    base = replace(
        empty,
        about="A score means something as far as it is above chance, its value when the rows of "
        "the factors are shuffled; the interval says how far it moves when the rows are drawn "
        "again. Grey scores are no more than 0.02 above chance.",
        source="Locatello et al. (2019) for the study of these scores; every function of "
        "geodis.scores names the paper it is from.",
        code=code,
        failure=report.parts["scores"].failure,
    )
    if table is None:
        return base
    chart = per_factor_chart(table)
    charts = () if chart is None else (chart,)
    remarks = "".join(f"<li>{html.escape(text)}</li>" for text in table._remarks())
    body = _score_table(table.frame) + f'<ul class="small">{remarks}</ul>' * bool(remarks)
    return replace(base, body=body, charts=charts)


def _score_table(frame: Any) -> str:
    spread = bool(frame["low"].notna().any())
    head = "<th>score</th><th>value</th><th>chance</th>" + "<th>95 % interval</th>" * spread
    judged = judged_scores(frame)
    near = set(judged.index[~above_chance(judged)])
    rows, family = [], None
    for name, row in frame.iterrows():
        if row["family"] != family:
            family = row["family"]
            rows.append(f'<tr class="family"><th colspan="4">{html.escape(family)}</th></tr>')
        lower = " (lower is better)" if row["better"] == "lower" else ""
        span = f"{row['low']:.3f} to {row['high']:.3f}" if np.isfinite(row["low"]) else ""
        chance = f"{row['chance']:.3f}" if np.isfinite(row["chance"]) else ""
        mark = ' class="nothing"' if name in near else ""
        rows.append(
            f"<tr{mark}><td>{html.escape(str(name))}{lower}</td><td>{_number(row['value'])}</td>"
            f"<td>{chance}</td>" + f"<td>{span}</td>" * spread + "</tr>"
        )
    return (
        f'<div class="wide"><table id="score-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _manifold(empty: Section, report: Report) -> Section:
    est = report.manifold
    given = [f"dim={report.settings['dim']}"] if report.settings["dim"] else []
    given += [f"n_factors={n}"] if (n := report.settings["n_factors"]) else []
    call = f"gd.GeoManCER({', '.join([*given, _seed(report)])})"
    base = replace(
        empty,
        about="Fields that parallel transport leaves alone split the points into factors: m "
        "factors have m - 1 of them, and the wider the gap above their eigenvalues, the surer "
        "the number.",
        source="Pfau, Higgins, Botev and Racanière (2020), Disentangling by Subspace Diffusion; "
        "dimension by Levina and Bickel (2004) and Facco et al. (2017).",
        code=f"est = {call}.fit({_fitted_rows(report)})\nprint(est)",
        body=_first_look(report),
        failure=report.parts["manifold"].failure,
    )
    chart = None if est is None else spectrum_chart(est)
    if est is None:
        return base
    known = [*est.evidence_, *([est.flat_evidence_] if est.flat_evidence_ is not None else [])]
    evidence = "".join(f"<li>{html.escape(str(item))}</li>" for item in known)
    found = "".join(
        f"<li>factor {j}: dimension {dim}{' (flat)' if flat else ''}</li>"
        for j, (dim, flat) in enumerate(zip(est.factor_dims_, est.flat_, strict=True))
    )
    body = f"{base.body}<ul>{found}</ul>"
    body += f'<details><summary>Evidence</summary><ul class="small">{evidence}</ul></details>'
    return replace(base, body=body, charts=() if chart is None else (chart,))


def _first_look(report: Report) -> str:
    seen = report.inspection
    if seen is None:
        why = html.escape(report.parts["inspection"].failure)
        return f'<p class="failed">First look: not done: {why}</p>'
    pieces = len(seen.pieces)
    rows = {
        "points": f"{seen.n_used:,} in {seen.d:,} columns",
        "dimension": str(seen.dimension).removeprefix("dimension "),
        "neighbour graph": f"{seen.n_neighbors} neighbours a point, "
        + ("connected" if pieces == 1 else f"in {pieces} pieces"),
        "enough points": f"{seen.enough_points}: {seen.needed:,} are needed in this dimension, "
        f"{seen.recommended:,} to be trusted",
    }
    return _list(rows)


def _fitted_rows(report: Report) -> str:
    """What the rows are called that GeoManCER was fitted to: all of them, or some."""
    used = report.factorised
    some = used is not None and len(used.rows) < len(report.material.rows)
    return "found.factorised.latents" if some else "latents"


def _points(empty: Section, report: Report) -> Section:
    code = "gd.principal_components(latents)"
    if report.manifold is not None:
        code = f"gd.plots.plot_directions_by_factor({_fitted_rows(report)}, est)"
    elif report.settings["has_factors"]:
        code = "gd.plots.plot_points_by_factor(latents, factors)"
    return replace(
        empty,
        about="Points are projected on the two chosen axes; short lines are the directions of the "
        "manifold's factors, and in the view of one factor the lines of the others should vanish.",
        source="Principal components, and the axes of GeoManCER (Pfau et al. 2020).",
        code=code,
        charts=(cloud_chart(report),),
    )


def _distances(empty: Section, report: Report) -> Section:
    found = report.distances
    images = "images" if report.settings["has_images"] else "None"
    factors = "factors"
    if report.material.classes is not report.material.factors:
        factors = f"gd.scores.bin_factors(factors, {report.settings['bins']})"
    agreed = None if found is None else found.correlations
    code = "latents"
    if agreed is not None and not agreed.note:  # in a whole grid, rows stand in its order
        code = f"latents[np.lexsort(np.asarray({factors}).T[::-1])]"
    code = (
        f"grid = gd.FactorGrid.from_arrays({images}, {factors})\n"
        f"code = {code}\n"
        f"print(gd.distances.distance_correlations(grid, code, n_pairs={PAIRS}, confidence=0.95, "
        f"{_seed(report)}))\n"
        'gd.distances.traversal_matrix(grid, grid.names[0], "latent", code=code, random_state=0)'
    )
    base = replace(
        empty,
        about="Along a factor, latents that keep its order have distance matrices that grow "
        "away from the diagonal like the ground truth's; a rank correlation of 1 means that both "
        "kinds of distance order all pairs alike. Pairs of a point with itself are left out.",
        source="Michlo (2022), Disentanglement using VAEs resembles distance learning and requires "
        "overlapping data, equations 3.7 and 4.1 to 4.3.",
        code=code,
        failure=report.parts["distances"].failure,
    )
    if found is None:
        return base
    charts = [distance_matrix_chart(found), scatter_chart(found), correlation_chart(found)]
    body = ""
    if found.correlations is not None:
        body = _list({"pairs": found.correlations.note or "every combination of factors is there"})
        if found.correlations.loss:
            body += f"<p class='small'>Perceived distances by {found.correlations.loss}.</p>"
    if found.plain is not None:
        base = replace(
            base,
            code="i, j = rng.integers(len(latents), size=(2, 2000))\n"
            "gd.distances.correlation(gd.distances.perceived(images[i], images[j]), "
            "gd.distances.latent(latents[i], latents[j]))",
        )
        body += f"<p>{html.escape(str(found.plain))}</p>"
    if found.importance is not None:
        body += f"<pre>{html.escape(str(found.importance))}</pre>"
    return replace(base, body=body, charts=tuple(c for c in charts if c is not None))


def _held_by(empty: Section, report: Report) -> Section:
    table = report.scores
    charts = []
    for key, name, about, unit in (
        ("mig", "information", "mutual information of latents and factors", "mutual information"),
        ("dci", "importances", "importance of latents for predicting factors", "importance"),
    ):
        score = None if table is None else table.scores.get(key)
        if score is not None and score.matrix is not None:
            charts.append(matrix_chart(name, score, about, unit))
    return replace(
        empty,
        about="One strong cell in every row and every column is a disentangled code; a row with "
        "several is a latent that mixes factors, a column with several is a factor spread over "
        "latents.",
        source="Mutual information as in MIG: Chen et al. (2018). Importances as in DCI: "
        "Eastwood and Williams (2018).",
        code='table.scores["mig"].matrix, table.scores["dci"].matrix',
        charts=tuple(charts),
        failure="" if charts else "There are no scores that have such a matrix.",
    )


def _more(empty: Section, report: Report) -> Section:
    images = (
        ""
        if report.settings["has_images"]
        else (
            "<li>Images of the same rows add perceived distances, those that a reconstruction loss "
            "sees, and whether the points keep their order.</li>"
        )
    )
    return replace(
        empty,
        body="<ul><li>Factors of variation of the same rows add every disentanglement score beside "
        "its chance level, distances along each factor, and which column holds which "
        f"factor.</li>{images}</ul>",
        code="gd.report(latents, factors, images)  # or: geodis report latents.npy "
        "--factors factors.csv --images images.npy",
    )


def _made(empty: Section, report: Report) -> Section:
    from geodis.report.results import versions

    absent = {"random_state": "none", "dim": "estimated", "n_factors": "counted"}
    settings = {
        name.replace("_", " "): absent[name]
        if (value := report.settings[name]) is None
        else str(value)
        for name in ("random_state", "max_points", "bins", "intervals", "dim", "n_factors")
    }
    seconds = ", ".join(f"{part.name} {part.seconds:.1f}" for part in report.parts.values())
    known = ", ".join(f"{name} {version}" for name, version in versions().items())
    rows = {**settings, "seconds": seconds, "versions": known}
    return replace(
        empty,
        about="These lines come first: the lines of every section use what they load.",
        code=_opening(report),
        body=_list(rows),
    )


def _opening(report: Report) -> str:
    """Python that loads what the report was made from, and draws the same rows."""
    sources = report.settings["sources"]
    lines = ["import numpy as np", "import geodis as gd", ""]
    for name, load in (
        ("latents", "load_array"),
        ("factors", "load_factors"),
        ("images", "load_array"),
    ):
        there = name == "latents" or report.settings[f"has_{name}"]
        if there:
            file = sources.get(name)
            lines.append(f"{name} = " + (f"gd.{load}({file!r})" if file else "...  # your array"))
    material = report.material
    call = ", ".join(
        ["latents"]
        + [name for name in ("factors",) if report.settings["has_factors"]]
        + ["images=images"] * report.settings["has_images"]
        + [
            f"{name}={report.settings[name]}"
            for name, usual in (
                ("dim", None),
                ("n_factors", None),
                ("max_points", MAX_POINTS),
                ("bins", BINS),
                ("intervals", INTERVALS),
                ("random_state", 0),
            )
            if report.settings[name] != usual
        ]
    )
    if len(material.rows) < material.n_given:
        lines += ["", "# Rows were left out or drawn; a report keeps those that it used."]
        lines += [f"found = gd.report({call}, out=None)", "latents = found.material.latents"]
        if report.settings["has_factors"]:
            lines.append("factors = found.material.factors")
        if report.settings["has_images"]:
            lines.append("images = images[found.material.rows]")
    else:
        lines += ["", f"found = gd.report({call})  # everything on this page"]
    return "\n".join(lines)


def _seed(report: Report) -> str:
    return f"random_state={report.settings['random_state']}"


def _seeded(report: Report, bins: bool) -> str:
    return f", bins={report.settings['bins']}" * bins + f", {_seed(report)}"


def _list(rows: dict[str, str]) -> str:
    items = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in rows.items()
    )
    return f"<dl>{items}</dl>"


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
