import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import kstest

from geodis.data.grids.textures import numbers_of_index


@pytest.mark.parametrize("seed", [0, 1, 2**62])
def test_numbers_are_even_and_unlike_each_other(seed):
    numbers = numbers_of_index(np.arange(20_000), 6, seed)
    assert numbers.dtype == np.float32 and numbers.min() >= 0 and numbers.max() < 1
    assert min(kstest(column, "uniform").pvalue for column in numbers.T) > 1e-4
    between = np.corrcoef(np.hstack([numbers, np.roll(numbers, 1, axis=0)]).T)
    assert np.abs(between - np.eye(12)).max() < 0.035  # a deviation is .007


def test_an_index_has_its_numbers_alone_or_among_others():
    index = np.array([5, 10**15, 5])
    numbers = numbers_of_index(index, 4, 3)
    assert_array_equal(numbers[1:2], numbers_of_index(index[1:2], 4, 3))
    assert_array_equal(numbers[0], numbers[2])
    assert_array_equal(numbers[:, :2], numbers_of_index(index, 2, 3))  # the first are the first
