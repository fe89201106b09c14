"""Matplotlib figures, one function each: results in, and an axis if there is one; the axis out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodis._lazy import lazy_names

if TYPE_CHECKING:
    from geodis.plots._style import FACTOR_COLORS, MARKERS, new_axes, new_axis, save_figure
    from geodis.plots.distances import (
        plot_correlation_by_spacing,
        plot_distance_correlations,
        plot_distance_distribution,
        plot_traversal_matrices,
    )
    from geodis.plots.flat import plot_contrast_angles, plot_flat_coordinates
    from geodis.plots.geometry import (
        plot_directions_by_factor,
        plot_eigenvalue_spectrum,
        plot_error_against_n,
        plot_factor_directions,
        plot_field_separation,
        plot_holonomy,
        plot_principal_spectrum,
    )
    from geodis.plots.kernels import plot_augmented_traversals, plot_kernels, plot_learning
    from geodis.plots.models import plot_training, plot_traversals
    from geodis.plots.overview import (
        plot_distance_scatter,
        plot_points_by_factor,
        plot_scores_per_factor,
    )
    from geodis.plots.scores import plot_agreement, plot_score_matrix, plot_scores

_HOME = {
    "FACTOR_COLORS": "_style",
    "MARKERS": "_style",
    "new_axis": "_style",
    "new_axes": "_style",
    "save_figure": "_style",
    "plot_principal_spectrum": "geometry",
    "plot_eigenvalue_spectrum": "geometry",
    "plot_field_separation": "geometry",
    "plot_factor_directions": "geometry",
    "plot_directions_by_factor": "geometry",
    "plot_holonomy": "geometry",
    "plot_error_against_n": "geometry",
    "plot_flat_coordinates": "flat",
    "plot_contrast_angles": "flat",
    "plot_traversal_matrices": "distances",
    "plot_distance_distribution": "distances",
    "plot_distance_correlations": "distances",
    "plot_correlation_by_spacing": "distances",
    "plot_points_by_factor": "overview",
    "plot_distance_scatter": "overview",
    "plot_scores_per_factor": "overview",
    "plot_kernels": "kernels",
    "plot_augmented_traversals": "kernels",
    "plot_learning": "kernels",
    "plot_traversals": "models",
    "plot_training": "models",
    "plot_scores": "scores",
    "plot_score_matrix": "scores",
    "plot_agreement": "scores",
}

__all__ = list(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME)
