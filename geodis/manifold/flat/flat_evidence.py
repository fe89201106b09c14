"""Why the flat part of a manifold was split as it was, and how good its coordinates are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.doubts import Doubt
from geodis.manifold.flat.curvature import Curvature
from geodis.manifold.flat.independent_rotation import ContrastResult
from geodis.manifold.flat.unroll import Unrolling


@dataclass(frozen=True)
class FlatEvidence:
    """Why the flat part was split as it was.

    Attributes
    ----------
    dim : int
        Dimension f of the flat part.
    factor_dims : tuple of int
        Into what it was split; ``(f,)`` where it was left whole.
    hol, turn : float
        Turn of the parallel frame in radians between neighbours, and from end to end.
    rel : float
        Share of the squared steps that the coordinates leave, to noise or curvature.
    strain : float
        Relative error of lengths along the coordinates that all edges around a point agree on; see
        `strain_of`, and for what noise explains of it `curvature`. NaN where nothing was unrolled.
    curvature : Curvature or None
        What the Gauss equation says; None where it was not asked.
    instability : float
        Degrees by which the factors turn between halves of the points.
    contrast : str
        The contrast that told them apart.
    contrasts : tuple of ContrastResult
        The result of every contrast.
    information : ndarray of shape (m, m)
        Largest mutual information between directions of two factors, in nats.
    reasons : tuple of str
        Why directions stayed together, or all of them.
    doubts : tuple of Doubt
        Why the split may be wrong.
    notes : tuple of str
        What was done, a sentence each.
    """

    dim: int
    factor_dims: tuple[int, ...]
    hol: float
    turn: float
    rel: float
    strain: float = np.nan
    curvature: Curvature | None = None
    instability: float = 0.0
    contrast: str = "none"
    contrasts: tuple[ContrastResult, ...] = ()
    information: np.ndarray | None = None
    reasons: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether several dimensions were left as one factor."""
        return self.dim > 1 and len(self.factor_dims) == 1

    @property
    def quality(self) -> float:
        """Share to which lengths along the coordinates are right, noise aside: ``1 - strain``.

        1 for a flat part, about .6 for a whole sphere; 0 where nothing was unrolled.
        """
        return 0.0 if np.isnan(self.strain) else max(0.0, 1.0 - self.strain)

    def __str__(self) -> str:
        """A sentence for every split, merge, refusal and doubt."""
        said = [f"flat part of dimension {self.dim}: {'; '.join(self.notes)}"]
        split = " + ".join(map(str, self.factor_dims))
        if self.refused:
            said.append("not split")
        elif self.dim > 1:
            by = f" by {self.contrast}" if self.contrast != "none" else ""
            said.append(f"split into {split}{by}, stable to {self.instability:.1f} degrees")
        if self.reasons:
            said.append("; ".join(self.reasons))
        text = ": ".join(said[:1]) + "".join(f". {part[0].upper()}{part[1:]}" for part in said[1:])
        return text + (f". Uncertain: {'; '.join(self.doubts)}" if self.doubts else "")


# An unrolling -> by how much lengths along its coordinates are wrong, whatever the noise.


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
