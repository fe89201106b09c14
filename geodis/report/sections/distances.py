"""How well distances between latents agree with those between factors and between images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from geodis.base.text import first_sentence, listed
from geodis.distances.grid_distances import GROUND_TRUTH, LATENT, PERCEIVED
from geodis.plots.correlations import (
    distance_correlations_figure,
    distance_scatter_choices,
)
from geodis.plots.distances import plot_distance_distribution, traversal_matrices_figure
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.distance_comparison import (
    PAIRS,
    DistanceComparison,
    compare_distances,
)
from geodis.report.material import Material
from geodis.report.page.markup import render_template
from geodis.report.page.python_lines import seed_argument
from geodis.report.section import Section, SectionFigure

if TYPE_CHECKING:
    from geodis.distances.agreement_table import DistanceCorrelations, SourcePair

NOTHING_TO_COMPARE = (
    "Distances between the points could not be compared with others: factors give ground-truth "
    "distances, and images perceived ones."
)
CODE_OF_IMAGES = (
    "i, j = rng.integers(len(latents), size=(2, 2000))\n"
    "gd.distances.correlation(gd.distances.perceived(images[i], images[j]), "
    "gd.distances.latent(latents[i], latents[j]))"
)

# What a note on distances may say that a reader must know beside the numbers.
TOLD = ("Left out", "Counted as numbers", "Factors of several columns")


class DistancesSection(Section):
    """Ground-truth, perceived and latent distances."""

    name = "distances"
    title = "Distances"
    about = (
        "If latents preserve the order of a factor, their distance matrix along it grows away from "
        "the diagonal, as the ground truth's does. A rank correlation of 1 means that both kinds "
        "of distance order all pairs identically. Pairs of a point with itself are left out."
    )
    source = (
        "Michlo (2022), Disentanglement using VAEs resembles distance learning and requires "
        "overlapping data, equations 3.7 and 4.1 to 4.3."
    )
    cites = ("michlo2022",)

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Factors or images."""
        if material.factors is not None or material.images is not None:
            return ""
        return (
            "Comparing distances needs at least two kinds of them: give factors, images, or both."
        )

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Grow with the factors, twice as much with images."""
        f = 0 if material.factors is None else len(material.factors.names)
        return 1 + 1.5 * f * (1 + (material.images is not None))

    def compute(self, analysis: Analysis) -> DistanceComparison:
        """Compare distances by every source that there is."""
        return compare_distances(analysis.material, analysis.settings.random_state)

    def sentence(self, analysis: Analysis) -> str:
        """Rank correlations at random and along factors, or why there are none."""
        compared, part = analysis.distances, analysis.parts[self.name]
        if compared is None:
            failed = f"Distances could not be compared: {first_sentence(part.failure)}"
            return failed if part.applies else NOTHING_TO_COMPARE
        if compared.correlations is not None:
            return _agreement(compared.correlations)
        assert compared.perceived_and_latent is not None
        return (
            f"Distances between the points and perceived distances between the images have a "
            f"rank correlation of {compared.perceived_and_latent.spearman:.2f}."
        )

    def warnings(self, analysis: Analysis) -> list[str]:
        """Factors that were left out, and labels without an order."""
        agreed = None if analysis.distances is None else analysis.distances.correlations
        factors = analysis.material.factors
        if agreed is None or factors is None:
            return []
        warnings = [f"Distances: {agreed.note}"] if any(x in agreed.note for x in TOLD) else []
        labels = [name for name in factors.names if factors.kind_of(name) == "labels"]
        if labels:
            warnings.append(
                f"The labels of {listed(labels)} have no order: any two are equally far from each "
                "other, so they count only in random pairs."
            )
        return warnings

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """Matrices, pairs and correlations, and on paper what factors weigh."""
        compared = analysis.distances
        return [] if compared is None else _figures(compared)

    def body(self, analysis: Analysis) -> str:
        """Which pairs there are, and what cannot be drawn."""
        compared = analysis.distances
        if compared is None:
            return ""
        return render_template(
            "distances.html",
            correlations=compared.correlations,
            agreed=compared.perceived_and_latent,
            importance=compared.importance,
        )

    def code(self, analysis: Analysis) -> str:
        """The grid, and the correlations on it."""
        settings, compared = analysis.settings, analysis.distances
        if compared is not None and compared.perceived_and_latent is not None:
            return CODE_OF_IMAGES
        factors = "factors"
        if analysis.material.classes is not analysis.material.factors:
            factors = f"gd.scores.bin_factors(factors, {settings.bins})"
        code = "latents"
        if compared is not None and compared.whole:
            code = f"latents[np.lexsort(np.asarray({factors}).T[::-1])]"
        images = "images" if settings.has_images else "None"
        return (
            f"grid = gd.FactorGrid.from_arrays({images}, {factors})\n"
            f"code = {code}\n"
            f"print(gd.distances.distance_correlations(grid, code, n_pairs={PAIRS}, "
            f"confidence=0.95, {seed_argument(settings)}))\n"
            'gd.distances.traversal_matrix(grid, grid.names[0], "latent", code=code, '
            "random_state=0)"
        )


def _agreement(agreed: DistanceCorrelations) -> str:
    """Rank correlations of latent with ground-truth distances, in a sentence."""
    key = (GROUND_TRUTH, LATENT)
    text = (
        "Distances between the latents and those between the factors have a rank correlation of "
        f"{agreed.random[key].spearman:.2f} for random pairs"
    )
    parts = {name: by_pair[key].spearman for name, by_pair in agreed.factors.items()}
    if parts:
        text += f" and {agreed.overall[key][1]:.2f} along factors{_extremes(parts)}"
    if (GROUND_TRUTH, PERCEIVED) in agreed.random:
        by_image = agreed.random[(GROUND_TRUTH, PERCEIVED)].spearman
        text += f"; distances between the images have {by_image:.2f} with those between the factors"
    return f"{text}."


def _extremes(parts: Mapping[str, float]) -> str:
    """The factors along which distances agree best and worst."""
    if len(parts) < 2:
        return ""
    best, worst = max(parts, key=parts.__getitem__), min(parts, key=parts.__getitem__)
    return f", best along {best} ({parts[best]:.2f}) and worst along {worst} ({parts[worst]:.2f})"


def _figures(compared: DistanceComparison) -> list[SectionFigure]:
    figures = []
    if any(compared.matrices.values()):
        matrices = {kind: row for kind, row in compared.matrices.items() if row}
        describe = traversal_matrices_figure
        figures.append(SectionFigure("distance_matrices", lambda: describe(matrices)))
    figures.append(
        SectionFigure(
            "distance_scatter",
            lambda: distance_scatter_choices(compared.pairs, _rank_correlations(compared)),
        )
    )
    if (agreed := compared.correlations) is not None:
        describe_agreed = distance_correlations_figure
        figures.append(SectionFigure("distance_correlations", lambda: describe_agreed(agreed)))
    if (importance := compared.importance) is not None:
        draw = plot_distance_distribution
        figures.append(
            SectionFigure("perceived_distances", draw=lambda: draw(importance), where="paper")
        )
    return figures


def _rank_correlations(compared: DistanceComparison) -> dict[str, dict[SourcePair, float]]:
    """Rank correlations of all pairs, random or along a factor, by two kinds of distance."""
    agreed: Any = compared.correlations
    if agreed is None:
        assert compared.perceived_and_latent is not None
        return {"random": {(PERCEIVED, LATENT): compared.perceived_and_latent.spearman}}
    rows = {"random": agreed.random, **agreed.factors}
    return {
        name: {kinds: measured.spearman for kinds, measured in by_pair.items()}
        for name, by_pair in rows.items()
    }
