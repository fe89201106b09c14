import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist, squareform

from geodis import GeoManCER, product_manifold, sample_population
from geodis.base.check import InputError
from geodis.manifold import count_roots
from geodis.manifold.preparation.row_measure import RowMeasure

SAMPLE = product_manifold("S^2 x S^1", 900, random_state=0)
ROWS = np.random.default_rng(1).standard_normal((60, 5)) + 1


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_neighbours_are_those_of_the_metric(metric):
    points = RowMeasure(metric=metric).points_of(ROWS)[0]
    assert_allclose(cdist(points, points, "sqeuclidean"), 2 * cdist(ROWS, ROWS, metric), atol=1e-12)


def test_roots_of_counts_spread_by_one():
    for mean in (4.0, 30.0):
        counts = np.random.default_rng(0).poisson(mean, 200_000)
        assert abs(count_roots(counts).std() - 1) < 0.03
    with pytest.raises(InputError, match="must not be negative; got -1"):
        count_roots([2, -1])


@pytest.mark.long
def test_counts_are_fitted_as_their_roots():
    sample = sample_population("sphere x ring", 1200, cells=120, peak=20, random_state=0)
    est = GeoManCER(prepare="sqrt", verbose=0).fit(sample.counts)
    other = GeoManCER(verbose=0).fit(count_roots(sample.counts))
    assert est.factor_dims_.tolist() == [2, 1]
    assert_array_equal(est.axes_, other.axes_)
    assert_allclose(est.at(sample.counts[:5]), est.axes_[:5])
    assert_allclose(est.transform(sample.counts[:5]), other.transform(other.points_[:5]))


def test_an_atlas_and_a_sample_say_what_they_cannot_take():
    est = GeoManCER(metric="cosine", verbose=0).fit(SAMPLE.points)
    with pytest.raises(InputError, match="An atlas takes rows as points"):
        est.atlas()
    apart = squareform(pdist(SAMPLE.points[:60]))
    with pytest.raises(InputError, match="Distances cannot be sampled"):
        GeoManCER(metric="precomputed", verbose=0).fit(apart, sample=40)
    groups = np.arange(900) % 9
    sampled = GeoManCER(verbose=0).fit(SAMPLE.points, sample=600, groups=groups)
    assert len(sampled.points_) == 600


def test_factors_come_from_distances_alone():
    for given, metric in (
        (squareform(pdist(SAMPLE.points)), "precomputed"),
        (SAMPLE.points, cdist1),
    ):
        est = GeoManCER(metric=metric, verbose=0).fit(given)
        assert est.factor_dims_.tolist() == [2, 1] and not est.uncertain_
        # The coordinates are the points, turned: the true tangents turn with them.
        turn = np.linalg.lstsq(SAMPLE.points - SAMPLE.points.mean(axis=0), est.points_, rcond=None)[
            0
        ]
        for j, true in enumerate(SAMPLE.tangents):
            cosines = np.linalg.svd(est.subspace(j) @ (true @ turn).swapaxes(1, 2))[1]
            assert np.arccos(cosines.min(axis=1).clip(-1, 1)).mean() < 0.02
        with pytest.raises(InputError, match="if the fit used distances"):
            est.at(given[:3])


def test_a_path_that_does_not_close_is_doubted_and_a_circle_is_not():
    for end, doubted in ((3.0, True), (2 * np.pi, False)):
        turn = np.sort(np.random.default_rng(0).uniform(0, end, 400))
        points = np.column_stack([np.cos(turn), np.sin(turn)])
        est = GeoManCER(verbose=0).fit(points)
        assert est.dim_ == 1
        assert any("along a curve that does not close" in text for text in est.doubts_) is doubted


def cdist1(x, y):
    return np.sqrt(((x - y) ** 2).sum())


def test_lengths_do_not_matter_to_angles():
    scaled = SAMPLE.points * np.random.default_rng(2).uniform(1, 9, (900, 1))
    est = GeoManCER(metric="cosine", verbose=0).fit(scaled)
    assert est.factor_dims_.tolist() == [2, 1]
    assert_allclose(est.points_, SAMPLE.points / np.sqrt(2))
    assert_allclose(est.at(SAMPLE.points[:4]), est.axes_[:4])


@pytest.mark.parametrize(
    ("settings", "rows", "message"),
    [
        ({"prepare": "log"}, ROWS, "prepare must be"),
        ({"metric": "manhattan"}, ROWS, "metric must be"),
        ({"metric": "cosine"}, np.vstack([ROWS, 0 * ROWS[:1]]), "rows that are not zero; got 1"),
        ({"metric": "correlation"}, np.vstack([ROWS, 0 * ROWS[:1] + 2]), "not constant; got 1"),
        ({"metric": "precomputed", "prepare": "sqrt"}, ROWS, "which cannot be prepared"),
        ({"metric": "precomputed"}, ROWS, "must hold distances"),
    ],
)
def test_what_cannot_be_measured_is_refused(settings, rows, message):
    with pytest.raises(InputError, match=message):
        GeoManCER(verbose=0, **settings).fit(rows)


def of_products(spec, n, seed):
    """Geodesic distances of a product of spheres and circles of radius one."""
    sample = product_manifold(spec, n, rotate=False, random_state=seed)
    sizes = [3 if part == "S^2" else 2 for part in spec.split(" x ")]
    places = np.split(sample.points, np.cumsum(sizes)[:-1], axis=1)
    angles = [np.arccos(np.clip(x @ x.T, -1, 1)) for x in places]
    apart = np.sqrt(sum(angle**2 for angle in angles))
    np.fill_diagonal(apart, 0)
    return (apart + apart.T) / 2


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("spec", "dims"), [("S^2 x S^2", [2, 2]), ("S^1 x S^1", [1, 1])])
def test_geodesic_distances_keep_their_lengths_in_every_neighbourhood(spec, dims, seed):
    apart = of_products(spec, 800, seed)
    est = GeoManCER(metric="precomputed", verbose=0).fit(apart)
    assert est.factor_dims_.tolist() == dims and not est.uncertain_
    near = np.argsort(apart, axis=1)[:, 1:9]
    length = np.linalg.norm(est.points_[near] - est.points_[:, None], axis=2)
    assert np.allclose(length / np.take_along_axis(apart, near, axis=1), 1, atol=0.1)
    for period in est.periods_:
        assert np.allclose(np.linalg.norm(period, axis=1), 2 * np.pi, rtol=0.03)


def test_distances_that_coordinates_have_nowhere_are_doubted():
    rows = np.random.default_rng(0).uniform(size=(600, 4))
    blocks = squareform(pdist(rows, "cityblock"))
    doubts = RowMeasure(metric="precomputed").points_of(blocks)[1]
    assert [one.code for one in doubts] == ["not-euclidean"]
