import json
import warnings
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ortho_group

import geodis as gd
from geodis.base.check import InputError
from geodis.base.write import write_json
from geodis.data.manifolds.flat_products import flat_sample
from geodis.manifold import chance_angle, fit_confidence
from geodis.manifold.confidence.likely_errors import graphs_over, match_factors
from geodis.manifold.confidence.subspace_error import (
    LocalAxes,
    deviations,
    leaves,
    noise_level,
    subspace_rotation,
)
from geodis.manifold.local.angles import principal_angles
from tests.conftest import sphere


def fit(points, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gd.GeoManCER(**{"verbose": 0, "n_jobs": 1, **options}).fit(points)


def trust(est, **options):
    return fit_confidence(est, **{"verbose": 0, "n_jobs": 1, **options})


def bent(sample, curvature):
    """Every coordinate wound on a circle: an isometry that is no product of immersions."""
    n = len(sample.points)
    angle = curvature * sample.points
    points = np.stack([np.cos(angle), np.sin(angle)], axis=2) / curvature
    along = np.stack([-np.sin(angle), np.cos(angle)], axis=2)
    tangents = [(t[..., None] * along[:, None]).reshape(n, t.shape[1], -1) for t in sample.tangents]
    return points.reshape(n, -1), tangents


def errors_of(est, tangents):
    dims = tuple(est.factor_dims_)
    true, _ = match_factors(est.axes_, np.concatenate(tangents, axis=1), dims)
    stops = np.cumsum(dims)[:-1]
    pairs = zip(np.split(est.axes_, stops, axis=1), np.split(true, stops, axis=1), strict=True)
    return np.stack([principal_angles(own, other) for own, other in pairs], axis=1)


@cache
def case(kind):
    noise = 0.03 if kind == "noisy" else 0.0
    sample = gd.product_manifold(
        "S^2 x S^2", 1200, noise=noise, rotate=kind == "bent", random_state=21
    )
    return bent(sample, 0.8) if kind == "bent" else (sample.points, sample.tangents)


@cache
def fitted(kind):
    return fit(case(kind)[0], dim=4)


@pytest.mark.parametrize("kind", ["clean", "noisy", "bent"])
@pytest.mark.parametrize("quick", [True, False])
def test_true_errors_lie_inside_the_bounds(kind, quick):
    est, tangents = fitted(kind), case(kind)[1]
    confidence = trust(est, quick=quick, repeats=0)
    inside = errors_of(est, tangents) <= confidence.angles
    assert 0.8 <= inside.mean() <= 0.97


def test_half_of_the_points_lie_inside_bounds_of_fifty_per_cent():
    confidence = trust(fitted("noisy"), level=0.5, quick=True, repeats=0)
    inside = errors_of(fitted("noisy"), case("noisy")[1]) <= confidence.angles
    assert 0.35 <= inside.mean() <= 0.65


def test_what_errors_are_made_of():
    parts = {}
    for kind in ("clean", "noisy", "bent"):
        confidence = trust(fitted(kind), quick=True, repeats=0)
        parts[kind] = {name: rms.mean() for name, rms in confidence.parts.items()}
    assert parts["clean"]["noise"] == 0 and parts["bent"]["tilt"] == 0
    assert parts["noisy"]["noise"] > 3 * max(parts["noisy"][p] for p in ("tilt", "curvature"))
    assert parts["bent"]["curvature"] > parts["bent"]["sampling"]


def test_bounds_turn_with_the_data():
    points = case("noisy")[0]
    turn = ortho_group.rvs(6, random_state=0)
    plain, turned = (
        trust(est, quick=True, repeats=0, noise=0.03)
        for est in (fitted("noisy"), fit(points @ turn, dim=4))
    )
    # The noise that is drawn does not turn with them.
    ratio = np.sort(plain.typical) / np.sort(turned.typical)
    np.testing.assert_allclose(ratio, 1, atol=0.1)


def test_bounds_do_not_depend_on_units():
    points = case("clean")[0]
    small, large = (trust(fit(s * points, dim=4), quick=True, repeats=0) for s in (1e-3, 1e3))
    np.testing.assert_allclose(small.angles, large.angles, rtol=1e-3)


@pytest.mark.parametrize("sigma", [0.01, 0.05])
def test_the_noise_is_found(sigma):
    points = gd.product_manifold("S^2 x S^2", 1500, noise=sigma, random_state=3).points
    local = LocalAxes(fit(points, dim=4).fitted_, 300, np.random.default_rng(0))
    small, large = deviations(local, 1.0), deviations(local, 2.0)
    rotation = subspace_rotation(local.leaves, small)
    found = noise_level(local.leaves, small, large, rotation)
    assert found == pytest.approx(sigma, rel=0.15)


def test_a_tilt_that_was_put_in_is_found():
    est = fit(gd.product_manifold("S^2 x S^2", 1500, random_state=0).points, dim=4)
    turn = np.zeros((6, 6))
    turn[:3, 3:] = 0.01 * np.random.default_rng(0).standard_normal((3, 3))
    turn -= turn.T
    rotation = np.linalg.solve(np.eye(6) + turn / 2, np.eye(6) - turn / 2)  # Cayley: exactly so
    # Axes and bases of the fit are turned away from the points.
    split = est.split_
    object.__setattr__(split, "bases", tuple(basis @ rotation for basis in split.bases))
    local = LocalAxes(est.fitted_, 300, np.random.default_rng(0))
    found = subspace_rotation(local.leaves, deviations(local, 1.0))
    np.testing.assert_allclose(np.abs(found).max(), np.abs(turn).max(), rtol=0.1)
    np.testing.assert_allclose(found, -turn, atol=2e-3)


@pytest.mark.parametrize(("dim", "space"), [(1, 3), (2, 4), (2, 7), (3, 6)])
def test_the_chance_level_is_that_of_random_subspaces(dim, space):
    rng = np.random.default_rng(99)
    first, second = (ortho_group.rvs(space, size=2000, random_state=rng)[:, :dim] for _ in range(2))
    assert chance_angle(dim, space) == pytest.approx(
        np.median(principal_angles(first, second)), abs=0.04
    )


def test_the_tally_counts_whole_fits():
    points = gd.product_manifold("S^2 x S^1", 800, noise=0.03, random_state=0).points
    confidence = trust(fit(points, dim=3), repeats=1)
    # Two halves, noise once more, half and twice of the neighbours.
    assert confidence.found == {(2, 1): 5} and confidence.agreeing == 5
    assert [f.n for f in confidence.fits] == [400, 400, 800, 800, 800]
    assert confidence.tally == (
        "The same factors came out of 5 of 5 refits, with the dimension held at 3: the answer is "
        "repeatable, which does not make it right."
    )
    for repeated in confidence.fits:
        assert repeated.angles.shape == (2,) and (repeated.angles < 0.2).all()
    assert "sampling" in str(confidence) and "noise 0.0" in str(confidence)


def test_fits_that_find_other_factors_are_counted_as_such():
    est = fit(sphere(400, 4, np.random.default_rng(0)), dim=4, n_factors=2, flat="keep")
    est.set_params(n_factors="auto")
    confidence = trust(est, quick=True)
    assert confidence.found == {(4,): 1} and confidence.agreeing == 0
    assert confidence.tally == (
        "A refit on 200 of the points, with the dimension held at 4, gave dimensions 4 instead."
    )


def test_that_no_split_was_found_again_is_no_support():
    # A circle in noise as a surface: the dimension is wrong, and refits take it as given.
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(500)], axis=1)
    est = fit(ring + 0.1 * np.random.default_rng(1).standard_normal((500, 3)), dim=2, flat="keep")
    assert tuple(est.factor_dims_) == (2,)
    for confidence in (trust(est, quick=True), trust(est, repeats=1)):
        assert confidence.found == {(2,): len(confidence.fits)}
        said = f"{confidence.sentence} {confidence} {' '.join(confidence.bounds())}"
        assert "No split was found in" in said and "does not show that there is none" in said
        assert "with the dimension held at 2" in said
        assert not any(word in said for word in ("same factors", "err by less", "°"))


