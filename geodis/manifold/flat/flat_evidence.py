"""Why the flat part of a manifold was split as it was, and how good its coordinates are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.doubts import Doubt
from geodis.manifold.flat.curvature import Curvature
from geodis.manifold.independence.rotation_to_factors import ContrastResult


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
