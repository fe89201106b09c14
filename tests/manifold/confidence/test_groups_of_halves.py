"""Halves of recordings are halves of their trials."""

import numpy as np

from geodis import GeoManCER, product_manifold
from geodis.manifold.confidence.likely_errors import half_fits

SAMPLE = product_manifold("S^2 x S^1", 1200, random_state=0)
TRIALS = np.repeat(np.arange(12), 100)


def halves(**recorded):
    est = GeoManCER(verbose=0).fit(SAMPLE.points, **recorded)
    return list(half_fits(est.fitted_, 2, None, np.random.default_rng(0)))


def test_no_trial_is_in_both_halves():
    for one, other in zip(*[iter(halves(groups=TRIALS, times=np.arange(1200)))] * 2, strict=True):
        assert not set(one.groups) & set(other.groups)
        assert len(one.points) + len(other.points) == 1200
        assert abs(len(one.points) - len(other.points)) <= 200
        assert (np.diff(one.times) > 0).all()  # rows stay in the order of their times


def test_without_trials_rows_are_halved_as_before():
    one, other = halves()[:2]
    assert one.groups is None and len(one.points) == len(other.points) == 600


def test_the_confidence_of_a_fit_with_trials():
    est = GeoManCER(verbose=0).fit(SAMPLE.points, groups=TRIALS, confidence="quick")
    assert est.confidence_ is not None
    assert {fit.dims for fit in est.confidence_.fits if fit.dims} == {(2, 1)}
