import numpy as np
import pytest

from geodis import product_manifold
from geodis.manifold.atlas.chart_fits import LocalValues, chart_fits
from geodis.manifold.atlas.charts import stepped_axes, stepped_values
from geodis.manifold.linalg import polar_rows
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.quadratic_fits import quadratic_pairs
from tests.reference import manifold as reference

PAIRS = {k: quadratic_pairs(k) for k in (1, 2, 3)}


def turned(axes, angle, generator):
    """Frames turned within their tangent spaces, differently at every point."""
    k = axes.shape[1]
    turns = np.linalg.qr(generator.standard_normal((len(axes), k, k)))[0]
    return turns @ axes if angle else axes


@pytest.mark.parametrize(("spec", "k"), [("S^1", 1), ("S^2", 2), ("S^3", 3)])
def test_bends_of_spheres_are_their_second_fundamental_form(spec, k, rng):
    """On the unit sphere D(t, t) = -x |t|^2 in every frame."""
    sample = product_manifold(spec, 3000, random_state=0)
    frames = turned(sample.tangents[0], 1, rng)
    fits = chart_fits(sample.points, frames, searcher(sample.points), 25)
    first, second = PAIRS[k]
    true = -np.where(first == second, 1.0, 0.0)[None, :, None] * sample.points[:, None]
    assert abs(fits.bends - true).mean() < 3e-3
    assert (fits.radius > 0).all()


def test_the_fourth_order_of_the_arcs_is_not_taken_for_curvature():
    """A quadratic fitted over .6 radian would be steeper by a tenth."""
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    frames = np.column_stack([-np.sin(angle), np.cos(angle)])[:, None]
    fits = chart_fits(circle, frames, searcher(circle), 9)
    assert abs(np.linalg.norm(fits.bends[:, 0], axis=1) - 1).max() < 0.01


def test_polynomials_are_those_that_the_values_are(rng):
    plane = rng.uniform(-1, 1, (400, 2))
    frames = turned(np.broadcast_to(np.eye(2), (400, 2, 2)), 1, rng)
    values = np.stack([1 + plane[:, 0] * plane[:, 1], plane[:, 1] ** 2], axis=1)
    given = [LocalValues(values, slice(0, 2))]
    (told,) = chart_fits(plane, frames, searcher(plane), 20, given).polynomials
    near = rng.integers(0, 400, 50)
    new = plane[near] + rng.uniform(-0.1, 0.1, (50, 2))
    along = np.einsum("pka,pa->pk", frames[near], new - plane[near])
    found = stepped_values(told, near, along)
    true = np.stack([1 + new[:, 0] * new[:, 1], new[:, 1] ** 2], axis=1)
    np.testing.assert_allclose(found, true, atol=1e-5)


@pytest.mark.parametrize("spec", ["S^2", "SO(3)", "torus(2, 0.7)"])
def test_compiled_fits_are_the_equations(spec, rng):
    sample = product_manifold(spec, 600, random_state=0, rotate=True)
    points, frames = sample.points, turned(sample.tangents[0], 1, rng)
    k, c = frames.shape[1:]
    search, values = searcher(points), rng.standard_normal((600, 2))
    fits = chart_fits(points, frames, search, 31, [LocalValues(values, slice(1, k))])
    first, second = PAIRS[k]
    for i in range(0, 600, 50):
        near, distances = (each[0] for each in search(points[i : i + 1], 31))
        weights = np.exp(-2 * (distances / distances[-1]) ** 2)
        chords = points[near] - points[i]
        t = chords @ frames[i].T
        told = reference.quadratic_fit(t[:, 1:], weights, values[near])
        np.testing.assert_allclose(fits.polynomials[0][i], told, rtol=1e-4, atol=1e-4)
        normal = np.eye(c) - frames[i].T @ frames[i]
        full = np.zeros((k, k, c))
        for _ in range(2):
            turns = np.einsum("ja,abc->jbc", t, full)
            arcs = np.einsum("jbc,jdc,jd->jb", turns, turns, t)
            arcs[(turns**2).sum(axis=(1, 2)) > 1] = 0
            left = chords - np.einsum("jbc,jb->jc", turns, arcs) / 8
            bends = reference.quadratic_fit(t, weights, left)[1 + k :] @ normal
            bends[first == second] *= 2
            full[first, second] = full[second, first] = bends
        np.testing.assert_allclose(fits.bends[i], bends, rtol=1e-4, atol=1e-4)


def literal_step(frame, bends, place, target):
    """The equations of `stepped_axes`, one point at a time."""
    k = len(frame)
    full = np.empty((k, k, frame.shape[1]))
    for (a, b), bend in zip(zip(*PAIRS[k], strict=True), bends, strict=True):
        full[a, b] = full[b, a] = bend

    def turn(t):
        return sum(t[b] * full[b] for b in range(k))

    t = frame @ (target - place)
    s = t + turn(t) @ turn(t).T @ t / 6
    n = turn(s)
    return polar_rows(frame + n + n @ n.T @ n / 3)


def test_compiled_steps_are_the_equations(rng):
    frames = polar_rows(rng.standard_normal((20, 3, 7)))
    bends, places = 0.3 * rng.standard_normal((20, 6, 7)), rng.standard_normal((20, 7))
    near = rng.integers(0, 20, 50)
    targets = places[near] + 0.1 * rng.standard_normal((50, 7))
    radius = np.full(20, 10.0)
    axes, along = stepped_axes(places, frames, bends, radius, near, targets)
    literal = [
        literal_step(frames[i], bends[i], places[i], target)
        for i, target in zip(near, targets, strict=True)
    ]
    np.testing.assert_allclose(axes, literal, atol=1e-7)
    np.testing.assert_allclose(
        along, np.einsum("pkc,pc->pk", frames[near], targets - places[near]), atol=1e-12
    )


@pytest.mark.parametrize(("spec", "k"), [("S^2", 2), ("SO(3)", 3)])
def test_a_step_is_exact_to_the_fourth_order_in_symmetric_spaces(spec, k):
    """Half the distance leaves an eighth of the error or less, until the bends are what errs."""
    sample = product_manifold(spec, 20_000, random_state=0)
    points, frames = sample.points, sample.tangents[0]
    bends = chart_fits(points, frames, searcher(points), 60).bends
    search, errors = searcher(points), []
    near, distances = search(points[:400], 2000)
    for far in (0.6, 0.3):
        j = near[np.arange(400), abs(distances - far).argmin(axis=1)]
        axes, _ = stepped_axes(
            points, frames, bends, np.ones(len(points)), np.arange(400), points[j]
        )
        inside = axes @ np.swapaxes(frames[j], 1, 2)
        errors.append(np.sqrt((k - (inside**2).sum(axis=(1, 2))).clip(0)).mean())
    assert errors[0] < 0.02 and errors[1] < errors[0] / 8


def test_far_off_a_step_goes_no_farther_than_its_fit():
    frames, bends = np.array([[[0.0, 1.0]]]), np.array([[[-1.0, 0.0]]])
    place, near = np.array([[1.0, 0.0]]), np.zeros(2, int)
    targets = np.array([[1.0, 0.2], [1.0, 1000.0]])
    axes, along = stepped_axes(place, frames, bends, np.full(1, 0.2), near, targets)
    np.testing.assert_allclose(along, 0.2)
    np.testing.assert_allclose(axes[1], axes[0])
    np.testing.assert_allclose(np.linalg.norm(axes, axis=2), 1)
