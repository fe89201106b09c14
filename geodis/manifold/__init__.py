"""From points to the subspaces of their factors.

`GeoManCER` is the estimator. Its `fit` calls `published_pipeline`, the eight steps of the paper in
one function: neighbours and `tangent_frames` (in `local/`), the graph, `connection`,
`ConnectionLaplacian`, `bottom_eigenfields`, and `factor_axes` with `ffdiag` (in `holonomy/`). Then
`refine` splits each factor on its own in its `ambient_split`, `loop_holonomy` says what transport
does, and what is flat goes on (in `flat/`) through `parallel_frame`, `unrolled_coordinates`,
`find_periods` and `independent_rotation`, which `split_flat_part` composes. `axes_at` goes on to
new points. Every stage is a function whose result can be looked at.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
