"""The score of a fit: what places on the maps tell of points that were held out."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

import geodis as gd


@pytest.fixture(scope="module")
def halves():
    points = gd.product_manifold("S^2 x S^1", 1600, rotate=True, random_state=0).points
    noisy = points + 0.03 * np.random.default_rng(0).standard_normal(points.shape)
    return points[:1200], points[1200:], noisy[:1200], noisy[1200:]


def test_clean_points_are_told_whole_and_noise_is_not(halves):
    clean, new, noisy, noisy_new = halves
    assert gd.GeoManCER(verbose=0, random_state=0).fit(clean).score(new) > 0.9999
    told = gd.GeoManCER(dim=3, verbose=0, random_state=0).fit(noisy).score(noisy_new)
    most = 1 - 2 * 0.03**2 / noisy.var(axis=0).sum()  # of 5 directions two are noise alone
    assert most - 0.01 < told < most + 0.001


def test_rows_far_away_count_as_not_told(halves):
    clean, new, *_ = halves
    est = gd.GeoManCER(verbose=0, random_state=0).fit(clean)
    far = np.vstack([new, new + 100.0])
    assert est.score(far) < 0.1


@pytest.mark.long
def test_a_search_over_settings_finds_the_dimension():
    points = gd.product_manifold("S^2 x S^1", 900, rotate=True, noise=0.02, random_state=0).points
    folds = KFold(3, shuffle=True, random_state=0)
    own = gd.GeoManCER(verbose=0, random_state=0)
    with pytest.warns(gd.GeodisWarning):
        found = GridSearchCV(own, {"dim": [2, 3]}, cv=folds).fit(points)
    assert found.best_params_ == {"dim": 3}
    assert found.cv_results_["mean_test_score"][1] > 0.99
