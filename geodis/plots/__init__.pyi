"""Public names, and where each lives: what runs and what type checkers read."""

from .style import (
    FACTOR_COLORS as FACTOR_COLORS,
    MARKERS as MARKERS,
    new_axis as new_axis,
    new_axes as new_axes,
    save_figure as save_figure,
)
from .geometry import (
    plot_principal_spectrum as plot_principal_spectrum,
    plot_eigenvalue_spectrum as plot_eigenvalue_spectrum,
    plot_field_separation as plot_field_separation,
    plot_factor_directions as plot_factor_directions,
    plot_directions_by_factor as plot_directions_by_factor,
    plot_holonomy as plot_holonomy,
    plot_error_against_n as plot_error_against_n,
)
from .flat_coordinates import (
    plot_flat_coordinates as plot_flat_coordinates,
    plot_contrast_angles as plot_contrast_angles,
)
from .distances import (
    plot_traversal_matrices as plot_traversal_matrices,
    plot_distance_distribution as plot_distance_distribution,
    plot_distance_correlations as plot_distance_correlations,
    plot_correlation_by_spacing as plot_correlation_by_spacing,
)
from .overview import (
    plot_points_by_factor as plot_points_by_factor,
    plot_distance_scatter as plot_distance_scatter,
    plot_scores_per_factor as plot_scores_per_factor,
)
from .kernels import (
    plot_kernels as plot_kernels,
    plot_augmented_traversals as plot_augmented_traversals,
    plot_learning as plot_learning,
)
from .models import plot_traversals as plot_traversals, plot_training as plot_training
from .scores import (
    plot_scores as plot_scores,
    plot_score_matrix as plot_score_matrix,
    plot_agreement as plot_agreement,
)
