"""The section on distances: agreement of distances between latents, factors and images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.base.text import first_sentence, listed
from geodis.distances.grid_distances import GROUND_TRUTH, LATENT, PERCEIVED
from geodis.plots.distances import (
    distance_correlations_figure,
    distance_scatter_choices,
    plot_distance_distribution,
    traversal_matrices_figure,
)
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.page.score_cards import render_template, seed_argument
from geodis.report.section import Section, SectionFigure

if TYPE_CHECKING:
    from geodis.distances.along_factors import FactorImportance
    from geodis.distances.correlations import Correlation
    from geodis.distances.distance_agreement import DistanceCorrelations, SourcePair
    from geodis.distances.grid_distances import GridDistances


# Enough pairs for an accuracy of 0.01; resampling more pairs would take minutes.
PAIRS, SHOWN_PAIRS = 5_000, 300
PAIRS_OF_IMAGES = 2_000
MAX_MATRIX = 40  # largest number of values of a factor whose distance matrix is drawn


@dataclass(frozen=True, eq=False)
class DistanceComparison:
    """Distances between factors, images and latents, and their correlations.

    Attributes
    ----------
    correlations : DistanceCorrelations or None
        None without factors.
    matrices : dict of str to dict of str to ndarray of shape (s, s)
        Kind of distance -> factor -> average distances between its values.
    pairs : dict of str to dict of str to ndarray
        "random" or a factor -> kind -> distances of a sample of pairs.
    importance : FactorImportance or None
        Weight of each factor in perceived distances; None without images.
    perceived_and_latent : Correlation or None
        Correlation over random pairs, if there are no factors.
    whole : bool
        Whether every combination of the factors occurs exactly once; rows are then in that order.
    """

    correlations: DistanceCorrelations | None
    matrices: Mapping[str, Mapping[str, np.ndarray]]
    pairs: Mapping[str, Mapping[str, np.ndarray]]
    importance: FactorImportance | None = None
    perceived_and_latent: Correlation | None = None
    whole: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return all values except the pairs."""
        plain = self.perceived_and_latent
        return {
            "correlations": self.correlations and self.correlations.to_dict(),
            "perceived ~ latent": plain and vars(plain),
            "matrices": self.matrices,
            "importance": self.importance and self.importance.to_dict(),
        }


def compare_distances(material: Material, random_state: Any) -> DistanceComparison:
    """Compare distances between latents with those between factors and images, where given."""
    rng = check_random_state(random_state)
    if material.classes is None:
        return _without_factors(material, rng)
    from geodis.data.grids.grid import FactorGrid
    from geodis.distances import distance_correlations, factor_importance, traversal_matrices
    from geodis.distances.grid_distances import GridDistances

    images = None if material.images is None else _used_images(material)
    grid = FactorGrid.from_arrays(images, material.classes)
    code = material.latents
    if grid.complete:  # rows of a complete grid are in the order of its index
        code = code[np.lexsort(material.classes.values.T[::-1])]
    agreed = distance_correlations(grid, code, n_pairs=PAIRS, confidence=0.95, random_state=rng)
    distances = GridDistances(grid, code)
    matrices = traversal_matrices(grid, code, max_values=MAX_MATRIX, random_state=0)
    importance = None
    if grid.image_shape is not None:
        importance = factor_importance(grid, n_pairs=PAIRS, random_state=rng)
    pairs = _some_pairs(distances, list(agreed.factors), rng)
    return DistanceComparison(agreed, matrices, pairs, importance, whole=grid.complete)


def _some_pairs(
    distances: GridDistances, factors: list[str], rng: np.random.Generator
) -> dict[str, dict[str, np.ndarray]]:
    """Compute distances of a few pairs for a figure: random pairs, and pairs along factors."""
    from geodis.distances import sample_pairs

    grid = distances.grid
    drawn = {"random": sample_pairs(grid, SHOWN_PAIRS, random_state=rng)}
    for name in factors:
        drawn[name] = sample_pairs(grid, SHOWN_PAIRS, "factor", factor=name, random_state=rng)
    return {
        name: {
            source: distances.between(pairs[:, 0], pairs[:, 1], source)
            for source in distances.sources
        }
        for name, pairs in drawn.items()
    }


