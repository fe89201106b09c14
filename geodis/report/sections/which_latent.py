"""Which latent encodes which factor: the matrices behind two scores."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from geodis.plots.scores import score_matrix_figure
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.section import Section, SectionFigure
from geodis.scores.registry import entries

if TYPE_CHECKING:
    from geodis.plots.figure.marks import Figure
    from geodis.scores.card import MatrixCaption
    from geodis.scores.score import Score


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
            SectionFigure(caption.name, partial(_describe, caption, score))
            for caption, score in _matrices(analysis).values()
        ]

    def code(self, analysis: Analysis) -> str:
        """Where the matrices are in the table."""
        return ", ".join(f'table.scores["{name}"].matrix' for name in _matrices(analysis))


def _matrices(analysis: Analysis) -> dict[str, tuple[MatrixCaption, Score]]:
    """Scores whose matrix of latents and factors is drawn, with its caption."""
    scores = {} if analysis.scores is None else analysis.scores.scores
    return {
        entry.name: (entry.shown.matrix, scores[entry.name])
        for entry in entries()
        if entry.shown.matrix and entry.name in scores and scores[entry.name].matrix is not None
    }


def _describe(caption: MatrixCaption, score: Score) -> Figure:
    return score_matrix_figure(
        score,
        name=caption.name,
        about=caption.about,
        title=caption.title,
        factor_names=[str(factor) for factor in score.factor_names or ()],
        entry=caption.entry,
    )
