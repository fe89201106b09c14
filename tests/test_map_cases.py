"""The benchmark of maps: what it takes for true is true, and rivals are treated kindly."""

import numpy as np
import pytest

from benchmarks import maps
from benchmarks.map_cases.cases import KINDS, PRODUCTS, draw, wound
from benchmarks.map_cases.eigenfunctions import (
    eigenfunctions,
    factorised,
    heaviest_cut,
    product_similarities,
)
from benchmarks.map_cases.factors import CAP, DOUGHNUT, ROTATIONS, SPHERE
from benchmarks.map_cases.geodesics import path_distances
from benchmarks.map_cases.judge import (
    best_columns,
    best_groups,
    distance_error,
    explained,
    in_true_order,
    pairs,
    r_squared,
)
from benchmarks.map_cases.ours import own_maps, path_lengths
from benchmarks.map_cases.rivals import Rival, ambient_ica, eigenmaps_ica, isomap_ica, rivals, vae
from geodis.data.manifolds.directions import turns_about


@pytest.mark.parametrize("product", PRODUCTS)
def test_factors_stand_side_by_side_in_every_kind(product):
    straight = draw(product, 60, "clean", 3)
    assert len(PRODUCTS) >= 10 and straight.points.shape == (60, sum(straight.widths))
    assert all(f.width == w for f, w in zip(straight.factors, straight.widths, strict=True))
    # A rotation of the space keeps all chords.
    sides = np.hstack(straight.coordinates)
    one, other = (np.linalg.norm(x[:, None] - x, axis=2) for x in (sides, straight.points))
    np.testing.assert_allclose(one, other, atol=1e-12)
    for kind in KINDS:
        again = draw(product, 60, kind, 3)
        for a, b in zip(straight.coordinates, again.coordinates, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("a", [0.5, np.array([0.3, 1.0, 1.5, 2.0])])
def test_winding_keeps_lengths(a):
    rng = np.random.default_rng(0)
    x, step = rng.uniform(-1, 1, (50, 4)), 1e-6 * rng.standard_normal((50, 4))
    moved = wound(x + step, a) - wound(x, a)
    np.testing.assert_allclose(
        np.linalg.norm(moved, axis=1), np.linalg.norm(step, axis=1), rtol=1e-4
    )


def test_what_is_wound_does_not_meet_itself():
    sample = draw("torus x S^2", 2000, "wound", 0)
    radii = np.linalg.norm(sample.points.reshape(2000, 2, 6).swapaxes(1, 2), axis=2)
    assert np.isfinite(radii).all()
    flat = np.hstack(sample.coordinates)
    rows = np.random.default_rng(0).integers(2000, size=(2, 4000))
    near = np.linalg.norm(np.subtract(*sample.points[rows]), axis=1)
    true = np.linalg.norm(np.subtract(*flat[rows]), axis=1)
    assert near[true > 2].min() > 0.5 and (near <= true + 1e-9).all()


def test_distances_of_rotations_are_those_of_their_matrices():
    axis, angle = np.array([[0.6, 0.0, 0.8]]), np.array([[0.01], [1.0], [3.0]])
    q = turns_about(angle * axis).reshape(-1, 9)
    found = ROTATIONS.distances(np.eye(3).reshape(1, 9), q)
    np.testing.assert_allclose(found, np.sqrt(2) * angle.T, rtol=1e-6)
    # A short path of many steps through R^9 is as long.
    way = turns_about(np.linspace(0, 1, 400)[:, None] * axis).reshape(-1, 9)
    assert np.linalg.norm(np.diff(way, axis=0), axis=1).sum() == pytest.approx(found[0, 1], 1e-4)


def test_paths_through_many_points_are_geodesics():
    x = SPHERE.draw(200, 1)
    true = SPHERE.distances(x[:20], x[20:])
    found = path_distances(SPHERE.draw, x[:20], x[20:], n_points=15_000, n_neighbors=80)
    far = true > 0.3
    np.testing.assert_allclose(found[far], true[far], rtol=0.015)
    assert np.median(found / true) == pytest.approx(1, abs=0.001)


def test_distances_on_the_torus_along_its_circles():
    t = np.array([0.5, 2.0])
    outside = 2.7 * np.array([[np.cos(t[0]), np.sin(t[0]), 0]])
    inside = 1.3 * np.array([[np.cos(t[1]), np.sin(t[1]), 0]])
    top = np.array([[2.0, 0.0, 0.7]])
    starts, ends = np.array([[2.7, 0, 0], [1.3, 0, 0]]), np.vstack([outside, inside, top])
    found = path_distances(DOUGHNUT.draw, starts, ends, n_points=15_000, n_neighbors=60)
    expected = [2.7 * t[0], 1.3 * t[1], 0.7 * np.pi / 2]
    np.testing.assert_allclose([found[0, 0], found[1, 1], found[0, 2]], expected, rtol=0.01)


def test_the_cap_ends_and_the_dependent_factors_depend():
    cap = draw("cap x S^2", 4000).coordinates[0]
    assert cap[:, 2].min() == pytest.approx(np.cos(CAP), abs=1e-3)
    x, y = draw("S^2 x S^2, dependent", 4000).coordinates
    # The mean of x . y under exp(kappa x . y) is coth(kappa) - 1 / kappa.
    assert (x * y).sum(axis=1).mean() == pytest.approx(1 / np.tanh(1.5) - 1 / 1.5, abs=0.03)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=0.05)


