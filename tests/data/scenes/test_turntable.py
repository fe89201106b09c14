"""An object on a turntable: what the images depend on, and on what they do not."""

import numpy as np

from geodis.data.scenes.lit_object import (
    AMBIENT,
    COOL,
    WARM,
    Scenes,
    turntable_images,
    turntable_sample,
)

UP = np.array([[0.0, 1.0, 0.0]])


def test_once_around_leads_back_and_halfway_does_not():
    light = np.array([[0.6, 0.0, 0.8]])
    start, whole, half = (turntable_images([a], light, 24) for a in (0.3, 0.3 + 2 * np.pi, 3.44))
    np.testing.assert_array_equal(start, whole)
    assert np.abs(start.astype(int) - half).mean() > 5


def test_an_image_is_the_sum_of_two_lamps():
    turn = np.eye(3)[None]
    warm, cool = (
        Scenes(20, ambient=AMBIENT).render(turn, side * UP, "float32", verbose=0)
        for side in (1, -1)
    )
    expected = np.rint(255 * np.clip(warm * WARM + cool * COOL, 0, 1))
    assert np.abs(turntable_images([0.0], UP, 20) - expected).max() <= 1


def test_turning_everything_half_round_in_the_image_plane_turns_the_image():
    """At angle a from above is at angle -a from below: R_z(pi) R_y(a) R_z(pi) = R_y(-a)."""
    lights = np.array([[0.48, 0.6, 0.64]])
    mirrored = lights * [1, 1, -1]  # from behind, the other lamp takes over
    one, other = turntable_images([0.5], lights, 24), turntable_images([0.5], mirrored, 24)
    assert one.mean(axis=(0, 1, 2))[0] > other.mean(axis=(0, 1, 2))[0]  # less of the warm lamp


def test_a_sample_is_uniform_and_the_seed_is_kept():
    sample, again = (turntable_sample(400, 8, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(sample.images, again.images)
    np.testing.assert_allclose(np.linalg.norm(sample.lights, axis=1), 1)
    for mean in (np.exp(1j * sample.angles).mean(), *sample.lights.mean(axis=0)):
        assert abs(mean) < 0.2
