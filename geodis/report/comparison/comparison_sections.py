"""The sections of the page of a comparison; each is asked about a `Comparison`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.text import fixed, listed
from geodis.plots.figure.marks import Axis, Cells, Dots, Figure, Panel, factor_color, one_panel
from geodis.report.comparison.found_factors import maps_side_by_side
from geodis.report.page.score_cards import cards_markup, cards_of, render_template
from geodis.report.section import Section, SectionFigure
from geodis.report.sentences import reasons_of_doubt

if TYPE_CHECKING:
    from geodis.distances.distance_agreement import DistanceCorrelations
    from geodis.plots.figure.linked_views import LinkedViews
    from geodis.report.comparison.comparison_results import Comparison
    from geodis.report.comparison.found_factors import Similarity
    from geodis.report.comparison.paired_scores import PairedScores, ScoreDifference


# Figures of a comparison: scores beside one another, similarities, distances along factors.

APART = 0.7  # of the room of one name, for the marks of all runs


def scores_of_runs_figure(scores: PairedScores, models: Sequence[str]) -> Figure:
    """Describe every score that has a common scale, a mark for each run in its model's colour."""
    number_of = {model: number for number, model in enumerate(dict.fromkeys(models))}
    seeds = [list(models[:i]).count(model) for i, model in enumerate(models)]
    judged = scores.chance.notna().any(axis=1)
    judged = judged if judged.any() else scores.value.notna().any(axis=1)
    value, chance = scores.value[judged], scores.chance[judged]
    names, runs = tuple(map(str, value.index)), list(map(str, value.columns))
    k, count = len(names), len(runs)
    place = np.arange(k)
    marks = []
    if chance.notna().any(axis=None):
        marks.append(Dots(chance.mean(axis=1).to_numpy(), place, "chance", "faint", 1, True,
                          "small", hover="{y}: chance {x:.3f}"))  # fmt: skip
    for number, run in enumerate(runs):
        ends = zip(scores.low.loc[value.index, run], scores.high.loc[value.index, run], strict=True)
        spans = [(float(a), float(b)) if np.isfinite(a) else None for a, b in ends]
        shift = (number - (count - 1) / 2) * APART / max(count, 1)
        told = {"score": names}
        marks.append(
            Dots(value[run].to_numpy(), place + shift, run, factor_color(number_of[models[number]]),
                 seeds[number], spans=spans,
                 hover="{label}\n{score}: {x:.3f}", told=told)
        )  # fmt: skip
    numbers = value.to_numpy(float)
    limits = min(-0.02, float(np.nanmin(numbers))), max(1.02, float(np.nanmax(numbers)))
    up = Axis(names=names, limits=(k - 0.5, -0.5))
    panel = Panel(marks, Axis("score", limits=limits), up, legend="beside", striped=True)
    return one_panel("scores", f"{k} scores of {count} runs beside chance", panel,
                     height=90 + k * max(19, 7 * count))  # fmt: skip


def similarity_figure(alike: Similarity, names: Sequence[str]) -> Figure:
    """Describe one measure between all runs."""
    told = f"{{y}} and {{x}}\n{alike.name}: {{z:.3f}}"
    low = min(0.0, float(np.nanmin(alike.matrix)))
    return _square(alike.name.lower(), f"{alike.name} (unrelated: {fixed(alike.chance)})",
                   np.round(alike.matrix, 3) + 0.0, low, told, names)  # fmt: skip


def factors_agree_figure(matrix: np.ndarray, names: Sequence[str]) -> Figure:
    """Describe what share of the factors of one run the factors of another tell."""
    told = "of the factors of {y}, those of {x} tell {z:.2f}"
    title = "R² of the factors of a row by those of a column"
    return _square("factors", title, np.clip(matrix, 0, 1), 0.0, told, names)


def _square(
    name: str, title: str, matrix: np.ndarray, low: float, told: str, names: Sequence[str]
) -> Figure:
    cells = Cells(np.asarray(matrix, float), low, 1.0, digits=2, hover=told)
    axis = Axis(names=tuple(names))
    panel = Panel([cells], axis, axis, title=title, frame="none")
    size = int(np.clip(130 + 34 * len(names), 200, 760))
    return one_panel(name, title, panel, height=size)


def distances_of_runs_figure(agreed: Mapping[str, DistanceCorrelations]) -> Figure:
    """Describe rank correlations of latent with ground-truth distances, a mark for each run."""
    from geodis.distances.grid_distances import GROUND_TRUTH, LATENT

    key = (GROUND_TRUTH, LATENT)
    rows = ["random pairs", *next(iter(agreed.values())).factors]
    marks = []
    for number, (run, one) in enumerate(agreed.items()):
        measured = [one.random[key], *(one.factors[name][key] for name in rows[1:])]
        shift = (number - (len(agreed) - 1) / 2) * APART / len(agreed)
        marks.append(
            Dots([m.spearman for m in measured], np.arange(len(rows)) + shift, run,
                 factor_color(number), spans=[m.spearman_interval for m in measured],
                 hover="{label}\n{row}: {x:.3f}", told={"row": rows})
        )  # fmt: skip
    low = min(float(np.min(np.asarray(mark.x))) for mark in marks)
    across = Axis("rank correlation with the factors' distances", limits=(min(low, 0) - 0.02, 1.0))
    up = Axis(names=tuple(rows), limits=(len(rows) - 0.5, -0.5))
    panel = Panel(marks, across, up, legend="beside", striped=True)
    return one_panel("distances", "how far distances of the latents follow those of the factors",
                     panel, height=110 + len(rows) * max(28, 8 * len(agreed)))  # fmt: skip


