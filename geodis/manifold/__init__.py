"""From points to the subspaces of their factors.

`GeoManCER` is the estimator. Its `fit` calls `published_pipeline`, the eight steps of the paper in
one function: neighbours and `tangent_frames` (in `local/`), the graph, `connection`,
`ConnectionLaplacian`, `bottom_eigenfields`, and `factor_axes` with `ffdiag` (in `holonomy/`). Then
`refine` splits each factor in its own `ambient_split`, and the flat part is split (in `flat/`) by
`split_flat_part`: `parallel_frame`, `unrolled_coordinates`, `find_periods` and
`independent_rotation`. `loop_holonomy` measures transport around loops, and `axes_at` extends the
axes to new points. Every stage is a function whose result can be inspected.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
