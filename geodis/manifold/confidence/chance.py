"""Dimensions -> the angle that subspaces drawn at random would have."""

from __future__ import annotations

import numpy as np

# Draws of random subspaces: their median angle is then known to about a hundredth.
DRAWS = 4_000


def chance_angle(dim: int, space: int) -> float:
    """Median largest principal angle between two random subspaces, in radians.

    Both are uniform: by symmetry one may be fixed, and the other spanned by normal vectors.

    Parameters
    ----------
    dim : int
        Of both subspaces.
    space : int
        Of the space they lie in.

    Examples
    --------
    >>> bool(abs(chance_angle(1, 2) - np.pi / 4) < 0.03)
    True
    >>> chance_angle(2, 2)
    0.0
    """
    if dim >= space:
        return 0.0
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.standard_normal((DRAWS, space, dim)))[0]
    cosines = np.linalg.svd(bases[:, :dim], compute_uv=False)[:, -1]
    return float(np.median(np.arccos(np.clip(cosines, 0.0, 1.0))))
