"""Averages of fields over neighbours, in dimensions that are compiled in and in others."""

import numpy as np
import pytest

from geodis.manifold.holonomy.diffusion import MOST_AXES, diffuse
from geodis.manifold.holonomy.laplacian import unvec_symmetric, vec_symmetric


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6, MOST_AXES, MOST_AXES + 1])
@pytest.mark.parametrize("width", [1, 8, 11])
def test_fields_are_carried_and_summed(k, width, rng):
    n, degree = 12, 3
    indptr = np.arange(0, n * degree + 1, degree, dtype=np.int32)
    indices = rng.integers(n, size=n * degree).astype(np.int32)
    turns = rng.standard_normal((n * degree, k, k)).astype(np.float32)
    fields = rng.standard_normal((n, k * (k + 1) // 2, width)).astype(np.float32)
    scales = rng.uniform(0.5, 1, n).astype(np.float32), rng.uniform(0.5, 1, n).astype(np.float32)
    found = diffuse(indptr, indices, turns, fields, scales=scales)
    matrices = unvec_symmetric(np.swapaxes(fields, 1, 2).astype(float), k)  # (n, width, k, k)
    for i in range(n):
        total = np.zeros((width, k, k))
        for e in range(indptr[i], indptr[i + 1]):
            total += scales[1][indices[e]] * turns[e] @ matrices[indices[e]] @ turns[e].T
        total *= scales[0][i]
        total -= np.trace(total, axis1=1, axis2=2)[:, None, None] / k * np.eye(k)
        np.testing.assert_allclose(found[i].T, vec_symmetric(total), atol=2e-5 * k**2)
