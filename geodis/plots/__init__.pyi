"""Public names, and where each lives: what runs and what type checkers read."""

from .style import (
    FACTOR_COLORS as FACTOR_COLORS,
    MARKERS as MARKERS,
    INK as INK,
    ACCENT as ACCENT,
    FAINT as FAINT,
    new_axis as new_axis,
    new_axes as new_axes,
    save_figure as save_figure,
    tidy as tidy,
)
from .figure.marks import (
    Dots as Dots,
    Bars as Bars,
    Cells as Cells,
    Segments as Segments,
    Band as Band,
    Axis as Axis,
    Panel as Panel,
    Figure as Figure,
    Picked as Picked,
    PickedEnds as PickedEnds,
    PickedLabel as PickedLabel,
    factor_color as factor_color,
    one_panel as one_panel,
)
from .figure.linked_views import Choices as Choices
from .figure.linked_views import (
    LinkedViews as LinkedViews,
    View as View,
    Outline as Outline,
    SpotColors as SpotColors,
)
from .figure.matplotlib_figure import draw_figure as draw_figure
from .vector.page_chart import figure_svg as figure_svg, views_svg as views_svg
from .vector.page_chart import to_chart as to_chart, Chart as Chart
from .geometry.spectra import (
    plot_principal_spectrum as plot_principal_spectrum,
    principal_spectrum_figure as principal_spectrum_figure,
    eigenvalue_spectrum_figure as eigenvalue_spectrum_figure,
    plot_eigenvalue_spectrum as plot_eigenvalue_spectrum,
    plot_field_separation as plot_field_separation,
)
from .geometry.directions import (
    plot_factor_directions as plot_factor_directions,
    plot_directions_by_factor as plot_directions_by_factor,
)
from .geometry.points import plot_points_by_factor as plot_points_by_factor
from .geometry.maps import plot_maps as plot_maps, maps_figure as maps_figure
from .geometry.points import point_cloud as point_cloud
from .geometry.spectra import plot_holonomy as plot_holonomy
from .geometry.spectra import plot_error_against_n as plot_error_against_n
from .geometry.directions import (
    plot_flat_coordinates as plot_flat_coordinates,
    plot_contrast_angles as plot_contrast_angles,
)
from .geometry.maps import plot_walk as plot_walk
from .distances import (
    traversal_matrices_figure as traversal_matrices_figure,
    plot_traversal_matrices as plot_traversal_matrices,
    plot_distance_distribution as plot_distance_distribution,
)
from .distances import (
    distance_correlations_figure as distance_correlations_figure,
    plot_distance_correlations as plot_distance_correlations,
    plot_correlation_by_spacing as plot_correlation_by_spacing,
    distance_scatter_choices as distance_scatter_choices,
    plot_distance_scatter as plot_distance_scatter,
)
from .models import (
    plot_kernels as plot_kernels,
    plot_augmented_traversals as plot_augmented_traversals,
    plot_learning as plot_learning,
)
from .priors import (
    plot_prior_contours as plot_prior_contours,
    plot_prior_orientation as plot_prior_orientation,
    plot_prior_tree as plot_prior_tree,
)
from .models import plot_traversals as plot_traversals, plot_training as plot_training
from .scores import (
    plot_scores as plot_scores,
    scores_figure as scores_figure,
    scores_per_factor_figure as scores_per_factor_figure,
    plot_scores_per_factor as plot_scores_per_factor,
    score_matrix_figure as score_matrix_figure,
    plot_score_matrix as plot_score_matrix,
    rank_agreement_figure as rank_agreement_figure,
    plot_agreement as plot_agreement,
)
from .scores import spread_figure as spread_figure, plot_spread as plot_spread
