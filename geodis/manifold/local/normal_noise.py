"""Points -> whether they, or what curved fits leave of them, scatter like normal noise."""

from __future__ import annotations

import numpy as np

from geodis.manifold.local.batched_fits import principal_frame
from geodis.manifold.local.exact_search import Apart
from geodis.manifold.local.neighbors import nearest_targets

# Standard errors within which both of Mardia's numbers are those of normal noise, and directions
# from which on noise is the likelier reading: a few normal latents are asked about as such.
CLOSE, LEAST_DIM = 4.0, 5
ENOUGH = 100
# Points whose residual is looked at: the spread of normal noise is then 1 within about .2.
SHELL_ROWS = 400


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


def shell_spread(
    points: np.ndarray, dim: int, n_neighbors: int, apart: Apart | None = None
) -> float:
    r"""How widely the distances from a fitted surface spread, in units of normal noise.

    Points of a small spherical factor lie at one distance from the surface that fits everything
    else: on a shell. Each of some points is predicted from its neighbours by a quadratic in their
    first principal directions. Of the residuals r, with eigenvalues l_a of their covariance::

        var |r|^2 / (2 sum_a l_a^2)

    is 1 for normal noise in any number of directions, more where noise is heavy or uneven, and near
    0 on a shell.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    dim : int
        Less than d.
    n_neighbors : int
        More than the unknowns of a fit.
    apart : Apart, optional
        Points that are no neighbours of one another.

    Returns
    -------
    float

    Examples
    --------
    >>> from geodis import product_manifold
    >>> small = product_manifold("S^2 x S^1(.01)", 1000, random_state=0).points
    >>> noisy = product_manifold("S^2", 1000, noise=0.01, random_state=0).points
    >>> round(shell_spread(small, 2, 80), 1), shell_spread(noisy, 2, 80) > 0.8
    (0.1, True)
    """
    n, d = points.shape
    rows = np.unique(np.linspace(0, n - 1, SHELL_ROWS).astype(np.intp))
    near = nearest_targets(points, rows, n_neighbors, apart)
    first, second = np.triu_indices(dim)
    left = np.empty((len(rows), d))
    for r, own in enumerate(near):
        chords = points[own] - points[rows[r]]
        along = chords @ principal_frame(chords[None], np.ones((1, len(own))), dim)[0].T
        along /= max(np.abs(along).max(), np.finfo(float).tiny)
        design = np.hstack([np.ones((len(own), 1)), along, along[:, first] * along[:, second]])
        left[r] = np.linalg.pinv(design)[0] @ chords  # the constant term
    values = np.linalg.eigvalsh(np.atleast_2d(np.cov(left.T)))
    return float((left**2).sum(axis=1).var() / max(2 * (values**2).sum(), np.finfo(float).tiny))
