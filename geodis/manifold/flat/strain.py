"""An unrolling -> by how much lengths along its coordinates are wrong, whatever the noise."""

from __future__ import annotations

import numpy as np

from geodis.manifold.flat.unroll import Unrolling


def strain_of(unrolled: Unrolling, periods: np.ndarray) -> float:
    r"""Root mean square relative error of lengths that all edges around a point agree on.

    Where a part cannot be unrolled, the residual of an edge at point i is the same linear map of
    its step as that of the other edges there, r_a = D v_a: the coordinates stretch or turn what
    is around i. Noise leaves residuals that have nothing to do with each other. So products of
    different edges alone are summed::

        strain^2 = sum_i sum_(a != b) (r_a . r_b) (v_a . v_b) / sum_i sum_(a != b) (v_a . v_b)^2

    which is |D|^2 / f for all D of one size, and zero in the mean for noise. Steps and residuals
    of a point count in units of the edges there, and a residual for no more than its step: a
    wrong edge is one wrong edge.

    Parameters
    ----------
    unrolled : Unrolling
    periods : ndarray of shape (b, f)
        Of its closed directions: residuals are taken up to whole ones.

    Returns
    -------
    float

    Examples
    --------
    >>> from geodis import neighbor_graph, product_manifold
    >>> from geodis.manifold.flat.unroll import parallel_frame, unrolled_coordinates
    >>> sphere = product_manifold("S^2", 1000, random_state=0)
    >>> graph = neighbor_graph(sphere.points, 10)
    >>> frame = parallel_frame(sphere.tangents[0], graph)
    >>> strain = strain_of(unrolled_coordinates(sphere.points, frame, graph), np.zeros((0, 2)))
    >>> bool(strain > 0.25)  # no coordinates of a sphere have its lengths
    True
    """
    edges, steps = unrolled.edges, unrolled.steps
    left = edges.difference(unrolled.coordinates) - steps
    if len(periods):
        left -= np.rint(left @ np.linalg.pinv(periods)) @ periods
    length, wrong = (np.sqrt((x**2).sum(axis=1)) for x in (steps, left))
    left = left * np.minimum(1.0, length / np.maximum(wrong, 1e-300))[:, None]
    # Edges that the unrolling hardly counts, long or between bad tangents, hardly count here.
    root = np.sqrt(unrolled.base)[:, None]
    steps, left = root * steps, root * left

    def both_ends(on_edges: np.ndarray) -> np.ndarray:
        return np.bincount(edges.i, on_edges, edges.n) + np.bincount(edges.j, on_edges, edges.n)

    f = steps.shape[1]
    unit = both_ends((steps**2).sum(axis=1)) ** 2
    agreed = -both_ends((left**2).sum(axis=1) * (steps**2).sum(axis=1))
    whole = -both_ends((steps**2).sum(axis=1) ** 2)
    for a in range(f):
        for b in range(f):
            agreed += both_ends(left[:, a] * steps[:, b]) ** 2
            whole += both_ends(steps[:, a] * steps[:, b]) ** 2
    used = unit > 0
    squared = (agreed[used] / unit[used]).sum() / max((whole[used] / unit[used]).sum(), 1e-300)
    return float(np.sqrt(max(squared, 0.0)))
