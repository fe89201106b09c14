import numpy as np
import pytest

import geodis as gd
from geodis.manifold.preparation.rows import near_copies, outlying
from tests.conftest import sphere

SEEDS = (0, 1, 2)


def spheres(n, seed):
    rng = np.random.default_rng(seed)
    return np.hstack([sphere(n, 2, rng), sphere(n, 2, rng)])


def dozen(points):
    return gd.nearest_neighbors(points, 12)


SAMPLES = {
    "sphere x sphere": lambda rng: np.hstack([sphere(2000, 2, rng), sphere(2000, 2, rng)]),
    "circle": lambda rng: sphere(500, 1, rng),
    "Gaussian line": lambda rng: rng.standard_normal((500, 1)),
    "exponential": lambda rng: rng.exponential(size=(2000, 2)),
    "rounded": lambda rng: np.round(rng.standard_normal((2000, 4)), 1),
    "clusters": lambda rng: 0.1 * rng.standard_normal((1000, 3)) + rng.integers(4, size=(1000, 1)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SAMPLES)
def test_samples_have_no_copies_and_few_outliers(name, seed):
    near = dozen(SAMPLES[name](np.random.default_rng(seed)))
    assert near_copies(near) is None
    assert outlying(near).mean() < 0.05  # the tails of what has tails


@pytest.mark.parametrize(("copies", "jitter"), [(2, 1e-9), (2, 1e-4), (5, 1e-3), (10, 1e-6)])
def test_copies_are_one_place(copies, jitter):
    rng = np.random.default_rng(0)
    points = np.repeat(spheres(600, 0), copies, axis=0)
    order = rng.permutation(len(points))
    points = (points + jitter * rng.standard_normal(points.shape))[order]
    first = near_copies(dozen(points))
    source = order // copies
    assert len(np.unique(first)) == 600
    np.testing.assert_array_equal(source[first], source)
    assert (first <= np.arange(len(first))).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("share", [0.01, 0.06])
def test_outliers_are_left_out_and_the_answer_is_that_of_the_rest(share, seed):
    points, rng = spheres(2500, seed), np.random.default_rng(seed)
    far = np.arange(2500) < share * 2500
    directions = sphere(far.sum(), 5, rng)
    points[far] = rng.uniform(2.5, 7.5, (far.sum(), 1)) * directions
    with pytest.warns(UserWarning, match="lie far from all others"):
        est = gd.GeoManCER(verbose=0, n_jobs=1).fit(points)
    assert est.factor_dims_.tolist() == [2, 2]
    assert est.outliers_[far].mean() > 0.9 and not est.outliers_[~far].any()
    assert np.isnan(est.axes_[est.outliers_]).all() and np.isfinite(est.axes_[~far]).all()
    assert est.uncertain_ == (share > 0.05)


def test_copies_do_not_change_the_answer():
    points = spheres(1500, 0)
    twice = np.repeat(points, 2, axis=0)
    twice += 1e-9 * np.random.default_rng(0).standard_normal(twice.shape)
    est = gd.GeoManCER(verbose=0, n_jobs=1).fit(twice)
    assert est.factor_dims_.tolist() == [2, 2] and not est.uncertain_
    assert est.n_copies_ == 1500
    np.testing.assert_array_equal(est.axes_[::2], est.axes_[1::2])
