"""Ground-truth distances of pairs, ready to be correlated with learnt ones."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from scipy.stats import rankdata

from geodis.base.check import InputError
from geodis.distances.tied import without_rounding
from geodis.kernels.ranks.soft_ranks import soft_rank

Phase = Literal["pearson", "spearman"]

# Strength of soft ranks in standard deviations of the distances. A tenth blends a pair with the
# few per cent nearest to it, enough for a gradient that does not depend on which pairs were drawn;
# from 0.01 to 1 the kernels learnt are the same to 0.0005.
SOFTNESS = 0.1


class Target:
    """Ground-truth distances of pairs, ready to be correlated with learnt ones.

    Parameters
    ----------
    distances : ndarray of shape (n,)

    Examples
    --------
    >>> target = Target(np.array([1.0, 2.0, 4.0]))
    >>> round(float(target.correlation(torch.tensor([2.0, 4.0, 8.0]), "pearson")), 6)
    1.0
    """

    def __init__(self, distances: np.ndarray) -> None:
        self.distances = distances
        ranks = rankdata(distances)
        self._unit = {"pearson": _unit(distances), "spearman": _unit(ranks)}

    def correlation(self, learnt: torch.Tensor, kind: Phase) -> torch.Tensor:
        """Pearson's correlation, or Spearman's with soft ranks of what was learnt (6.1)."""
        if kind == "spearman":
            # Floored so that distances that are all equal end in nan, not in an exception.
            strength = max(SOFTNESS * float(learnt.detach().std()), 1e-30)
            learnt = soft_rank(learnt, strength)
        centred = learnt - learnt.mean()
        return (centred * self._unit[kind].to(centred)).sum() / centred.norm()

    def exact(self, learnt: torch.Tensor) -> float:
        """Spearman's correlation, ties averaged; 0 where all that was learnt is equal.

        Distances that differ by the rounding of their precision alone are ties.
        """
        distances = learnt.detach().cpu().numpy()
        if not np.isfinite(distances).all():
            return float("nan")
        ranks = rankdata(without_rounding(distances))
        if ranks.min() == ranks.max():
            return 0.0
        return float((_unit(ranks) * self._unit["spearman"]).sum())


def require_differences(pixel: torch.Tensor) -> None:
    """Require that images differ in some pair, given mean squared differences."""
    if float(pixel.max()) == 0:
        raise InputError("Every pair has equal images: no loss can tell them apart.")


def _unit(values: np.ndarray) -> torch.Tensor:
    centred = torch.from_numpy(values - values.mean())
    return centred / centred.norm()
