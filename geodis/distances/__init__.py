"""Distances between factors, observations and latents, and how far they agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodis._lazy import lazy_names

if TYPE_CHECKING:  # for editors and type checkers; `_HOME` is what runs
    from geodis.distances.adversarial import FactorOverlap, Overlap, overlap
    from geodis.distances.agreement import DistanceCorrelations, distance_correlations
    from geodis.distances.between import GridDistances, code_of_rows, perceived_between
    from geodis.distances.blurred import BlurredLoss, box_blur, gaussian_blur
    from geodis.distances.correlations import (
        Correlation,
        correlation,
        geometric_mean,
        triplet_agreement,
    )
    from geodis.distances.losses import resolve_loss
    from geodis.distances.pairwise import ground_truth, latent, perceived
    from geodis.distances.sampling import sample_pairs, sample_triplets
    from geodis.distances.traversals import FactorImportance, factor_importance, traversal_matrix

# Public names, and the file each lives in.
_HOME: dict[str, str] = {
    "ground_truth": "pairwise",
    "perceived": "pairwise",
    "latent": "pairwise",
    "resolve_loss": "losses",
    "BlurredLoss": "blurred",
    "box_blur": "blurred",
    "gaussian_blur": "blurred",
    "GridDistances": "between",
    "perceived_between": "between",
    "code_of_rows": "between",
    "sample_pairs": "sampling",
    "sample_triplets": "sampling",
    "correlation": "correlations",
    "Correlation": "correlations",
    "triplet_agreement": "correlations",
    "geometric_mean": "correlations",
    "distance_correlations": "agreement",
    "DistanceCorrelations": "agreement",
    "traversal_matrix": "traversals",
    "factor_importance": "traversals",
    "FactorImportance": "traversals",
    "overlap": "adversarial",
    "Overlap": "adversarial",
    "FactorOverlap": "adversarial",
}

__all__ = list(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME)
