"""Which distances are equal but for rounding, and how much of a distance is rounding."""

from __future__ import annotations

import numpy as np

from geodis.distances.pairwise import LatentKind

# Bits that two distances must share to be the same distance: what a sum over an image leaves of
# the 53 bits of double, and the 24 and 11 of single and half precision. Rounding must not order
# equal distances.
DOUBLE_BITS, SINGLE_BITS, HALF_BITS = 40, 20, 8


def without_rounding(values: np.ndarray, rounding: float = 0.0) -> np.ndarray:
    """Give distances that are equal but for rounding the same value, the least of them.

    Parameters
    ----------
    values : ndarray of shape (n,)
    rounding : float
        How far two equal distances may be apart beside the precision of their dtype.

    Returns
    -------
    ndarray of shape (n,)
        Whole numbers stay as they are.

    Examples
    --------
    >>> without_rounding(np.array([3.0, 1.0, 1.0 + 1e-15])).tolist()
    [3.0, 1.0, 1.0]
    >>> without_rounding(np.array([3.0, 1.0, 1.1]), rounding=0.2).tolist()
    [3.0, 1.0, 1.0]
    """
    if values.dtype.kind in "iub" or not len(values):
        return values
    bits = {2: HALF_BITS, 4: SINGLE_BITS}.get(values.dtype.itemsize, DOUBLE_BITS)
    order = np.argsort(values, kind="stable")
    ordered = values[order].astype(float)
    width = np.abs(ordered) * 2.0**-bits + rounding
    # By gaps, not on a raster of so many bits: an edge of that may lie between two equal values.
    starts = np.ones(len(ordered), bool)
    starts[1:] = np.diff(ordered) > width[1:]
    first = np.flatnonzero(starts)[np.cumsum(starts) - 1]
    # Where distances lie closer than their rounding all along, they are cut into steps of it.
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.floor((ordered - ordered[first]) / width[first])
    step[~(step > 0)] = 0
    starts[1:] |= np.diff(step) > 0
    tied = np.empty(len(ordered))
    tied[order] = ordered[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return tied


def rounding_of_latent(per_latent: np.ndarray, kind: LatentKind) -> float:
    """How far two equal distances of latents may be apart, from the rounding of each latent.

    Four points have a part in it, each with errors of its own in every latent, which add up as
    their squares do: ``4 sqrt(sum_j r_j^2)``. Divergences end in logarithms and quotients of their
    own: for these it is 0, and the precision of their dtype decides.

    Parameters
    ----------
    per_latent : ndarray of shape (z,)
        As `rounding_of` gives it.

    Examples
    --------
    >>> rounding_of_latent(np.array([3.0, 4.0]), "l2")
    20.0
    """
    largest = per_latent.max(initial=0.0)
    if kind not in ("l1", "l2") or largest == 0:
        return 0.0
    return float(4 * largest * np.linalg.norm(per_latent / largest))
