"""Rotation of greatest likelihood under an Lp-nested prior, for factors of several dimensions.

Pairs of directions say little about factors that look the same from all angles within: a prior
on whole groups uses all of their directions at once.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize
from scipy.special import gammaln

START_OUTER, START_INNER = 4.0, 2.0
# Between sharp peaks and a nearly uniform density; beyond, the likelihood hardly changes.
OUTER_LIMITS, INNER_LIMITS = (0.5, 40.0), (0.5, 20.0)
MAX_POINTS = 5000
MAX_STEPS = 100


def negative_log_likelihood(
    values: np.ndarray, dims: tuple[int, ...], outer: float, inner: np.ndarray
) -> float:
    r"""Mean negative log-density of grouped values under an Lp-nested independent-subspace prior.

    With r_g the L_{p_g} norm of group g of size n_g, the function ``f^{p_0} = sum_g r_g^{p_0}``
    gives a density that is a product over groups, each with its scale s_g of greatest
    likelihood ``s_g = p_0 / n_g mean(r_g^{p_0})``::

        log p = log p_0 - n_g / p_0 log s_g - log Gamma(n_g / p_0) - r_g^{p_0} / s_g - log S_g
        S_g = 2^{n_g} Gamma(1 / p_g)^{n_g} / (p_g^{n_g - 1} Gamma(n_g / p_g))

    Parameters
    ----------
    values : ndarray of shape (n, f)
        Centred, columns grouped.
    dims : tuple of int
    outer : float
        The exponent p_0.
    inner : ndarray of shape (m,)
        The exponents p_g.

    Examples
    --------
    >>> normal = np.random.default_rng(0).standard_normal((100_000, 3))
    >>> entropy = negative_log_likelihood(normal, (2, 1), 2.0, np.array([2.0, 2.0]))
    >>> bool(abs(entropy - 1.5 * np.log(2 * np.pi * np.e)) < 0.01)
    True
    """
    total, start = 0.0, 0
    for size, p in zip(dims, inner, strict=True):
        group = np.abs(values[:, start : start + size])
        start += size
        largest = max(float(group.max()), 1e-300)
        if size == 1:
            norm, surface = group[:, 0] / largest, np.log(2.0)
        else:
            norm = ((group / largest) ** p).sum(axis=1) ** (1 / p)
            surface = (
                size * (np.log(2.0) + gammaln(1 / p)) - (size - 1) * np.log(p) - gammaln(size / p)
            )
        scale = np.log(outer / size * (norm**outer).mean()) + outer * np.log(largest)
        total += size / outer * (scale + 1) + gammaln(size / outer) + surface - np.log(outer)
    return float(total)


def lp_nested_rotation(
    points: np.ndarray, rotation: np.ndarray, dims: tuple[int, ...]
) -> np.ndarray:
    """Turn grouped directions to the greatest likelihood, exponents learnt with them.

    Parameters
    ----------
    points : ndarray of shape (n, f)
        In random order: the first 5,000 are used.
    rotation : ndarray of shape (f, f)
        Orthonormal rows to start from, grouped.
    dims : tuple of int

    Returns
    -------
    ndarray of shape (f, f)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> box = rng.uniform(-1, 1, (2000, 2))
    >>> tilted = np.array([[0.995, 0.0998], [-0.0998, 0.995]])
    >>> rotation = lp_nested_rotation(box, tilted, (1, 1))
    >>> bool(np.abs(np.diag(rotation)).min() > 0.9999)
    True
    """
    few = points[:MAX_POINTS] - points[:MAX_POINTS].mean(axis=0)
    f = few.shape[1]
    above = np.triu_indices(f, 1)
    count = len(above[0])

    def turned(unknowns: np.ndarray) -> np.ndarray:
        skew = np.zeros((f, f))
        skew[above] = unknowns[:count]
        return expm(skew - skew.T) @ rotation

    def objective(unknowns: np.ndarray) -> float:
        exponents = np.exp(unknowns[count:])
        return negative_log_likelihood(
            few @ turned(unknowns).T, dims, float(exponents[0]), exponents[1:]
        )

    start = np.zeros(count + 1 + len(dims))
    start[count:] = np.log([START_OUTER] + [START_INNER] * len(dims))
    limits = [(-np.pi, np.pi)] * count + [tuple(np.log(OUTER_LIMITS))]
    limits += [tuple(np.log(INNER_LIMITS))] * len(dims)
    best = minimize(
        objective, start, method="L-BFGS-B", bounds=limits, options={"maxiter": MAX_STEPS}
    )
    return turned(best.x)
