"""The sections of the page of a comparison; their analysis is a `Comparison`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.text import fixed, listed
from geodis.plots.figure.marks import (
    Axis,
    Cells,
    Dots,
    Figure,
    Panel,
    factor_color,
    one_panel,
    rows_panel,
)
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


# Figures of a comparison: scores, similarities, and distances along factors.

SPREAD = 0.7  # height of the marks of all runs, as a share of a row


def scores_of_runs_figure(scores: PairedScores, models: Sequence[str]) -> Figure:
    """Describe the scores on a common scale, with a mark per run in the colour of its model."""
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
        shift = (number - (count - 1) / 2) * SPREAD / max(count, 1)
        marks.append(
            Dots(value[run].to_numpy(), place + shift, run, factor_color(number_of[models[number]]),
                 seeds[number], spans=spans,
                 hover="{label}\n{score}: {x:.3f}", told={"score": names})
        )  # fmt: skip
    numbers = value.to_numpy(float)
    limits = min(-0.02, float(np.nanmin(numbers))), max(1.02, float(np.nanmax(numbers)))
    panel = rows_panel(marks, names, Axis("score", limits=limits))
    return one_panel("scores", f"{k} scores of {count} runs, and their chance levels", panel,
                     height=90 + k * max(19, 7 * count))  # fmt: skip


def similarity_figure(similarity: Similarity, names: Sequence[str]) -> Figure:
    """Describe one measure of similarity between all runs."""
    hover = f"{{y}} and {{x}}\n{similarity.name}: {{z:.3f}}"
    low = min(0.0, float(np.nanmin(similarity.matrix)))
    title = f"{similarity.name} (unrelated: {fixed(similarity.chance)})"
    matrix = np.round(similarity.matrix, 3) + 0.0
    return _square(similarity.name.lower(), title, matrix, low, hover, names)


def factors_agree_figure(matrix: np.ndarray, names: Sequence[str]) -> Figure:
    """Describe the R² with which the factors of one run predict those of another."""
    hover = "R² of the factors of {y} by those of {x}: {z:.2f}"
    title = "R² of the row's factors, predicted from the column's"
    return _square("factors", title, np.clip(matrix, 0, 1), 0.0, hover, names)


def _square(
    name: str, title: str, matrix: np.ndarray, low: float, hover: str, names: Sequence[str]
) -> Figure:
    cells = Cells(np.asarray(matrix, float), low, 1.0, digits=2, hover=hover)
    axis = Axis(names=tuple(names))
    panel = Panel([cells], axis, axis, title=title, frame="none")
    size = int(np.clip(130 + 34 * len(names), 200, 760))
    return one_panel(name, title, panel, height=size)


def distances_of_runs_figure(agreed: Mapping[str, DistanceCorrelations]) -> Figure:
    """Describe rank correlations of latent with ground-truth distances, with a mark per run."""
    from geodis.distances.grid_distances import GROUND_TRUTH, LATENT

    key = (GROUND_TRUTH, LATENT)
    rows = ["random pairs", *next(iter(agreed.values())).factors]
    marks = []
    for number, (run, one) in enumerate(agreed.items()):
        measured = [one.random[key], *(one.factors[name][key] for name in rows[1:])]
        shift = (number - (len(agreed) - 1) / 2) * SPREAD / len(agreed)
        marks.append(
            Dots([m.spearman for m in measured], np.arange(len(rows)) + shift, run,
                 factor_color(number), spans=[m.spearman_interval for m in measured],
                 hover="{label}\n{row}: {x:.3f}", told={"row": rows})
        )  # fmt: skip
    low = min(float(np.min(np.asarray(mark.x))) for mark in marks)
    across = Axis(
        "rank correlation with distances between factors", limits=(min(low, 0) - 0.02, 1.0)
    )
    panel = rows_panel(marks, rows, across)
    about = "rank correlations of distances between latents and between factors"
    height = 110 + len(rows) * max(28, 8 * len(agreed))
    return one_panel("distances", about, panel, height=height)


MOST_SHOWN = 12  # differences shown before the rest is unfolded
NAMED = 3  # models that a sentence names


class RankingSection(Section):
    """Runs by mean rank, and their scores."""

    name = "ranking"
    title = "Ranking"
    about = (
        "Runs by mean rank over the scores that differ from chance in at least one run. Answers "
        "are scaled from chance (0) to the best value (1); each is a median over scores."
    )
    cites = ("locatello2019",)

    def missing(self, made: Comparison) -> str:
        """Needs scores."""
        return "" if made.scores is not None else "There are no scores."

    def sentence(self, made: Comparison) -> str:
        """The ranking, and whether any difference is significant."""
        scores = made.scores
        if scores is None:
            return ""
        if scores.mean_rank.isna().all():
            return "Uncertain: no score differs from chance in any run, so the runs are not ranked."
        ranks = [f"{name} ({rank:.1f})" for name, rank in scores.mean_rank.items()]
        known = scores.chance.notna().any(axis=None)
        over = "all scores above chance for at least one run" if known else "all scores"
        ranking = f"By mean rank over {over}: {', '.join(ranks)}."
        if any(one.beyond_noise for one in scores.differences):
            return ranking
        tested = "is significant" if scores.differences else "could be tested"
        return f"Uncertain: no difference between the models {tested}. {ranking}"

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """The scores on a common scale."""
        scores, models = made.scores, made.runs.models
        assert scores is not None
        return [SectionFigure("scores", lambda: scores_of_runs_figure(scores, models))]

    def body(self, made: Comparison) -> str:
        """The table of ranks and answers."""
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
        """Code for the comparison."""
        given = "table" if made.runs.material is None else "{name: latents, ...}, factors"
        return f"compared = gd.compare({given})\ncompared.scores.value"


class DifferencesSection(Section):
    """Differences between models in every score."""

    name = "differences"
    title = "Significant differences"
    about = (
        "All pairs of models in all scores with a known variance, with p values corrected for the "
        "number of tests (Holm). The model ahead has the better score."
    )

    def missing(self, made: Comparison) -> str:
        """Needs tested differences."""
        tested = made.scores is not None and made.scores.differences
        return "" if tested else "No difference could be tested."

    def sentence(self, made: Comparison) -> str:
        """The number of significant differences, and the models that are ahead."""
        if made.scores is None or not (tested := made.scores.differences):
            return ""
        beyond = [one for one in tested if one.beyond_noise]
        over = "seeds" if made.runs.seeded else "rows"
        text = f"{len(beyond)} of {len(tested)} differences in scores are significant (over {over})"
        wins = Counter(one.first if one.difference > 0 else one.second for one in beyond)
        ahead = [f"{name} is ahead in {count}" for name, count in wins.most_common(NAMED)]
        return f"{text}: {', '.join(ahead)}." if ahead else f"{text}."

    def body(self, made: Comparison) -> str:
        """The differences, by ascending p value."""
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
        """Code for the significant differences."""
        return "[one for one in compared.scores.differences if one.beyond_noise]"


def _ends(one: ScoreDifference) -> tuple[float, float]:
    return (one.low, one.high) if one.difference > 0 else (-one.high, -one.low)


def _pairs(differences: Sequence[ScoreDifference]) -> list[dict[str, Any]]:
    """Count significant wins of each model in every pair."""
    ahead: dict[tuple[str, str], list[int]] = {}
    for one in differences:
        own = ahead.setdefault((one.first, one.second), [0, 0, 0])
        own[(0 if one.difference > 0 else 1) if one.beyond_noise else 2] += 1
    return [
        {"first": a, "second": b, "first_ahead": own[0], "second_ahead": own[1], "noise": own[2]}
        for (a, b), own in ahead.items()
    ]


class SimilaritySection(Section):
    """Similarity of the representations, by several measures."""

    name = "similarity"
    title = "Similarity of the representations"
    about = (
        "Similarity of the representations, independent of their axes: 1 means equal up to "
        "rotation and scale. Each title states the value for unrelated representations."
    )
    cites = ("kornblith2019", "schonemann1966", "kriegeskorte2008")

    def missing(self, made: Comparison) -> str:
        """Needs latents."""
        return "" if made.similarities else "There are no latents."

    def sentence(self, made: Comparison) -> str:
        """The most and the least similar pair of runs."""
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
        """A matrix per measure."""
        return [
            SectionFigure(one.name.lower(), partial(similarity_figure, one, made.runs.names))
            for one in made.similarities
        ]

    def code(self, made: Comparison) -> str:
        """Code for the measures."""
        return "gd.distances.cka(a, b), gd.distances.procrustes(a, b), gd.distances.rsa(a, b)"


class FactorsSection(Section):
    """The factors found in each run, and their agreement."""

    name = "factors"
    title = "Found factors"
    about = (
        "The factors found in each run, and the R² with which the factors of one run predict those "
        "of another on held-out rows."
    )
    cites = ("pfau2020",)

    def missing(self, made: Comparison) -> str:
        """Needs latents."""
        return "" if made.reports else "There are no latents."

    def sentence(self, made: Comparison) -> str:
        """The dimensions of the factors of every run."""
        found = []
        for name, report in zip(made.runs.names, made.reports, strict=False):
            if (est := report.manifold) is not None:
                dims = " + ".join(str(int(dim)) for dim in est.factor_dims_)
                found.append(f"{name} {dims}{' (uncertain)' * bool(reasons_of_doubt(report, est))}")
        return f"Dimensions of the found factors: {', '.join(found)}." if found else ""

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """The R² between the factors of all runs."""
        agreed = made.agreement
        names = [made.runs.names[run] for run in agreed.runs]
        if len(names) < 2:
            return []
        return [SectionFigure("factors", lambda: factors_agree_figure(agreed.matrix, names))]

    def body(self, made: Comparison) -> str:
        """The table of factors of every run."""
        return render_template("found.html", rows=list(_found_rows(made)))

    def code(self, made: Comparison) -> str:
        """Code for the matrix and the matches."""
        return "compared.agreement.matrix, compared.agreement.matched"


def _found_rows(made: Comparison) -> Iterator[dict[str, str]]:
    for name, report in zip(made.runs.names, made.reports, strict=False):
        est = report.manifold
        if est is None:
            yield {
                "run": name,
                "dim": "",
                "factors": report.parts["manifold"].failure,
                "certainty": "",
            }
            continue
        maps = report.parts["maps"].value
        kinds = [one.name for one in maps.of] if maps is not None else []
        found = [
            f"{int(dim)}" + (f" ({kinds[j]})" if j < len(kinds) else "")
            for j, dim in enumerate(est.factor_dims_)
        ]
        certainty = "uncertain" if reasons_of_doubt(report, est) else "no doubts"
        yield {
            "run": name,
            "dim": str(est.dim_),
            "factors": " + ".join(found),
            "certainty": certainty,
        }


class MapsOfRunsSection(Section):
    """Maps of all runs, linked by rows."""

    name = "maps"
    title = "Maps side by side"
    about = (
        "A dot is the same row on all maps. Point at a dot or choose an area to find its rows in "
        "the other runs."
    )

    def missing(self, made: Comparison) -> str:
        """Needs at least two runs with maps of the same rows."""
        return "" if len(made.agreement.runs) > 1 else "Fewer than two runs have maps."

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """The linked maps, if any row is on all of them."""
        drawn: LinkedViews | None = maps_side_by_side(made.reports, made.runs.names)
        return [] if drawn is None else [SectionFigure("maps", lambda: drawn)]


class DistancesOfRunsSection(Section):
    """Correlations of distances between latents and between factors, for every run."""

    name = "distances"
    title = "Distances"
    about = "Rank correlations of distances between latents with those between factors."

    def missing(self, made: Comparison) -> str:
        """Needs at least two runs with such correlations."""
        return "" if len(_correlations(made)) > 1 else "There are no distances to compare."

    def figures(self, made: Comparison) -> list[SectionFigure]:
        """The correlations of every run."""
        return [SectionFigure("distances", lambda: distances_of_runs_figure(_correlations(made)))]


def _correlations(made: Comparison) -> dict[str, DistanceCorrelations]:
    """Return the correlations of the runs that have them."""
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
