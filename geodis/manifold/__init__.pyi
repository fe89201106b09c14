"""Public names, and where each lives: what runs and what type checkers read."""

from .local.principal import (
    principal_components as principal_components,
    PrincipalComponents as PrincipalComponents,
    kept_directions as kept_directions,
    KeptDirections as KeptDirections,
)
from .preparation.row_measure import count_roots as count_roots
from .preparation.row_measure import (
    scaled_distances as scaled_distances,
    ScaledDistances as ScaledDistances,
)
from .preparation.sampling_checks import kept_apart as kept_apart
from .local.exact_search import Apart as Apart
from .local.neighbors import nearest_neighbors as nearest_neighbors, Neighbors as Neighbors
from .local.graph import neighbor_graph as neighbor_graph, NeighborGraph as NeighborGraph
from .local.dimension import intrinsic_dimension as intrinsic_dimension
from .local.dimension_estimate import DimensionEstimate as DimensionEstimate
from .local.dimension_methods import (
    mle_dimension as mle_dimension,
    two_nn_dimension as two_nn_dimension,
)
from .local.dimension_methods import (
    gride_dimension as gride_dimension,
    ScaledDimension as ScaledDimension,
)
from .local.dimension_methods import (
    carre_du_champ_dimension as carre_du_champ_dimension,
    VotedDimension as VotedDimension,
)
from .doubts import Doubt as Doubt, DoubtKind as DoubtKind
from .local.curved_fit_ratio import curved_fit_ratios as curved_fit_ratios, FitRatios as FitRatios
from .local.tangents import tangent_frames as tangent_frames, Tangents as Tangents
from .local.neighborhood_size import choose_n_neighbors as choose_n_neighbors
from .holonomy.laplacian import (
    ConnectionLaplacian as ConnectionLaplacian,
    explicit_laplacian as explicit_laplacian,
)
from .holonomy.eigenfields import coarse_start as coarse_start
from .holonomy.eigenfields import (
    bottom_eigenfields as bottom_eigenfields,
    Eigenfields as Eigenfields,
)
from .holonomy.factor_axes import ffdiag as ffdiag, Diagonalisation as Diagonalisation
from .holonomy.factor_count import count_factors as count_factors, FactorCount as FactorCount
from .holonomy.factor_axes import factor_axes as factor_axes, FactorAxes as FactorAxes
from .out_of_sample import ambient_split as ambient_split, AmbientSplit as AmbientSplit
from .holonomy.connection import loop_holonomy as loop_holonomy, Holonomy as Holonomy
from .split_result import Settings as Settings, Task as Task
from .pipeline import published_pipeline as published_pipeline, Solution as Solution
from .refine import split_factors as split_factors
from .split_result import Split as Split
from .split_result import Evidence as Evidence
from .out_of_sample import axes_at as axes_at
from .atlas.fitted_atlas import Atlas as Atlas
from .atlas.fitted_atlas import AtlasPoints as AtlasPoints
from .confidence.product_test import (
    product_test as product_test,
    ProductTest as ProductTest,
    PairTest as PairTest,
)
from .flat.unroll import (
    parallel_frame as parallel_frame,
    unrolled_coordinates as unrolled_coordinates,
    ParallelFrame as ParallelFrame,
    Unrolling as Unrolling,
)
from .flat.periods import find_periods as find_periods, Periods as Periods
from .flat.independent_rotation import (
    independent_rotation as independent_rotation,
    Independence as Independence,
)
from .flat.flat_part import split_flat_part as split_flat_part, FlatPart as FlatPart
from .flat.flat_evidence import FlatEvidence as FlatEvidence
from .denoising import surface_points as surface_points, SurfacePoints as SurfacePoints
from .confidence.fit_confidence import chance_angle as chance_angle
from .confidence.fit_confidence import (
    fit_confidence as fit_confidence,
    FitConfidence as FitConfidence,
)
from .maps.walk_results import Walk as Walk, Analogy as Analogy
from .geomancer import GeoManCER as GeoManCER, load as load
from .fitted import Fit as Fit
from .local.angles import subspace_angles as subspace_angles, unaligned_angles as unaligned_angles
from .holonomy.factor_count import Departure as Departure, departure_of as departure_of
from .local.angles import TangentError as TangentError, tangent_error as tangent_error
from .topology.topology_of import topology_of as topology_of, Topology as Topology
