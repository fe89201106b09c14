"""What the section on distances computes: by every source that there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.report.material import Material

if TYPE_CHECKING:
    from geodis.distances.agreement_table import DistanceCorrelations
    from geodis.distances.along_factors import FactorImportance
    from geodis.distances.correlations import Correlation
    from geodis.distances.grid_distances import GridDistances

# Enough for correlations to a hundredth; a thousand resamplings of more would take minutes.
PAIRS, SHOWN_PAIRS = 5_000, 300
PAIRS_OF_IMAGES = 2_000
MAX_MATRIX = 40  # values of a factor beyond which its distance matrix cannot be read


@dataclass(frozen=True, eq=False)
class DistanceComparison:
    """Distances of factors, images and latents, and how far they agree.

    Attributes
    ----------
    correlations : DistanceCorrelations or None
        None without factors.
    matrices : dict of str to dict of str to ndarray of shape (s, s)
        Kind of distance -> factor -> average distances between its values.
    pairs : dict of str to dict of str to ndarray
        "random" or a factor -> kind -> distances of some pairs.
    importance : FactorImportance or None
        What each factor weighs in perceived distances; None without images.
    perceived_and_latent : Correlation or None
        Of random pairs, where there are no factors.
    whole : bool
        Whether every combination of the factors is there once: then rows stand in that order.
    """

    correlations: DistanceCorrelations | None
    matrices: Mapping[str, Mapping[str, np.ndarray]]
    pairs: Mapping[str, Mapping[str, np.ndarray]]
    importance: FactorImportance | None = None
    perceived_and_latent: Correlation | None = None
    whole: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Every number but the pairs."""
        plain = self.perceived_and_latent
        return {
            "correlations": self.correlations and self.correlations.to_dict(),
            "perceived ~ latent": plain and vars(plain),
            "matrices": self.matrices,
            "importance": self.importance and self.importance.to_dict(),
        }


def compare_distances(material: Material, random_state: Any) -> DistanceComparison:
    """Compare distances of latents with those of factors and images, as far as they are known."""
    rng = check_random_state(random_state)
    if material.classes is None:
        return _without_factors(material, rng)
    from geodis.data.grids.grid import FactorGrid
    from geodis.distances import distance_correlations, factor_importance, traversal_matrices
    from geodis.distances.grid_distances import GridDistances

    images = None if material.images is None else _used_images(material)
    grid = FactorGrid.from_arrays(images, material.classes)
    code = material.latents
    if grid.complete:  # whose rows are in order of the index
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
    """Distances of a few pairs for a figure: at random, and along every factor that has some."""
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
    """Images of the rows, in memory only where they are all meant or few."""
    if len(material.rows) == material.n_given:
        return material.images
    return np.asarray(material.images[material.rows])