# Scores


@pytest.fixture(scope="module")
def sample():
    return draw("S^2 x circle", 400)


def test_linear_images_of_the_truth_explain_all_of_it(sample):
    rng = np.random.default_rng(0)
    maps_ = [x @ rng.standard_normal((x.shape[1],) * 2) + 3 for x in sample.coordinates]
    scores = explained(maps_, sample)
    np.testing.assert_allclose(scores.own, 1)
    assert max(scores.other) < 0.05
    assert in_true_order(maps_[::-1], sample) == [1, 0]
    assert in_true_order(maps_[1:], sample) == [1, 0]
    both = explained([np.hstack(maps_)] * 2, sample)
    np.testing.assert_allclose(both.other, 1)
    assert r_squared(rng.standard_normal((400, 2)), sample.coordinates[0]) < 0.03


def test_rows_without_a_map_do_not_count(sample):
    maps_ = [x.copy() for x in sample.coordinates]
    maps_[0][:50] = np.nan
    np.testing.assert_allclose(explained(maps_, sample).own, 1)


def test_columns_are_split_as_the_truth_likes_best(sample):
    rng = np.random.default_rng(1)
    truth = np.hstack(sample.coordinates)
    columns = np.hstack([rng.standard_normal((400, 4)), truth[:, ::-1]])
    split = best_columns(columns[:, rng.permutation(9)], sample)
    assert [own.shape[1] for own in split] == [3, 2]
    np.testing.assert_allclose(explained(split, sample).own, 1)
    # A decoy that explains most alone, and nothing more beside the others, is exchanged.
    decoy = sample.coordinates[0].sum(axis=1, keepdims=True)
    split = best_columns(np.hstack([decoy, truth]), sample)
    np.testing.assert_allclose(explained(split, sample).own, 1)
    groups = best_groups([truth[:, 3:], np.hstack([truth[:, :3], columns[:, :2]])], sample)
    np.testing.assert_allclose(explained(groups, sample).own, 1)
    assert [own.shape[1] for own in groups] == [3, 2]
    assert [own.shape[1] for own in best_columns(np.zeros((400, 0)), sample)] == [0, 0]


def test_errors_of_distances():
    true = np.array([[1.0, 2.0, 2.0]])
    assert distance_error(1.1 * true, true) == pytest.approx((0.1, 0))
    assert distance_error(true + np.array([[0.3, 0, np.nan]]), true)[0] == pytest.approx(
        0.3 / np.sqrt(2) / np.sqrt(2.5)
    )
    assert np.isnan(distance_error(true * np.nan, true)).all()
    a, b = pairs(3000, 0)
    assert len(a) == 40 and len(b) == 500 and not np.isin(a, b).any()
    assert all(len(rows) for rows in pairs(60, 0))


def test_paths_in_a_map_leave_out_what_is_not_there():
    x = np.linspace(0, 1, 200)[:, None].repeat(2, axis=1)
    x[7] = np.nan
    found = path_lengths(x, np.array([0, 7]), np.array([7, 199]), k=3)
    assert found[0, 1] == pytest.approx(np.sqrt(2)) and np.isnan(found[[0, 1, 1], [0, 0, 1]]).all()


# Product manifold learning


def test_eigenvalues_of_the_sphere_and_of_a_product():
    values, functions = eigenfunctions(draw("S^2 x circle", 3000).points, 5)
    # The circle's are 1, 1 and the sphere's 2, 2, 2, in units that the kernel sets.
    np.testing.assert_allclose(values / values[:2].mean(), [1, 1, 2, 2, 2], rtol=0.15)
    assert np.linalg.norm(functions, axis=0) == pytest.approx(np.sqrt(3000))


def test_products_of_eigenfunctions_are_seen():
    rng = np.random.default_rng(0)
    f = rng.standard_normal((4000, 2))
    functions = np.column_stack([f, f[:, 0] * f[:, 1], rng.standard_normal(4000)])
    functions *= np.sqrt(4000) / np.linalg.norm(functions, axis=0)
    found, similar = product_similarities(np.array([1.0, 2, 3, 3]), functions, 0.1)
    assert found[2].tolist() == [0, 1] and similar[2] > 0.99 and similar[3] < 0.1
    assert product_similarities(np.array([1.0, 2, 9, 3]), functions, 0.1)[1][2] == 0