MOST_SHOWN = 12  # differences before one asks for more
NAMED = 3  # models that a sentence names


class RankingSection(Section):
    """The runs by their mean rank, and every score of each."""

    name = "ranking"
    title = "Ranking"
    about = (
        "Runs by their mean rank over the scores that differ from chance in a run. The answers go "
        "from chance (0) to the best value (1), each the median of the scores that give it."
    )
    cites = ("locatello2019",)

    def missing(self, made: Comparison) -> str:
        """Scores."""
        return "" if made.scores is not None else "There are no scores."

    def sentence(self, made: Comparison) -> str:
        """The order, and whether any difference is beyond noise."""
        scores = made.scores
        if scores is None:
            return ""
        if scores.mean_rank.isna().all():
            return "Uncertain: no score differs from chance in any run, so none ranks first."
        ranks = [f"{name} ({rank:.1f})" for name, rank in scores.mean_rank.items()]
        known = scores.chance.notna().any(axis=None)
        over = "all scores above chance for at least one run" if known else "all scores"
        said = f"By the mean rank over {over}: {', '.join(ranks)}."
        if any(one.beyond_noise for one in scores.differences):
            return said
        tested = "is beyond noise" if scores.differences else "could be tested against noise"
        return f"Uncertain: no difference between the models {tested}. {said}"

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """Every score that has a common scale."""
        scores, models = made.scores, made.runs.models
        assert scores is not None
        return [SectionFigure("scores", lambda: scores_of_runs_figure(scores, models))]

    def body(self, made: Comparison) -> str:
        """Ranks and answers."""
        scores = made.scores
        assert scores is not None
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
        seeded = len(set(of.values())) < len(of)
        questions = list(scores.answers.index)
        return render_template("ranking.html", rows=rows, questions=questions, models=seeded)

    def code(self, made: Comparison) -> str:
        """The comparison itself."""
        given = "table" if made.runs.material is None else "{name: latents, ...}, factors"
        return f"compared = gd.compare({given})\ncompared.scores.value"


class DifferencesSection(Section):
    """The differences between models in every score."""

    name = "differences"
    title = "What differs beyond noise"
    about = (
        "Every pair of models in every score whose noise is known, corrected for the number of "
        "tests (Holm). Differences are signed so that more is better."
    )

    def missing(self, made: Comparison) -> str:
        """Differences that were tested."""
        tested = made.scores is not None and made.scores.differences
        return "" if tested else "No difference could be tested."

    def sentence(self, made: Comparison) -> str:
        """How many are beyond noise, and which models are ahead."""
        if made.scores is None or not (tested := made.scores.differences):
            return ""
        beyond = [one for one in tested if one.beyond_noise]
        over = "seeds" if made.runs.seeded else "rows"
        text = (
            f"{len(beyond)} of {len(tested)} differences in a score are beyond noise (over {over})"
        )
        wins = Counter(one.first if one.difference > 0 else one.second for one in beyond)
        told = [f"{name} is ahead in {count}" for name, count in wins.most_common(NAMED)]
        return f"{text}: {', '.join(told)}." if told else f"{text}."

    def body(self, made: Comparison) -> str:
        """The differences, the surest first."""
        assert made.scores is not None
        differences = made.scores.differences
        cards = cards_of((one.score for one in differences), made.settings.docs)
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
            for one in sorted(differences, key=lambda one: (one.p, -abs(one.difference)))
        ]
        return render_template(
            "differences.html",
            beyond=[row for row in rows if row["beyond"]],
            within=[row for row in rows if not row["beyond"]],
            most=MOST_SHOWN,
            pairs=_pairs(differences),
            cards=cards_markup(cards.values()),
        )

    def code(self, made: Comparison) -> str:
        """Where they are."""
        return "[one for one in compared.scores.differences if one.beyond_noise]"


def _ends(one: ScoreDifference) -> tuple[float, float]:
    return (one.low, one.high) if one.difference > 0 else (-one.high, -one.low)


def _pairs(differences: Sequence[ScoreDifference]) -> list[dict[str, Any]]:
    """How often each of two models is ahead beyond noise."""
    ahead: dict[tuple[str, str], list[int]] = {}
    for one in differences:
        own = ahead.setdefault((one.first, one.second), [0, 0, 0])
        own[(0 if one.difference > 0 else 1) if one.beyond_noise else 2] += 1
    return [
        {"first": a, "second": b, "first_ahead": own[0], "second_ahead": own[1], "noise": own[2]}
        for (a, b), own in ahead.items()
    ]


