"""A comparison -> one page, by the template of reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from geodis import __version__
from geodis.base.text import counted, fixed
from geodis.report.ask import FAILURES, reason_of
from geodis.report.comparison.comparison_figures import (
    distances_of_runs_figure,
    factors_agree_figure,
    scores_of_runs_figure,
    similarity_figure,
)
from geodis.report.comparison.found_factors import maps_side_by_side
from geodis.report.page.bibliography import entries_of
from geodis.report.page.markup import render_template
from geodis.report.page.pictures import Picture, draw_picture
from geodis.report.page.render import SectionView, of_script, page_text, shown_figures
from geodis.report.page.score_cards import cards_markup, cards_of
from geodis.report.section import SectionFigure
from geodis.report.sentences.manifold_sentences import reasons_of_doubt

if TYPE_CHECKING:
    from geodis.report.comparison.comparison_results import Comparison
    from geodis.report.comparison.paired_scores import ScoreDifference

MOST_SHOWN = 12  # differences before one asks for more
CITES = ("kornblith2019", "schonemann1966", "kriegeskorte2008", "pfau2020", "locatello2019")
ABOUT = {
    "ranking": "Runs by their mean rank over the scores that differ from chance in a run. The "
    "answers go from chance (0) to the best value (1), each the median of the scores that give it.",
    "differences": "Every pair of models in every score whose noise is known, corrected for how "
    "many were looked at (Holm). More is better, whichever way the score counts.",
    "similarity": "How alike the representations are, whatever their axes: 1 is the same up to "
    "rotation and scale, and beside every measure stands what unrelated ones give.",
    "factors": "The factors that were found in each run, and how much of those of one run the "
    "factors of another tell on held-out rows.",
    "maps": "A dot is the same row on all maps: point at one, or choose an area, and see where its "
    "rows lie in the other runs.",
    "distances": "Rank correlations of distances between latents with those between factors.",
}
TITLES = {
    "ranking": "Ranking",
    "differences": "What differs beyond noise",
    "similarity": "How alike the representations are",
    "factors": "Factors that were found",
    "maps": "Maps side by side",
    "distances": "Distances",
}


@dataclass(frozen=True)
class DrawnPart:
    """A section with its figures drawn, or why they were not."""

    name: str
    pictures: tuple[Picture, ...]
    problem: str = ""


def figures_of(made: Comparison) -> list[DrawnPart]:
    """Every figure, drawn once."""
    parts = []
    for name, figures in _figures(made).items():
        drawn, problem = [], ""
        for figure_name, describe in figures:
            try:
                if (described := describe()) is not None:
                    drawn.append(
                        draw_picture(SectionFigure(figure_name, partial(_same, described)))
                    )
            except FAILURES as failure:  # a figure must not take the page with it
                problem = problem or reason_of(failure)
        parts.append(DrawnPart(name, tuple(drawn), problem))
    return parts


def _same(described: Any) -> Any:
    return described


def _figures(made: Comparison) -> dict[str, list[tuple[str, Callable[[], Any]]]]:
    names, scores, agreed = made.runs.names, made.scores, made.agreement
    agreed_names = [names[run] for run in agreed.runs]
    distances = {
        name: report.distances.correlations
        for name, report in zip(names, made.reports, strict=False)
        if report.distances is not None and report.distances.correlations is not None
    }
    every: dict[str, list[tuple[str, Callable[[], Any]]]] = {name: [] for name in TITLES}
    if scores is not None:
        every["ranking"] = [("scores", lambda: scores_of_runs_figure(scores, made.runs.models))]
    every["similarity"] = [
        (one.name.lower(), partial(similarity_figure, one, names)) for one in made.similarities
    ]
    if len(agreed.runs) > 1:
        every["factors"] = [("factors", lambda: factors_agree_figure(agreed.matrix, agreed_names))]
    every["maps"] = [("maps", lambda: maps_side_by_side(made.reports, names))]
    if len(distances) > 1:
        every["distances"] = [("distances", lambda: distances_of_runs_figure(distances))]
    return every


def comparison_text(made: Comparison, parts: list[DrawnPart], *, linked: bool = False) -> str:
    """The whole page as text."""
    sections = [view for part in parts if (view := _view(made, part)) is not None]
    charts = [
        of_script(figure.chart)
        for view in sections
        for figure in view.figures
        if figure.chart.kind != "svg"
    ]
    return page_text(
        title=made.settings.title,
        about="",
        origin=_origin(made),
        summary=made.summary,
        warnings=made.warnings,
        sections=sections,
        charts=charts,
        citations=entries_of(CITES),
        linked=linked,
    )


def _origin(made: Comparison) -> str:
    runs = counted(len(made.runs.names), "run")
    models = counted(len(set(made.runs.models)), "model")
    if made.runs.material is None:
        return f"{runs} of {models}. geodis {__version__}, {made.date}."
    used, given = len(made.runs.material.rows), made.runs.material.n_given
    rows = counted(given, "row")
    rows = rows if used == given else f"{used:,} of {rows}"
    return (
        f"{runs} of {models}, {rows}. geodis "
        f"{__version__}, seed {made.settings.random_state}, {made.date}, data "
        f"{made.data_hash[:12]}."
    )


def _view(made: Comparison, part: DrawnPart) -> SectionView | None:
    """One section; None where there is nothing in it."""
    body = BODIES[part.name](made) if part.name in BODIES else ""
    if not body and not part.pictures and not part.problem:
        return None
    return SectionView(
        part.name, TITLES[part.name], ABOUT[part.name], "", _code(made, part.name), body,
        tuple(shown_figures(part.pictures)), part.problem,
    )  # fmt: skip


def _code(made: Comparison, name: str) -> str:
    """The Python of a section; of a table, what reads that."""
    if name == "ranking" and made.runs.material is None:
        return "compared = gd.compare(table)\ncompared.scores.value"
    return CODE.get(name, "")


def _ranking(made: Comparison) -> str:
    scores = made.scores
    if scores is None:
        return ""
    of = dict(zip(made.runs.names, made.runs.models, strict=True))
    rows = [
        {
            "run": run,
            "model": of[run],
            "rank": f"{scores.mean_rank[run]:.2f}",
            "answers": [f"{value:.2f}" for value in scores.answers[run]],
        }
        for run in made.ranking
    ]
    return render_template("ranking.html", rows=rows, questions=list(scores.answers.index),
                           models=len(set(of.values())) < len(of))  # fmt: skip


def _differences(made: Comparison) -> str:
    scores = made.scores
    if scores is None or not scores.differences:
        return ""
    cards = cards_of((one.score for one in scores.differences), made.settings.docs)
    rows = [
        {
            "score": one.score,
            "card": cards.get(one.score),
            "better": one.first if one.difference > 0 else one.second,
            "worse": one.second if one.difference > 0 else one.first,
            "by": f"{abs(one.difference):.3f}",
            "span": " to ".join(fixed(end, 3) for end in _ends(one)),
            "p": f"{one.p:.1g}" if one.p >= 0.001 else "< 0.001",
            "beyond": one.beyond_noise,
        }
        for one in sorted(scores.differences, key=lambda one: (one.p, -abs(one.difference)))
    ]
    beyond = [row for row in rows if row["beyond"]]
    within = [row for row in rows if not row["beyond"]]
    return render_template("differences.html", beyond=beyond, within=within, most=MOST_SHOWN,
                           pairs=_pairs(scores.differences),
                           cards=cards_markup(cards.values()))  # fmt: skip


def _pairs(differences: Sequence[ScoreDifference]) -> list[dict[str, Any]]:
    """How often each of two models is ahead beyond noise."""
    counted: dict[tuple[str, str], list[int]] = {}
    for one in differences:
        own = counted.setdefault((one.first, one.second), [0, 0, 0])
        own[(0 if one.difference > 0 else 1) if one.beyond_noise else 2] += 1
    return [
        {"first": a, "second": b, "first_ahead": own[0], "second_ahead": own[1], "noise": own[2]}
        for (a, b), own in counted.items()
    ]


def _ends(one: Any) -> tuple[float, float]:
    return (one.low, one.high) if one.difference > 0 else (-one.high, -one.low)


def _factors(made: Comparison) -> str:
    if not made.reports:
        return ""
    return render_template("found.html", rows=list(_found_rows(made)))


def _found_rows(made: Comparison) -> Iterator[dict[str, str]]:
    for name, report in zip(made.runs.names, made.reports, strict=False):
        est = report.manifold
        if est is None:
            yield {"run": name, "dim": "", "factors": report.parts["manifold"].failure, "sure": ""}
            continue
        maps = report.parts["maps"].value
        kinds = [one.name for one in maps.of] if maps is not None else []
        found = [
            f"{int(dim)}" + (f" ({kinds[j]})" if j < len(kinds) else "")
            for j, dim in enumerate(est.factor_dims_)
        ]
        sure = "uncertain" if reasons_of_doubt(report, est) else "no doubts"
        yield {"run": name, "dim": str(est.dim_), "factors": " + ".join(found), "sure": sure}


BODIES: dict[str, Callable[[Any], str]] = {
    "ranking": _ranking,
    "differences": _differences,
    "factors": _factors,
}
CODE = {
    "ranking": "compared = gd.compare({name: latents, ...}, factors)\ncompared.scores.value",
    "differences": "[one for one in compared.scores.differences if one.beyond_noise]",
    "similarity": "gd.distances.cka(a, b), gd.distances.procrustes(a, b), gd.distances.rsa(a, b)",
    "factors": "compared.agreement.matrix, compared.agreement.matched",
}
