"""The strength of a dependence: known answers, and what leaves it alone or gives nothing."""

import numpy as np
import pytest

from geodis.manifold.confidence.stretch import LocalStretch, stretch_dependence
from tests.conftest import sphere


def frames_of(points, rng):
    """Orthonormal columns that span the tangent planes of the sphere, turned at random."""
    first = np.cross(points, rng.standard_normal(points.shape))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(points, first)], axis=2)


def in_frames(frames, ambient):
    return np.swapaxes(frames, 1, 2) @ ambient @ frames


@pytest.fixture
def spheres(rng):
    first, second = sphere(2500, 2, rng), sphere(2500, 2, rng)
    return first, second, frames_of(first, rng), rng.integers(120, size=2500)


@pytest.mark.parametrize("change", [0.02, 0.1])
def test_a_warp_has_the_spread_of_its_factor(spheres, change):
    first, second, frames, blocks = spheres
    logs = change * second[:, 2, None, None] * np.eye(2)
    found, scale = stretch_dependence(LocalStretch(first, frames, logs, 1.0), second, blocks)
    assert found.value == pytest.approx(change / np.sqrt(3), rel=0.05)
    assert scale.value == pytest.approx(found.value, rel=0.05)
    assert found.null < found.low < found.value < found.high


def shear(frames, second):
    """What is stretched along x_1 is shrunk along x_2, by what the other factor says."""
    shape = np.diag([1.0, -1.0, 0.0])
    ambient = 0.1 * second[:, 2, None, None] * shape
    logs = in_frames(frames, ambient)
    return logs - np.trace(logs, axis1=1, axis2=2)[:, None, None] / 2 * np.eye(2)


def test_a_change_of_shape_is_seen_by_the_tensor_alone(spheres):
    first, second, frames, blocks = spheres
    own = LocalStretch(first, frames, shear(frames, second), 1.0)
    tensor, scale = stretch_dependence(own, second, blocks)
    true = np.sqrt((own.logs**2).sum(axis=(1, 2)).mean() / 4)
    assert tensor.value == pytest.approx(true, rel=0.1)
    assert abs(scale.value) < 1e-4
    assert tensor.low > tensor.null


def test_a_change_that_is_zero_on_average_over_the_factor_is_seen(spheres):
    first, second, frames, blocks = spheres
    logs = (0.1 * first[:, 0] * second[:, 0])[:, None, None] * np.eye(2)
    found, _ = stretch_dependence(LocalStretch(first, frames, logs, 1.0), second, blocks)
    assert found.value == pytest.approx(0.1 / 3, rel=0.15)


def test_what_depends_on_the_factor_alone_is_nothing(spheres):
    first, second, frames, blocks = spheres
    logs = (0.3 * first[:, 0] + 0.2 * first[:, 1] ** 2)[:, None, None] * np.eye(2)
    found, _ = stretch_dependence(LocalStretch(first, frames, logs, 1.0), second, blocks)
    assert abs(found.value) < 0.004


def test_the_frames_do_not_matter(spheres, rng):
    first, second, frames, blocks = spheres
    own = LocalStretch(first, frames, shear(frames, second), 1.0)
    angle = rng.uniform(0, 2 * np.pi, len(first))
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([cos, -sin], axis=1), np.stack([sin, cos], axis=1)], axis=1)
    other = LocalStretch(first, frames @ turn, in_frames(turn, own.logs), 1.0)
    one, same = (stretch_dependence(each, second, blocks)[0] for each in (own, other))
    assert same.value == pytest.approx(one.value, rel=1e-9)
    assert same.null == pytest.approx(one.null, rel=1e-9)


def test_errors_alone_stay_below_the_null_in_most_draws():
    above = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        first, second = sphere(800, 2, rng), sphere(800, 2, rng)
        noise = rng.standard_normal((800, 2, 2))
        own = LocalStretch(first, frames_of(first, rng), noise + np.swapaxes(noise, 1, 2), 1.0)
        found, _ = stretch_dependence(own, second, rng.integers(100, size=800))
        above += found.value > found.null
    assert above <= 4
