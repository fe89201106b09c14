"""Public names, and where each lives: what runs and what type checkers read."""

from .local.neighbors import nearest_neighbors as nearest_neighbors
from .local.graph import neighbor_graph as neighbor_graph
from .local.dimension import intrinsic_dimension as intrinsic_dimension
from .local.tangents import (
    choose_n_neighbors as choose_n_neighbors,
    tangent_frames as tangent_frames,
)
from .holonomy.laplacian import (
    ConnectionLaplacian as ConnectionLaplacian,
    explicit_laplacian as explicit_laplacian,
)
from .holonomy.coarse import coarse_start as coarse_start
from .holonomy.eigenfields import bottom_eigenfields as bottom_eigenfields
from .holonomy.diagonalise import ffdiag as ffdiag
from .holonomy.factor_axes import factor_axes as factor_axes
from .ambient import ambient_split as ambient_split
from .holonomy.loops import loop_holonomy as loop_holonomy
from .steps import Settings as Settings, Task as Task
from .split import split_factors as split_factors
from .new_points import axes_at as axes_at
from .flat.unroll import (
    parallel_frame as parallel_frame,
    unrolled_coordinates as unrolled_coordinates,
)
from .flat.periods import find_periods as find_periods
from .flat.independence import independent_rotation as independent_rotation
from .flat.flat_part import split_flat_part as split_flat_part
from .geomancer import GeoManCER as GeoManCER
from .angles import subspace_angles as subspace_angles, unaligned_angles as unaligned_angles