def test_the_heaviest_cut_tells_two_sides():
    rng = np.random.default_rng(2)
    for side in (np.array([0, 1, 1, 0, 1, 0, 0]), np.array([0, 1, 2, 0, 1, 2, 2])):
        weights = np.where(side[:, None] != side, 1.0, 0.1) * (1 - np.eye(7))
        cut = heaviest_cut(weights, rng, side.max() + 1)
        assert len(set(zip(cut, side, strict=True))) == side.max() + 1


def test_eigenfunctions_of_an_unequal_product_are_told_apart():
    sample = draw("S^2 x circle", 1500)
    groups = factorised(sample.points, 40, similarity=0.5)
    scores = explained(best_groups(groups, sample), sample)
    assert min(scores.own) > 0.95 and max(scores.other) < 0.05


# The others


@pytest.mark.parametrize("rival", [ambient_ica, isomap_ica, eigenmaps_ica])
def test_independent_components_find_the_factors_of_a_plain_product(rival):
    sample = draw("S^2 x circle", 800)
    scores = explained(best_columns(rival(sample, 0), sample), sample)
    assert min(scores.own) > 0.85 and max(scores.other) < 0.05


def test_components_mix_dependent_factors_and_maps_do_not():
    sample = draw("S^2 x S^2, dependent", 1500)
    scores = explained(best_columns(ambient_ica(sample, 0), sample), sample)
    assert max(scores.own) < 0.97
    own = own_maps(sample)
    assert min(explained(own.maps, sample).own) > 0.995 and own.found in ([0, 1], [1, 0])


def test_latents_come_with_their_components(sample):
    assert vae(sample, 0, steps=3).shape == (400, 10)


def test_rivals_that_are_not_there_are_named():
    found, missing = rivals()
    names = {rival.name for rival in found} | set(missing)
    assert {"Isomap + FastICA", "product manifold learning", "beta-VAE"} <= names
    assert {"circular coordinates", "diffusion geometry"} <= names


# The runner


def test_the_best_setting_counts_and_failures_are_results(sample):
    def fail(sample, seed):
        raise ValueError("no")

    noise = np.random.default_rng(0).standard_normal((400, 5))
    settings = (fail, lambda s, seed: noise, lambda s, seed: np.hstack(s.coordinates))
    row = maps.of_rival(Rival("any", settings), sample, 0)
    assert row["R2"] == pytest.approx(1) and row["CPU s"] >= 0
    failed = maps.of_rival(Rival("none", (fail,)), sample, 0)
    assert np.isnan(failed["R2"]) and failed["problem"] == "ValueError: no"
    groups = Rival("groups", (lambda s, seed: s.coordinates[::-1],))
    assert maps.of_rival(groups, sample, 0)["R2"] == pytest.approx(1)


def test_tables_are_written_for_every_method(tmp_path, monkeypatch):
    monkeypatch.setattr(maps, "KINDS", ("clean",))
    one = Rival("truth", (lambda s, seed: np.hstack(s.coordinates),))
    monkeypatch.setattr(maps, "rivals", lambda folder=None: ([one], {"beta-VAE": "not here"}))
    options = ["--quick", "--n", "600", "--out", str(tmp_path)]
    maps.main(options)
    text = (tmp_path / "maps.md").read_text()
    assert "| truth | 1 | 1 | 2 of 2 |" in text and "not here" in text
    ours = next(line for line in text.splitlines() if line.startswith("| GeoManCER"))
    assert "2 of 2" in ours
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.{kind}"
        for name in ("maps", "maps_cases", "maps_products")
        for kind in ("md", "json")
    }

    # What is there is not measured again, unless it is asked for.
    measured = []

    def counted(sample, seed):
        measured.append(len(sample.points))
        return np.hstack(sample.coordinates)

    monkeypatch.setattr(maps, "warm_up", lambda others: None)
    monkeypatch.setattr(maps, "of_ours", lambda sample, seed: {"R2": 0.5, "problem": "none"})
    again = Rival("truth", (counted,))
    monkeypatch.setattr(maps, "rivals", lambda folder=None: ([again], {"beta-VAE": "not here"}))
    maps.main(options)
    assert not measured and (tmp_path / "maps.md").read_text() == text
    maps.main([*options, "--again", maps.OURS])
    assert not measured and "| GeoManCER | 0.5 |" in (tmp_path / "maps.md").read_text()
    maps.main([*options, "--fresh"])
    assert measured == [600, 600]
    maps.main([*options, "--fresh", "--without", "truth,others"])
    assert measured == [600, 600] and "truth" not in (tmp_path / "maps.md").read_text()
    assert maps.summary(
        [{"method": m, "kind": k, "n": 600, "R2": 1.0} for m, k in (("a", "x"), ("b", "y"))]
    )
