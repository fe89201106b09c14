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

from geodis._lazy import lazy_names

# Stages in order, and the file of each.
_HOME = {
    "nearest_neighbors": "search",
    "neighbor_graph": "graph",
    "intrinsic_dimension": "dimension",
    "choose_n_neighbors": "tangents",
    "tangent_frames": "tangents",
    "ConnectionLaplacian": "laplacian",
    "explicit_laplacian": "laplacian",
    "coarse_start": "coarse",
    "bottom_eigenfields": "eigenfields",
    "ffdiag": "diagonalise",
    "factor_axes": "factors",
    "ambient_split": "ambient",
    "loop_holonomy": "holonomy",
    "Settings": "steps",
    "Task": "steps",
    "split_factors": "split",
    "axes_at": "extend",
    "parallel_frame": "unroll",
    "unrolled_coordinates": "unroll",
    "find_periods": "periods",
    "independent_rotation": "independence",
    "split_flat_part": "flat",
    "GeoManCER": "geomancer",
    "subspace_angles": "evaluate",
    "unaligned_angles": "evaluate",
}

__all__ = [*_HOME]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
