"""A map that entangles latents and cannot be detected: theorem 1 of Locatello et al. (2019).

For independent latents z there are infinitely many bijections f for which every output depends on
every input, while f(z) has the distribution of z. A model of the data sees only the distribution,
and cannot distinguish the code z from the code f(z). Disentanglement therefore needs assumptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from geodis.base.check import InputError, check_choice, check_points, check_real

Marginals: TypeAlias = Literal["empirical", "normal", "uniform"]
# The normal quantile function is infinite at 0 and 1; a float64 closer to 1 rounds to 1.
EDGE = 1e-15


class Distribution(Protocol):
    """A distribution on the line, such as a frozen one of `scipy.stats`."""

    def cdf(self, x: Any, /) -> Any:
        """Return P(z <= x)."""

    def ppf(self, q: Any, /) -> Any:
        """Return the quantiles, the inverse of `cdf`."""


def entangle(
    points: Any,
    marginals: Marginals | Sequence[Distribution] = "empirical",
    *,
    alpha: float = 0.25,
    mixing: Any = None,
) -> np.ndarray:
    """Mix independent coordinates without changing their distribution (theorem 1, appendix A).

        f(u) = g^-1(h^-1(A h(g(u)))),   g_i = P(z_i <= .),   h_i = the normal quantile function,

    with A orthogonal and without zeros. g(z) is uniform, and h(g(z)) is standard normal, and so is
    its product with A; the inverse maps give independent coordinates with the marginals of z. By
    default A = I - 2 v v^T with v_1^2 = alpha and equal other entries of v.

    Parameters
    ----------
    points : array-like of shape (n, d)
        Rows with independent coordinates, d > 1.
    marginals : "empirical", "normal", "uniform", or sequence of d distributions
        Distribution of each coordinate. "normal" and "uniform" are N(0, 1) and U(0, 1);
        distributions need `cdf` and `ppf`, as frozen ones of `scipy.stats` have. "empirical"
        accepts any coordinates: g is estimated by ranks, and the result permutes each column, so
        no test of a single coordinate can distinguish the two.
    alpha : float
        Parameter of the default A, in (0, 0.5).
    mixing : array-like of shape (d, d), optional
        The matrix A, instead of the default.

    Returns
    -------
    ndarray of shape (n, d)
        With the default A, which is its own inverse, f(f(u)) = u for given distributions.

    Examples
    --------
    >>> z = np.random.default_rng(0).uniform(size=(2000, 2))
    >>> w = entangle(z, "uniform")
    >>> bool(np.allclose(entangle(w, "uniform"), z, atol=1e-9))
    True
    >>> bool(abs(np.corrcoef(z.T, w.T)[0, 3]) > 0.5)  # w_1 depends on z_0 ...
    True
    >>> bool(abs(np.corrcoef(w.T)[0, 1]) < 0.05)  # ... and is independent of w_0
    True
    """
    points = check_points(points, min_dims=2)
    n, d = points.shape
    matrix = entangling_matrix(d, alpha) if mixing is None else _check_mixing(mixing, d)
    if not isinstance(marginals, str):
        laws = list(marginals)
        if len(laws) != d or not all(hasattr(x, "cdf") and hasattr(x, "ppf") for x in laws):
            raise InputError(
                f"marginals must be one of {', '.join(get_args(Marginals))}, or {d} distributions "
                f"with cdf and ppf, one per column; got {len(laws)} objects."
            )
        uniform = np.column_stack([law.cdf(x) for law, x in zip(laws, points.T, strict=True)])
        mixed = _from_normal(_to_normal(uniform) @ matrix.T)
        return np.column_stack([law.ppf(x) for law, x in zip(laws, mixed.T, strict=True)])
    check_choice(marginals, "marginals", get_args(Marginals))
    if marginals == "normal":
        return points @ matrix.T
    if marginals == "uniform":
        if points.min() < 0 or points.max() > 1:
            raise InputError(
                "marginals='uniform' needs coordinates in [0, 1]; got "
                f"{points.min():g} to {points.max():g}."
            )
        return _from_normal(_to_normal(points) @ matrix.T)
    scores = ndtri((rankdata(points, axis=0) - 0.5) / n)
    place = rankdata(scores @ matrix.T, axis=0, method="ordinal") - 1
    return np.take_along_axis(np.sort(points, axis=0), place, axis=0)


def entangling_matrix(d: int, alpha: float = 0.25) -> np.ndarray:
    """Return the matrix A = I - 2 v v^T of the proof, (d, d), orthogonal and without zeros.

    Examples
    --------
    >>> entangling_matrix(2, 0.25).round(3).tolist()
    [[0.5, -0.866], [-0.866, -0.5]]
    """
    alpha = check_real(alpha, "alpha")
    if not 0 < alpha < 0.5:
        raise InputError(f"alpha must be strictly between 0 and 0.5; got {alpha}.")
    v = np.full(d, np.sqrt((1 - alpha) / (d - 1)))
    v[0] = np.sqrt(alpha)
    return np.eye(d) - 2 * np.outer(v, v)


def _check_mixing(mixing: Any, d: int) -> np.ndarray:
    matrix = check_points(mixing, name="mixing", min_points=1)
    if matrix.shape != (d, d) or not np.allclose(matrix @ matrix.T, np.eye(d), atol=1e-8):
        raise InputError(
            f"mixing must be an orthogonal matrix of shape ({d}, {d}); got shape {matrix.shape}"
            f"{', which is not orthogonal' if matrix.shape == (d, d) else ''}."
        )
    return matrix


def _to_normal(uniform: np.ndarray) -> np.ndarray:
    return ndtri(np.clip(uniform, EDGE, 1 - EDGE))


def _from_normal(normal: np.ndarray) -> np.ndarray:
    return ndtr(normal)
