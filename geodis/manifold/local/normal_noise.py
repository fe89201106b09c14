"""Points -> whether they scatter like normal noise in all their directions."""

from __future__ import annotations

import numpy as np

# Standard errors within which both of Mardia's numbers are those of normal noise, and directions
# from which on noise is the likelier reading: a few normal latents are asked about as such.
CLOSE, LEAST_DIM = 4.0, 5
ENOUGH = 100


def is_normal_noise(points: np.ndarray) -> bool:
    r"""Whether nothing tells the points from normal noise, even or not, in every direction.

    With y the whitened points, Mardia's skewness and kurtosis of normal noise in d directions are::

        b_1 = mean over i, j of (y_i . y_j)^3,    n b_1 / 6 ~ chi^2, d (d + 1) (d + 2) / 6 freedoms
        b_2 = mean over i of |y_i|^4 ~ d (d + 2), with variance 8 d (d + 2) / n

    and along every principal direction the mean of the fourth power is 3, with variance 24 / n.

    Parameters
    ----------
    points : ndarray of shape (n, d)

    Returns
    -------
    bool
        False with fewer than five directions, and with too few points to tell.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> is_normal_noise(rng.standard_normal((1000, 5)) * [1, 2, 3, 4, 5])
    True
    >>> is_normal_noise(rng.uniform(size=(1000, 5)))
    False
    """
    n, d = points.shape
    if d < LEAST_DIM or n < max(ENOUGH, 10 * d):
        return False
    centred = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / n)
    if values[0] <= 1e-12 * values[-1]:
        return False
    white = centred @ vectors / np.sqrt(values)
    fourth = float(((white**2).sum(axis=1) ** 2).mean())
    if abs(fourth - d * (d + 2)) > CLOSE * np.sqrt(8 * d * (d + 2) / n):
        return False
    if (np.abs((white**4).mean(axis=0) - 3) > CLOSE * np.sqrt(24 / n)).any():
        return False
    # The sum over pairs of the third power is the squared size of the mean of y y y.
    third = np.einsum("ia,ib,ic->abc", white, white, white, optimize=True) / n
    freedoms = d * (d + 1) * (d + 2) / 6
    return bool(n * float((third**2).sum()) / 6 < freedoms + CLOSE * np.sqrt(2 * freedoms))