class SimilaritySection(Section):
    """How similar the representations are, by several measures."""

    name = "similarity"
    title = "How similar the representations are"
    about = (
        "The similarity of the representations, whatever their axes: 1 is the same up to rotation "
        "and scale. Each title states the value for unrelated representations."
    )
    cites = ("kornblith2019", "schonemann1966", "kriegeskorte2008")

    def missing(self, made: Comparison) -> str:
        """Latents."""
        return "" if made.similarities else "There are no latents."

    def sentence(self, made: Comparison) -> str:
        """The most and the least similar runs."""
        if not made.similarities:
            return ""
        first = made.similarities[0]
        names, r = made.runs.names, len(made.runs.names)
        pairs = [(first.matrix[i, j], i, j) for i in range(r) for j in range(i + 1, r)]
        (high, *most), (low, *least) = max(pairs), min(pairs)
        unrelated = f"unrelated: {fixed(first.chance)}"
        if len(pairs) == 1:
            return f"{first.name} of the two representations is {fixed(high)} ({unrelated})."
        closest, farthest = ([names[run] for run in pair] for pair in (most, least))
        return (
            f"The most similar runs are {listed(closest)} ({first.name} {fixed(high)}), the least "
            f"similar {listed(farthest)} ({fixed(low)}; {unrelated})."
        )

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """A matrix for every measure."""
        return [
            SectionFigure(one.name.lower(), partial(similarity_figure, one, made.runs.names))
            for one in made.similarities
        ]

    def code(self, made: Comparison) -> str:
        """The measures."""
        return "gd.distances.cka(a, b), gd.distances.procrustes(a, b), gd.distances.rsa(a, b)"


class FactorsSection(Section):
    """The factors that were found in each run, and which of them agree."""

    name = "factors"
    title = "Factors that were found"
    about = (
        "The factors found in each run, and the R² with which the factors of one run predict those "
        "of another on held-out rows."
    )
    cites = ("pfau2020",)

    def missing(self, made: Comparison) -> str:
        """Latents."""
        return "" if made.reports else "There are no latents."

    def sentence(self, made: Comparison) -> str:
        """Dimensions of the factors of every run."""
        told = []
        for name, report in zip(made.runs.names, made.reports, strict=False):
            if (est := report.manifold) is not None:
                dims = " + ".join(str(int(dim)) for dim in est.factor_dims_)
                told.append(f"{name} {dims}{' (uncertain)' * bool(reasons_of_doubt(report, est))}")
        return f"Dimensions of the factors that were found: {', '.join(told)}." if told else ""

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """How well the factors of runs predict one another."""
        agreed = made.agreement
        names = [made.runs.names[run] for run in agreed.runs]
        if len(names) < 2:
            return []
        return [SectionFigure("factors", lambda: factors_agree_figure(agreed.matrix, names))]

    def body(self, made: Comparison) -> str:
        """The factors of every run."""
        return render_template("found.html", rows=list(_found_rows(made)))

    def code(self, made: Comparison) -> str:
        """Where the numbers are."""
        return "compared.agreement.matrix, compared.agreement.matched"


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


class MapsOfRunsSection(Section):
    """The maps of all runs, linked by their rows."""

    name = "maps"
    title = "Maps side by side"
    about = (
        "A dot is the same row on all maps: point at one, or choose an area, to see where its rows "
        "lie in the other runs."
    )

    def missing(self, made: Comparison) -> str:
        """At least two runs with maps of the same rows."""
        return "" if len(made.agreement.runs) > 1 else "Fewer than two runs have maps."

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """The maps; none where no row is on all of them."""
        drawn: LinkedViews | None = maps_side_by_side(made.reports, made.runs.names)
        return [] if drawn is None else [SectionFigure("maps", lambda: drawn)]


class DistancesOfRunsSection(Section):
    """How far distances of latents follow those of the given factors, for every run."""

    name = "distances"
    title = "Distances"
    about = "Rank correlations of distances between latents with those between factors."

    def missing(self, made: Comparison) -> str:
        """At least two runs with such distances."""
        return "" if len(_correlations(made)) > 1 else "There are no distances to compare."

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """A mark for each run."""
        return [SectionFigure("distances", lambda: distances_of_runs_figure(_correlations(made)))]


def _correlations(made: Comparison) -> dict[str, DistanceCorrelations]:
    """Correlations of the runs that have them."""
    return {
        name: report.distances.correlations
        for name, report in zip(made.runs.names, made.reports, strict=False)
        if report.distances is not None and report.distances.correlations is not None
    }


COMPARISON_SECTIONS: tuple[Section, ...] = (
    RankingSection(),
    DifferencesSection(),
    SimilaritySection(),
    FactorsSection(),
    MapsOfRunsSection(),
    DistancesOfRunsSection(),
)
