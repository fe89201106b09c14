"""Evidence for the split of the flat part of a manifold, and the quality of its coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.doubts import Doubt
from geodis.manifold.flat.curvature import Curvature
from geodis.manifold.flat.independent_rotation import ContrastResult
from geodis.manifold.flat.unroll import Unrolling


@dataclass(frozen=True)
class FlatEvidence:
    """Evidence for the split of the flat part.

    Attributes
    ----------
    dim : int
        Dimension f of the flat part.
    factor_dims : tuple of int
        Dimensions of the factors; ``(f,)`` if it was not split.
    hol, turn : float
        Rotation of the parallel frame in radians between neighbours, and from end to end.
    rel : float
        Share of the squared steps that the coordinates do not explain, because of noise or
        curvature.
    strain : float
        Systematic relative error of lengths along the coordinates; see `strain_of`. The part that
        noise explains is in `curvature`. NaN if nothing was unrolled.
    curvature : Curvature or None
        Curvature by the Gauss equation; None if it was not measured.
    instability : float
        Degrees by which the factors rotate between halves of the points.
    contrast : str
        The contrast that separated the factors.
    contrasts : tuple of ContrastResult
        The result of every contrast.
    information : ndarray of shape (m, m)
        Largest mutual information between directions of two factors, in nats.
    reasons : tuple of str
        Why some or all directions stayed in one group.
    doubts : tuple of Doubt
        Why the split may be wrong.
    notes : tuple of str
        What was done, one sentence each.
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
        """Whether several dimensions remain one factor."""
        return self.dim > 1 and len(self.factor_dims) == 1

    @property
    def quality(self) -> float:
        """Accuracy of lengths along the coordinates without noise: ``1 - strain``.

        1 for a flat part, about .6 for a whole sphere, and 0 if nothing was unrolled.
        """
        return 0.0 if np.isnan(self.strain) else max(0.0, 1.0 - self.strain)

    def __str__(self) -> str:
        """Describe the split, the reasons against further splits, and the doubts."""
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


def strain_of(unrolled: Unrolling, periods: np.ndarray) -> float:
    r"""Estimate the systematic relative error of lengths along the coordinates, without noise.

    Where a part cannot be unrolled, the residuals of all edges at point i are the same linear map
    of their steps, r_a = D v_a: the coordinates stretch or rotate the neighbourhood of i. Residuals
    due to noise are independent. Therefore only products of different edges are summed::

        strain^2 = sum_i sum_(a != b) (r_a . r_b) (v_a . v_b) / sum_i sum_(a != b) (v_a . v_b)^2

    which is |D|^2 / f for all D of one size, and zero on average for noise. The steps and
    residuals of a point are relative to the edges there, and a residual is at most as long as its
    step, which limits the effect of single wrong edges.

    Parameters
    ----------
    unrolled : Unrolling
    periods : ndarray of shape (b, f)
        Periods of its closed directions; residuals are reduced modulo these.

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
    # The weights of the unrolling: long edges and those between poor tangents count less.
    root = np.sqrt(unrolled.base)[:, None]
    steps, left = root * steps, root * left
    f, at_points = steps.shape[1], edges.sum_at_points
    unit = at_points((steps**2).sum(axis=1)) ** 2
    agreed = -at_points((left**2).sum(axis=1) * (steps**2).sum(axis=1))
    whole = -at_points((steps**2).sum(axis=1) ** 2)
    for a in range(f):
        for b in range(f):
            agreed += at_points(left[:, a] * steps[:, b]) ** 2
            whole += at_points(steps[:, a] * steps[:, b]) ** 2
    used = unit > 0
    squared = (agreed[used] / unit[used]).sum() / max((whole[used] / unit[used]).sum(), 1e-300)
    return float(np.sqrt(max(squared, 0.0)))
