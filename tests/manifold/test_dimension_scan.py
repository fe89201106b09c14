import numpy as np
import pytest

from geodis import GeoManCER, product_manifold
from geodis.base.check import InputError
from geodis.manifold import fit_doubts as doubts
from geodis.manifold.doubts import doubt


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
    assert est.doubts_[0].code == "scanned-dimension" and est.doubts_[0].evidence["kept"] == 3
    assert est.get_params()["dim"] == "scan" and est.transform(sample.points[:2]).shape[0] == 2


def test_other_words_are_refused():
    with pytest.raises(InputError, match="'auto' or 'scan'; got 'guess'"):
        GeoManCER(dim="guess", verbose=0).fit(np.random.default_rng(0).uniform(size=(60, 3)))


def test_checks_of_finished_fits_do_not_move_the_dimension(monkeypatch):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.hstack([points, np.zeros((400, 3))]) + 0.12 * rng.standard_normal((400, 5))

    def scanned():
        return GeoManCER(dim="scan", verbose=0).fit(points)

    before = scanned()
    assert before.doubts_[0].code == "scanned-dimension"

    def said(dims, *others):
        wrong = [
            doubt("wrong-order", "curve", given="", error=float(j), found=str(j)) for j in range(9)
        ]
        return tuple(wrong * (sum(dims) == before.dim_))

    monkeypatch.setattr("geodis.manifold.fit.late_doubts", said)
    monkeypatch.setattr("geodis.manifold.fit.late_doubts", said)
    after = scanned()
    assert after.dim_ == before.dim_ and after.doubts_[0] == before.doubts_[0]
    assert after.doubts_[-1].evidence["error"] == 8 and after.uncertain_


@pytest.mark.parametrize("weight", [0, 9])
def test_only_doubts_with_weight_move_the_dimension(monkeypatch, weight):
    """One more sentence about the fit of dimension 3 used to make it 5."""
    points = product_manifold("S^2 x S^1", 1500, noise=0.22, pad=10, random_state=0).points
    of_dimension = doubts.doubts_of_dimension
    harmless = doubt("counts", "rows", weight=weight)

    def with_one_more(dim, *others):
        return (*of_dimension(dim, *others), *[harmless] * (dim == 3))

    monkeypatch.setattr(doubts, "doubts_of_dimension", with_one_more)
    est = GeoManCER(dim="scan", verbose=0).fit(points)
    assert (est.dim_ == 3) == (harmless in est.doubts_) == (weight == 0)