def test_refits_that_disagree_are_counted():
    confidence = replace(trust(fitted("clean"), quick=True), found={(2, 2): 3, (4,): 2})
    assert confidence.tally == (
        "The same factors came out of 3 of 5 refits, with the dimension held at 4 (dimensions 4 in "
        "2)."
    )
    one = replace(confidence, dims=(4,))
    assert one.tally == (
        "No split was found in 2 of 5 refits, with the dimension held at 4 (dimensions 2 + 2 in 3)."
    )
    assert replace(confidence, dims=(1,), found={(1,): 2}).tally.startswith("One dimension does")


def test_factors_are_matched_whatever_their_order():
    axes = ortho_group.rvs(6, size=50, random_state=0)[:, :4]
    shuffled = axes[:, [2, 3, 0, 1]]
    matched, angles = match_factors(axes, shuffled, (2, 2))
    np.testing.assert_array_equal(matched, axes)
    np.testing.assert_allclose(angles, 0, atol=1e-7)


def test_graphs_have_the_tangents_of_the_angles():
    frames = ortho_group.rvs(7, size=40, random_state=0)
    near = np.linalg.qr(np.swapaxes(frames[:, :3] + 0.1 * frames[:, 3:6], 1, 2))[0]
    near = np.swapaxes(near, 1, 2)
    graphs = graphs_over(frames[:, :3], near)
    tangents = np.linalg.norm(graphs, ord=2, axis=(1, 2))
    np.testing.assert_allclose(np.arctan(tangents), principal_angles(frames[:, :3], near))


