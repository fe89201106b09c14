"""Klein bottle, Moebius band, torus knots and CP^k against their formulas and derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from geodis.base.check import InputError
from geodis.data.manifolds.products import product_manifold

STEP = 1e-6


def klein(x, R, r):
    """The angles of points of a Klein bottle, and the map from the angles."""
    a = np.arctan2(x[:, 1], x[:, 0])
    high = x[:, 2] * np.cos(a / 2) + x[:, 3] * np.sin(a / 2)
    b = np.arctan2(high, np.hypot(x[:, 0], x[:, 1]) - R)

    def place(a, b):
        wide, high = R + r * np.cos(b), r * np.sin(b)
        flat = [wide * np.cos(a), wide * np.sin(a)]
        return np.stack([*flat, high * np.cos(a / 2), high * np.sin(a / 2)], axis=1)

    return (a, b), place


def moebius(x, R):
    a = np.arctan2(x[:, 1], x[:, 0])
    out = np.hypot(x[:, 0], x[:, 1]) - R
    s = out * np.cos(a / 2) + x[:, 2] * np.sin(a / 2)

    def place(a, s):
        wide = R + s * np.cos(a / 2)
        return np.stack([wide * np.cos(a), wide * np.sin(a), s * np.sin(a / 2)], axis=1)

    return (a, s), place


def knot(x, p, q):
    """The angle t of torus-knot points, from the two angles of the torus."""
    t = np.linspace(0, 2 * np.pi, 200_001)

    def place(t):
        wide = 2 + np.cos(q * t)
        return np.stack([wide * np.cos(p * t), wide * np.sin(p * t), np.sin(q * t)], axis=1)

    curve = place(t)
    nearest = [t[np.argmin(((curve - row) ** 2).sum(axis=1))] for row in x]
    return (np.array(nearest),), place


CASES = {
    "Klein(2, .8)": (2, 4, lambda x: klein(x, 2, 0.8)),
    "Moebius(1.5, .5)": (2, 3, lambda x: moebius(x, 1.5)),
    "knot(2, 3)": (1, 3, lambda x: knot(x, 2, 3)),
    "knot(3, 1)": (1, 3, lambda x: knot(x, 3, 1)),
}


@pytest.mark.parametrize("spec", CASES)
def test_points_are_on_it_and_frames_are_its_derivatives(spec):
    dim, ambient, read = CASES[spec]
    sample = product_manifold(spec, 60, random_state=3)
    assert sample.points.shape == (60, ambient) and sample.dim == dim
    numbers, place = read(sample.points)
    assert_allclose(place(*numbers), sample.points, atol=3e-4 if dim == 1 else 1e-12)
    for k in range(dim):
        ahead = place(*(u + STEP * (j == k) for j, u in enumerate(numbers)))
        back = place(*(u - STEP * (j == k) for j, u in enumerate(numbers)))
        velocity = (ahead - back) / (2 * STEP)
        velocity /= np.linalg.norm(velocity, axis=1, keepdims=True)
        along = np.einsum("nd,nd->n", velocity, sample.tangents[0][:, k])
        assert_allclose(np.abs(along), 1, atol=1e-6)  # a and a + 2 pi have opposite signs
    gram = sample.tangents[0] @ sample.tangents[0].swapaxes(1, 2)
    assert_allclose(gram, np.broadcast_to(np.eye(dim), gram.shape), atol=1e-12)


def test_points_are_uniform_in_length_and_area():
    # The density over the angle is the speed: compare the mean of a function of the angle.
    (b_angles, _) = klein(product_manifold("Klein(2, .8)", 40_000, random_state=0).points, 2, 0.8)
    b = np.linspace(-np.pi, np.pi, 20_001)[:-1]
    stretch = np.hypot(2 + 0.8 * np.cos(b), 0.4 * np.sin(b))
    expected = (np.cos(b) * stretch).mean() / stretch.mean()
    assert abs(np.cos(b_angles[1]).mean() - expected) < 4 / np.sqrt(2 * 40_000)
    (_, s), _ = moebius(product_manifold("Moebius(1.5, .5)", 40_000, random_state=0).points, 1.5)
    assert abs(np.abs(s).mean() - 0.25) < 0.01


def test_complex_projective_lines_are_a_sphere():
    sample = product_manifold("CP^1", 200, random_state=0)
    centre = sample.points - [0.5, 0.5, 0, 0]
    assert_allclose(np.linalg.norm(centre, axis=1), np.sqrt(0.5), atol=1e-12)


def test_complex_projectors_their_metric_and_tangents():
    sample = product_manifold("CP^2", 40, random_state=1)
    x = sample.points
    matrices = np.zeros((40, 3, 3), complex)
    i, j = np.triu_indices(3, 1)
    matrices[:, i, j] = (x[:, 3:6] + 1j * x[:, 6:]) / np.sqrt(2)
    matrices += matrices.conj().swapaxes(1, 2)
    matrices[:, range(3), range(3)] = x[:, :3]
    assert_allclose(matrices @ matrices, matrices, atol=1e-12)
    assert_allclose(np.trace(matrices, axis1=1, axis2=2), 1, atol=1e-12)
    assert_allclose(pdist(x), pdist(matrices.reshape(40, -1).view(float)), atol=1e-12)
    frames = sample.tangents[0]
    assert_allclose(frames @ frames.swapaxes(1, 2), np.tile(np.eye(4), (40, 1, 1)), atol=1e-12)
    # A tangent T of projectors has P T + T P = T.
    tangent = np.zeros((40, 4, 3, 3), complex)
    tangent[..., i, j] = (frames[..., 3:6] + 1j * frames[..., 6:]) / np.sqrt(2)
    tangent += tangent.conj().swapaxes(-1, -2)
    tangent[..., range(3), range(3)] = frames[..., :3]
    both = matrices[:, None] @ tangent + tangent @ matrices[:, None]
    assert_allclose(both, tangent, atol=1e-12)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("Klein(1, 2)", r"Klein\(R, r\) needs R > r > 0"),
        ("Moebius(1, 1)", r"Moebius\(R, w\) needs R > w > 0"),
        ("knot(2, 4)", r"knot\(p, q\) needs integers p, q >= 1 without common divisor"),
        ("CP^0", r"CP\^k needs an integer k >= 1"),
    ],
)
def test_wrong_numbers_are_refused(spec, says):
    with pytest.raises(InputError, match=says):
        product_manifold(spec, 5)
