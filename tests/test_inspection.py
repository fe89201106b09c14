import json

import numpy as np
import pytest

from geodis import GeoManCER, inspect_points, product_manifold, sample_population
from geodis.base.check import InputError
from geodis.base.write import to_jsonable
from geodis.manifold import kept_directions


def test_a_clean_manifold_is_described():
    seen = inspect_points(product_manifold("S^2 x S^2", 2000, random_state=0).points)
    assert (seen.n, seen.d, seen.dtype) == (2000, 6, "float64")
    assert seen.dimension.dim == 4 and seen.n_neighbors == 8
    assert seen.pieces == [2000] and seen.search == "kdtree"
    assert (seen.needed, seen.recommended, seen.enough_points) == (31, 1200, "yes")
    assert seen.constant_columns == [] and seen.duplicate_columns == [] and seen.notes == []
    np.testing.assert_allclose(seen.explained, np.full(6, 1 / 6), atol=0.02)
    assert "connected" in str(seen)


def test_defects_are_counted(rng):
    points = rng.standard_normal((300, 5)).astype(np.float32)
    points[:, 1] = 2.0
    points[:, 4] = points[:, 0]
    points[3, 2] = np.nan
    points[4, 2:4] = np.inf
    points[10:20] = points[9]
    seen = inspect_points(points)
    assert seen.constant_columns == [1]
    assert seen.duplicate_columns == [(0, 4)]
    assert (seen.n_nan, seen.n_inf, seen.n_used) == (1, 2, 298)
    assert seen.duplicate_rows == 10
    assert seen.dtype == "float32"
    assert "2 rows with NaN or infinity were left out." in seen.notes


def test_pieces_are_listed_by_size(rng):
    points = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(99, 1, (100, 2))])
    seen = inspect_points(points)
    assert seen.pieces[:2] == [200, 100]
    assert "within a component" in seen.notes[-1]


def test_large_input_is_sampled_and_said(rng):
    seen = inspect_points(rng.standard_normal((500, 2)), max_points=100)
    assert (seen.n, seen.n_used) == (500, 100)
    assert "100 random rows" in seen.notes[0]


def test_many_columns_are_searched_in_their_principal_components(rng):
    flat = rng.uniform(size=(400, 2)) @ rng.standard_normal((2, 300))
    seen = inspect_points(flat)
    assert seen.dimension.dim == 2
    assert "2 principal components" in seen.notes[0]


def test_a_floor_of_noise_is_left_out_as_in_a_fit():
    sample = product_manifold("S^2 x S^2", 1500, pad=44, noise=0.1, rotate=True, random_state=0)
    seen = inspect_points(sample.points)
    assert (seen.dimension.dim, seen.dimension.verdict, seen.n_directions) == (4, "clear", 6)
    assert abs(seen.noise - 0.1) < 0.005 and seen.search == "kdtree"
    assert "6 of 50 directions lie above a floor of noise of 0.1" in str(seen)
    directions = kept_directions(sample.points)
    assert (directions.noise, directions.edge) == (seen.noise, seen.edge)


@pytest.mark.parametrize(("n", "verdict"), [(12, "no"), (100, "barely"), (2000, "yes")])
def test_verdict_on_the_number_of_points(n, verdict, rng):
    seen = inspect_points(rng.standard_normal((n, 5)))
    assert seen.dimension.dim >= 2
    assert seen.enough_points == verdict


def test_few_distinct_rows():
    seen = inspect_points(np.array([[0.0], [1.0], [3.0], [7.0]]).repeat(5, axis=0))
    assert seen.n_used == 20 and seen.duplicate_rows == 16


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((0, 3)), "at least 4 distinct finite rows; got 0"),
        (np.zeros((9, 3)), "at least 4 distinct finite rows; got 1"),
        (np.full((9, 3), np.nan), "at least 4 distinct finite rows; got 0"),
        (np.zeros((9, 0)), r"shape \(n, d\), one row per point; got shape \(9, 0\)"),
        (np.zeros(9), r"shape \(n, d\), one row per point; got shape \(9,\)"),
        ([["a"]], "must hold numbers"),
        (np.ones((4, 2)) * 1j, "must be real; got complex128"),
    ],
)
def test_bad_input_is_told_in_one_sentence(points, message):
    with pytest.raises(InputError, match=message):
        inspect_points(points)


def test_everything_fits_into_json():
    seen = inspect_points(product_manifold("S^1", 100, random_state=0).points)
    content = json.loads(json.dumps(to_jsonable(seen.to_dict()), allow_nan=False))
    assert content["dimension"]["dim"] == 1
    assert content["enough_points"] == "yes"


def test_copies_and_outliers_are_treated_as_in_a_fit():
    rng = np.random.default_rng(0)
    points = np.repeat(product_manifold("S^2 x S^1", 500, random_state=0).points, 2, axis=0)
    points += 1e-9 * rng.standard_normal(points.shape)
    points[:10] += 50 * rng.standard_normal((10, 5))
    seen = inspect_points(points)
    with pytest.warns(UserWarning, match="10 of 1,000 points lie far"):
        est = GeoManCER(verbose=0, n_jobs=1).fit(points)
    assert seen.dimension.dim == est.dim_ == 3 and len(seen.pieces) == 1
    assert any(f"{est.n_copies_} rows are near copies" in note for note in seen.notes)
    assert any(note.startswith("10 rows are far from all others") for note in seen.notes)


def test_the_edge_of_the_noise_is_a_share_of_the_variance():
    rows = 0.1 * np.random.default_rng(0).standard_normal((600, 20))
    rows[:, :2] += np.random.default_rng(1).standard_normal((600, 2))
    seen = inspect_points(rows)
    assert seen.n_directions == 2
    assert seen.explained[2] < 1.1 * seen.edge_share < seen.explained[1]
    assert inspect_points(rows[:, :2]).edge_share == 0


def test_counts_and_other_metrics_are_looked_at_as_in_a_fit():
    counts = sample_population("ring x ring", 1500, cells=100, peak=10, random_state=0).counts
    seen = inspect_points(counts, prepare="sqrt")
    assert seen.dimension.dim == 2 and seen.n_directions < 20  # roots have one noise
    sphere = product_manifold("S^2", 600, random_state=0).points
    lengths = np.random.default_rng(0).uniform(0.1, 10, size=(600, 1))
    assert inspect_points(lengths * sphere, metric="cosine").dimension.dim == 2
    apart = np.linalg.norm(sphere[:, None] - sphere, axis=2)
    seen = inspect_points(apart, metric="precomputed")
    assert seen.dimension.dim == 2 and seen.n_used == 600
    with pytest.raises(InputError, match="Distances can be scaled for at most"):
        inspect_points(apart, metric="precomputed", max_points=500)
