"""Maps of factors that are several."""

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.confidence.product_test import dims_of_map
from tests.manifold.maps.cases import known_map


def map_of(spec, n=1500):
    """The true coordinates of a product as the map of one factor."""
    sample = gd.product_manifold(spec, n, rotate=False, random_state=0)
    frames = np.swapaxes(np.concatenate(sample.tangents, axis=1), 1, 2)
    axes = np.swapaxes(frames, 1, 2)
    return known_map(sample.points, axes, sample.points, frames)


@pytest.mark.parametrize(
    ("spec", "dims"),
    [("S^2 x S^2", (2, 2)), ("S^3 x S^2", (3, 2)), ("S^4", (4,)), ("S^3", (3,)), ("S^2", (2,))],
)
def test_a_map_splits_where_it_is_a_product(spec, dims):
    assert dims_of_map(map_of(spec)) == dims
