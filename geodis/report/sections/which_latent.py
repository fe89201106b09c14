"""Which latent encodes which factor: the matrices behind two scores."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from geodis.plots.scores import score_matrix_figure
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.section import Section, SectionFigure

if TYPE_CHECKING:
    from geodis.plots.figure.marks import Figure
    from geodis.scores.score import Score

# Score -> figure, its title on paper, what it shows and what an entry is called.
MATRICES = {
    "mig": (
        "information",
        "Mutual information",
        "mutual information of latents and factors",
        "mutual information",
    ),
    "dci": (
        "importances",
        "Importances (DCI)",
        "importance of latents for predicting factors",
        "importance",
    ),
}


class HeldBySection(Section):
    """Mutual information and importances."""

    name = "held"
    title = "Which latent encodes which factor"
    about = (
        "In a disentangled code every row and every column has one strong cell. A row with several "
        "is a latent that mixes factors; a column with several is a factor spread over latents."
    )
    source = (
        "Mutual information as in MIG: Chen et al. (2018). Importances as in DCI: "
        "Eastwood and Williams (2018)."
    )
    cites = ("chen2018", "eastwood2018")

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Factors."""
        return "" if material.factors is not None else "No factors were given."

    def failure(self, analysis: Analysis) -> str:
        """Nothing to show without such scores."""
        shown = _matrices(analysis)
        return "" if shown else "There are no scores that have such a matrix."

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """A matrix for every score that has one."""
        return [
            SectionFigure(MATRICES[key][0], partial(_describe, key, score))
            for key, score in _matrices(analysis).items()
        ]

    def code(self, analysis: Analysis) -> str:
        """Where the matrices are in the table."""
        return 'table.scores["mig"].matrix, table.scores["dci"].matrix'


def _matrices(analysis: Analysis) -> dict[str, Score]:
    """Scores that have a matrix of latents and factors."""
    scores = {} if analysis.scores is None else analysis.scores.scores
    known = {key: scores[key] for key in MATRICES if key in scores}
    return {key: score for key, score in known.items() if score.matrix is not None}


def _describe(key: str, score: Score) -> Figure:
    name, title, about, entry = MATRICES[key]
    names = [str(factor) for factor in score.factor_names or ()]
    return score_matrix_figure(
        score, name=name, about=about, title=title, factor_names=names, entry=entry
    )
