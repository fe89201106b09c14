import numpy as np
import pytest

from geodis import GeoManCER, product_manifold
from geodis.base.check import InputError


def test_a_clear_dimension_is_not_scanned():
    points = product_manifold("S^2 x S^1", 800, random_state=0).points
    one, other = (GeoManCER(dim=dim, verbose=0).fit(points) for dim in ("auto", "scan"))
    np.testing.assert_array_equal(one.axes_, other.axes_)
    assert other.dim == "scan" and other.doubts_ == one.doubts_


@pytest.mark.parametrize("seed", range(2))
def test_a_scan_keeps_the_cleanest_and_says_so(seed):
    sample = product_manifold("S^2 x S^1", 1500, noise=0.22, pad=10, random_state=seed)
    est = GeoManCER(dim="scan", verbose=0).fit(sample.points)
    assert est.dim_ == 3 and est.uncertain_
    assert (
        est.doubts_[0].startswith("the dimension was not clear") and "and 3 kept" in est.doubts_[0]
    )
    assert est.get_params()["dim"] == "scan" and est.transform(sample.points[:2]).shape[0] == 2


def test_other_words_are_refused():
    with pytest.raises(InputError, match="'auto' or 'scan'; got 'guess'"):
        GeoManCER(dim="guess", verbose=0).fit(np.random.default_rng(0).uniform(size=(60, 3)))