def _without_factors(material: Material, rng: np.random.Generator) -> DistanceComparison:
    from geodis.distances import correlation, latent, perceived

    n = len(material.latents)
    a = rng.integers(n, size=min(PAIRS_OF_IMAGES, 4 * n))
    b = (a + rng.integers(1, n, size=len(a))) % n  # never the point itself
    by_image = perceived(material.images_of(a), material.images_of(b))
    by_latent = latent(material.latents[a], material.latents[b])
    shown = {"perceived": by_image[:SHOWN_PAIRS], "latent": by_latent[:SHOWN_PAIRS]}
    agreed = correlation(by_image, by_latent, confidence=0.95, random_state=rng)
    return DistanceComparison(None, {}, {"random": shown}, None, agreed)


def _used_images(material: Material) -> Any:
    """Return the images of the used rows."""
    if len(material.rows) == material.n_given:
        return material.images
    return np.asarray(material.images[material.rows])


NOTHING_TO_COMPARE = (
    "Distances were not compared: this needs factors, for ground-truth distances, or images, for "
    "perceived distances."
)
CODE_OF_IMAGES = (
    "i, j = rng.integers(len(latents), size=(2, 2000))\n"
    "gd.distances.correlation(gd.distances.perceived(images[i], images[j]), "
    "gd.distances.latent(latents[i], latents[j]))"
)

# Notes on distances with these texts are shown as warnings.
WARNED_OF = ("Left out", "Counted as numbers", "Factors of several columns")


class DistancesSection(Section):
    """Correlations of ground-truth, perceived and latent distances."""

    name = "distances"
    title = "Distances"
    about = (
        "If latents preserve the order of a factor, their distance matrix along it increases away "
        "from the diagonal, like that of the ground truth. A rank correlation of 1 means that both "
        "kinds of distance order all pairs identically. Pairs of a point with itself are excluded."
    )
    source = (
        "Michlo (2022), Disentanglement using VAEs resembles distance learning and requires "
        "overlapping data, equations 3.7 and 4.1 to 4.3."
    )
    cites = ("michlo2022",)

    def needs(self, material: Material, settings: ReportSettings) -> str:
        """Needs factors or images."""
        if material.factors is not None or material.images is not None:
            return ""
        return "Comparing distances needs factors, images, or both."

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Linear in the number of factors, and twice that with images."""
        f = 0 if material.factors is None else len(material.factors.names)
        return 1 + 1.5 * f * (1 + (material.images is not None))

    def compute(self, analysis: Analysis) -> DistanceComparison:
        """Compare all kinds of distance."""
        return compare_distances(analysis.material, analysis.settings.random_state)

    def sentence(self, analysis: Analysis) -> str:
        """Rank correlations over random pairs and along factors, or why there are none."""
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
        """Factors that were left out, and categorical factors."""
        agreed = None if analysis.distances is None else analysis.distances.correlations
        factors = analysis.material.factors
        if agreed is None or factors is None:
            return []
        warnings = [f"Distances: {agreed.note}"] if any(x in agreed.note for x in WARNED_OF) else []
        labels = [name for name in factors.names if factors.kind_of(name) == "labels"]
        if labels:
            warnings.append(
                f"The labels of {listed(labels)} have no order: all distances between them are "
                "equal, so they are used only in random pairs."
            )
        return warnings

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """Matrices, pairs and correlations; as a file also the distribution of distances."""
        compared = analysis.distances
        return [] if compared is None else _figures(compared)

    def body(self, analysis: Analysis) -> str:
        """The pairs that were compared, and results that are not drawn."""
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
        """Code for the grid and its correlations."""
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
    """Write the sentence on rank correlations of latent and ground-truth distances."""
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
    """Name the factors along which distances agree best and worst."""
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
    """Return the rank correlations over random pairs and along each factor."""
    agreed: Any = compared.correlations
    if agreed is None:
        assert compared.perceived_and_latent is not None
        return {"random": {(PERCEIVED, LATENT): compared.perceived_and_latent.spearman}}
    rows = {"random": agreed.random, **agreed.factors}
    return {
        name: {kinds: measured.spearman for kinds, measured in by_pair.items()}
        for name, by_pair in rows.items()
    }
