"""Two representations of the same rows, compared by the order of their distances: RSA."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_int, check_random_state
from geodis.distances.correlations import correlation
from geodis.distances.representations.alignment import same_rows

N_PAIRS = 20_000


def rsa(a: Any, b: Any, *, n_pairs: int = N_PAIRS, random_state: Any = 0) -> float:
    """Rank correlation of the distances of the same pairs (Kriegeskorte et al. 2008).

    Parameters
    ----------
    a, b : array-like of shape (n, p), (n, q)
        Of the same n rows in the same order.
    n_pairs : int
        Pairs drawn at random, never of a row with itself; all where there are no more.
    random_state : int, Generator or None

    Returns
    -------
    float
        Spearman's, from -1 to 1; near 0 for unrelated ones.

    Examples
    --------
    >>> a = np.random.default_rng(0).standard_normal((100, 2))
    >>> round(rsa(a, 3 * a + 1), 6)
    1.0
    """
    x, y = same_rows(a, b)
    n, wanted = len(x), check_int(n_pairs, "n_pairs", low=2)
    if n * (n - 1) // 2 <= wanted:
        i, j = np.triu_indices(n, 1)
    else:
        rng = check_random_state(random_state)
        i = rng.integers(n, size=wanted)
        j = (i + rng.integers(1, n, size=wanted)) % n
    apart = [np.linalg.norm(rows[i] - rows[j], axis=1) for rows in (x, y)]
    return correlation(*apart).spearman
