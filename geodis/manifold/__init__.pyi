"""Public names, and where each lives: what runs and what type checkers read."""

from .principal import (
    principal_components as principal_components,
    PrincipalComponents as PrincipalComponents,
)
from .local.neighbors import nearest_neighbors as nearest_neighbors, Neighbors as Neighbors
from .local.graph import neighbor_graph as neighbor_graph, NeighborGraph as NeighborGraph
from .local.dimension import (
    intrinsic_dimension as intrinsic_dimension,
    DimensionEstimate as DimensionEstimate,
)
from .local.tangents import (
    choose_n_neighbors as choose_n_neighbors,
    tangent_frames as tangent_frames,
    Tangents as Tangents,
)
from .holonomy.laplacian import (
    ConnectionLaplacian as ConnectionLaplacian,
    explicit_laplacian as explicit_laplacian,
)
from .holonomy.coarse import coarse_start as coarse_start
from .holonomy.eigenfields import (
    bottom_eigenfields as bottom_eigenfields,
    Eigenfields as Eigenfields,
)
from .holonomy.diagonalise import ffdiag as ffdiag, Diagonalisation as Diagonalisation
from .holonomy.factor_count import count_factors as count_factors, FactorCount as FactorCount
from .holonomy.factor_axes import factor_axes as factor_axes, FactorAxes as FactorAxes
from .ambient import ambient_split as ambient_split, AmbientSplit as AmbientSplit
from .holonomy.loops import loop_holonomy as loop_holonomy, Holonomy as Holonomy
from .task import Settings as Settings, Task as Task
from .pipeline import published_pipeline as published_pipeline, Solution as Solution
from .refine import split_factors as split_factors
from .split_result import Split as Split
from .evidence import Evidence as Evidence
from .new_points import axes_at as axes_at
from .flat.unroll import (
    parallel_frame as parallel_frame,
    unrolled_coordinates as unrolled_coordinates,
    ParallelFrame as ParallelFrame,
    Unrolling as Unrolling,
)
from .flat.periods import find_periods as find_periods, Periods as Periods
from .flat.independence import (
    independent_rotation as independent_rotation,
    Independence as Independence,
)
from .flat.flat_part import (
    split_flat_part as split_flat_part,
    FlatPart as FlatPart,
    FlatEvidence as FlatEvidence,
)
from .geomancer import GeoManCER as GeoManCER
from .angles import subspace_angles as subspace_angles, unaligned_angles as unaligned_angles
