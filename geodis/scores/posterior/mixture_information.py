"""Information of the latents that a Gaussian encoder draws, not of their means."""

from __future__ import annotations

import numpy as np

# Bins of a latent between which its information is counted; more of them add under a thousandth
# where posteriors are wider than a bin.
POSTERIOR_BINS = 200
# Beyond as many deviations of a posterior lies nothing.
TAILS = 5.0
# Rows whose masses are held at once.
CHUNK_ROWS = 2_000


def mixture_information(
    means: np.ndarray, log_variances: np.ndarray, codes: np.ndarray, bins: int = POSTERIOR_BINS
) -> np.ndarray:
    """Mutual information in nats of drawn latents and factors, shape (z, f).

    A latent is a mixture, ``q(z_i) = 1/n sum_r N(z_i; m_ri, s_ri^2)``, and given a value of the
    factor the mixture of its rows. The mass of every bin is exact, by differences of the normal
    distribution function, so that nothing is drawn: ``I = sum_gv p(g, v) log(p(g, v) / p(g) p(v))``
    over bins g of equal width and values v. Posteriors sharper than a bin leave the information of
    means in as many bins, which few rows lift.

    Parameters
    ----------
    means, log_variances : ndarray of shape (n, z)
    codes : ndarray of int, shape (n, f)
    bins : int

    Examples
    --------
    >>> means, codes = np.array([[0.0], [1.0]]), np.array([[0], [1]])
    >>> sharp = mixture_information(means, np.full((2, 1), -20.0), codes)
    >>> wide = mixture_information(means, np.full((2, 1), 4.0), codes)
    >>> sharp.round(3), wide.round(3)
    (array([[0.693]]), array([[0.002]]))
    """
    z, f = means.shape[1], codes.shape[1]
    information = np.zeros((z, f))
    sizes = codes.max(axis=0) + 1
    for i in range(z):
        scale = np.exp(log_variances[:, i] / 2)
        low, high = (means[:, i] - TAILS * scale).min(), (means[:, i] + TAILS * scale).max()
        if not low < high:
            continue
        edges = np.linspace(low, high, bins + 1)
        together = [np.zeros((int(size), bins)) for size in sizes]
        for start in range(0, len(means), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            mass = _masses(means[rows, i], scale[rows], edges)
            for j in range(f):
                own = codes[rows, j] == np.arange(sizes[j])[:, None]
                together[j] += own.astype(float) @ mass
        information[i] = [_information_of(table / len(means)) for table in together]
    return information


def _masses(mean: np.ndarray, scale: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Mass of every row in every bin, (rows, bins)."""
    from scipy.special import ndtr

    below = ndtr((edges - mean[:, None]) / np.maximum(scale, 1e-300)[:, None])
    return np.diff(below, axis=1)


def _information_of(table: np.ndarray) -> float:
    """Information of a table of probabilities."""
    alone = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    there = table > 0
    return float(max((table[there] * np.log(table[there] / alone[there])).sum(), 0.0))
