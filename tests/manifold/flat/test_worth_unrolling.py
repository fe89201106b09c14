"""Surfaces that transport does not find flat: which are doubted, and which are not."""

import numpy as np
import pytest

import geodis as gd


def fitted(points, **options):
    return gd.GeoManCER(verbose=0, **options).fit(points)


@pytest.mark.parametrize("seed", range(3))
def test_cells_tuned_to_a_track_and_a_ring_at_once_are_doubted(seed):
    sample = gd.sample_population(
        "track x ring", 1500, cells=200, peak=30, joint=True, random_state=seed
    )
    est = fitted(sample.counts, prepare="sqrt")
    assert est.factor_dims_.tolist() == [2]
    assert est.uncertain_ and "half-closed" in [doubt.code for doubt in est.doubts_]


@pytest.mark.parametrize("spec", ["arena", "sphere"])
@pytest.mark.parametrize("cells", [100, 300])
def test_cells_of_one_surface_are_not(spec, cells):
    sample = gd.sample_population(spec, 1500, cells=cells, peak=10, random_state=cells)
    est = fitted(sample.counts, prepare="sqrt")
    assert est.factor_dims_.tolist() == [2] and not est.uncertain_


@pytest.mark.parametrize("ratio", [0.2, 0.5])
def test_tori_of_revolution_are_not(ratio):
    u, v = np.random.default_rng(0).uniform(0, 2 * np.pi, (2, 1500))
    out = 1 + ratio * np.cos(v)
    torus = np.stack([out * np.cos(u), out * np.sin(u), ratio * np.sin(v)], axis=1)
    est = fitted(torus)
    assert est.factor_dims_.tolist() == [2] and not est.uncertain_
