"""One thread of torch: the tests are small, and the cores are shared."""

import numpy as np
import pytest
import torch

from geodis import FactorGrid, XYSquares

torch.set_num_threads(1)


@pytest.fixture
def generator():
    """Torch's own random numbers, seeded for the test and put back after it."""
    before = torch.random.get_rng_state()
    yield torch.manual_seed(20231)
    torch.random.set_rng_state(before)


@pytest.fixture(scope="session")
def squares():
    """XYSquares small enough to train on: one square on a 3 x 3 grid in 32 x 32 images."""
    return XYSquares(n_squares=1, grid_size=3, spacing=8, square_size=8, image_size=32, rgb=False)


@pytest.fixture(scope="session")
def blobs():
    """A 5 x 4 x 2 grid of tiny images, 6 x 6: position of a dot, and its brightness."""
    factors = np.stack(np.unravel_index(np.arange(40), (5, 4, 2)), axis=1)
    images = np.zeros((40, 6, 6), dtype=np.uint8)
    images[np.arange(40), factors[:, 0], factors[:, 1]] = 127 + 127 * factors[:, 2]
    return FactorGrid.from_arrays(images, factors, names=("row", "column", "light"))