@pytest.mark.parametrize("n", [60, 90, 200])
def test_too_few_points_are_said_and_do_not_fail(n):
    est = fit(gd.product_manifold("S^2 x S^2", n, random_state=0).points, dim=4)
    confidence = trust(est)
    known = np.isfinite(confidence.angles)
    assert known.all() or (not known.any() and "too few" in confidence.sentence)
    if n == 60:
        assert not known.any() and np.isnan(confidence.noise)


@pytest.mark.parametrize(
    ("spec", "n", "dims"),
    [("S^3", 600, (3,)), ("S^1", 200, (1,)), ("T^1 x T^1", 700, (1, 1)), ("R^2", 400, (1, 1))],
)
def test_one_factor_curves_and_flat_factors(spec, n, dims):
    est = fit(gd.product_manifold(spec, n, random_state=0).points, dim=sum(dims))
    confidence = trust(est, quick=True)
    assert confidence.dims == tuple(est.factor_dims_)
    assert confidence.angles.shape == (n, len(est.factor_dims_))
    assert np.isfinite(confidence.angles).all()
    assert str(confidence) and confidence.sentence.endswith(".")


def test_flat_factors_may_turn_among_themselves():
    sample = flat_sample("rectangle", 1000, random_state=0)
    est = fit(sample.points, dim=2)
    assert tuple(est.factor_dims_) == (1, 1)
    confidence = trust(est, quick=True)
    inside = errors_of(est, sample.tangents) <= confidence.angles
    assert inside.mean() > 0.8  # one draw of how they turn, common to all points: no upper bound
    # Not without the turn, which is most of it.
    confidence = trust(est, quick=True, repeats=0)
    assert any("do not include rotations" in note for note in confidence.notes)


def test_a_grid_of_factors_is_said_and_does_not_fail():
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.concatenate([np.repeat(circle, 40, axis=0), np.tile(circle, (40, 1))], axis=1)
    confidence = trust(fit(points, dim=2), quick=True)
    known = np.isfinite(confidence.angles)
    assert known.all() or (not known.any() and "grid" in confidence.sentence)


def test_pieces_and_copies():
    rng = np.random.default_rng(0)
    piece = gd.product_manifold("S^2 x S^1", 600, random_state=0).points
    points = np.concatenate([piece, piece[:50], 50 + 0.1 * rng.standard_normal((30, 5))])
    est = fit(points, dim=3)
    confidence = trust(est, quick=True)
    assert np.isfinite(confidence.angles[:650]).all()
    np.testing.assert_array_equal(confidence.angles[600:650], confidence.angles[:50])
    assert np.isnan(confidence.angles[650:]).all()
    assert any("outside the largest piece" in note for note in confidence.notes)


def test_seeds_threads_and_json(tmp_path):
    est = fit(gd.product_manifold("S^2 x S^1", 500, random_state=0).points)
    first, again, threads = (trust(est, quick=True, n_jobs=jobs) for jobs in (1, 1, 2))
    np.testing.assert_array_equal(first.angles, again.angles)
    np.testing.assert_array_equal(first.angles, threads.angles)
    write_json(tmp_path / "confidence.json", first.to_dict())
    kept = json.loads((tmp_path / "confidence.json").read_text())
    assert kept["found"] == {"2 + 1": 1} and len(kept["median_bound"]) == 2


def test_a_fit_can_be_asked_for_it():
    points = gd.product_manifold("S^2 x S^1", 500, random_state=0).points
    est = gd.GeoManCER(verbose=0, n_jobs=1)
    assert est.fit(points).confidence_ is None
    assert est.fit(points, confidence="quick").confidence_.quick
    with pytest.raises(InputError, match="confidence must be one of"):
        est.fit(points, confidence="sure")
    with pytest.raises(InputError, match="level must be between"):
        trust(est, level=1.5)


def test_leaves_cover_the_axes_once():
    est = fit(gd.product_manifold("S^2 x S^1 x S^1", 1000, random_state=0).points, dim=4)
    found = leaves(est.split_, 7)
    rows = np.concatenate([leaf.rows for leaf in found])
    np.testing.assert_array_equal(np.sort(rows), np.arange(4))
    for leaf in found:
        inside = est.split_.axes[:, leaf.rows] @ leaf.basis.T
        np.testing.assert_allclose((inside**2).sum(axis=(1, 2)), leaf.dim)


@pytest.mark.parametrize(
    ("n_chosen", "n_others", "enough"),
    [(10, 42, True), (300, 1000, True), (9, 1000, False), (300, 41, False), (9, 41, False)],
)
def test_fits_on_halves_need_points_to_compare_and_points_to_fit(n_chosen, n_others, enough):
    leaf = SimpleNamespace(fewest=10)  # a fit of twice so many neighbours, and the point itself
    local = SimpleNamespace(chosen=range(n_chosen), others=range(n_others), leaves=[leaf])
    local.points = range(n_chosen + n_others)
    assert (LocalAxes.lacking(local) == ()) is enough
