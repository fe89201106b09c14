"""What several test files share."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20231)


def sphere(n, k, rng):
    """Uniform points of S^k, shape (n, k + 1), written without the library."""
    points = rng.standard_normal((n, k + 1))
    return points / np.linalg.norm(points, axis=1, keepdims=True)
