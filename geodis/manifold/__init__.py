"""From points to the subspaces of their factors, one file per stage of GeoManCER.

The stages in order, each a function whose result can be looked at: `neighbor_graph` and
`nearest_neighbors`, `intrinsic_dimension`, `tangent_frames`, `connection.connection` (the module
has the name of its function), `ConnectionLaplacian` (or `explicit_laplacian`),
`bottom_eigenfields`, `factor_axes` with `ffdiag`, `ambient_split`, `loop_holonomy`;
`split_factors` composes them, as a `Task` with `Settings` tells it, and `axes_at` goes on to new
points. What is flat goes on through `parallel_frame`,
`unrolled_coordinates`, `find_periods` and `independent_rotation`; `split_flat_part` composes
these, and `GeoManCER` is the estimator.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
