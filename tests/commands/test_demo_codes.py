"""Codes of images by kernel ridge regression: near what the images show, on images never seen."""

import numpy as np
import pytest

from geodis.commands.demo import learnt_codes, pixel_components
from geodis.data.scenes.lit_object import turntable_sample


@pytest.mark.parametrize("seed", [0, 1])
def test_codes_have_the_distances_of_turn_and_lamp(seed):
    rng = np.random.default_rng(seed)
    known, new = (turntable_sample(n, 24, random_state=rng) for n in (700, 100))
    codes = learnt_codes(known, *pixel_components(known.images, new.images), rng)
    told = np.column_stack([np.cos(new.angles), np.sin(new.angles), new.lights])
    apart = [np.linalg.norm(rows[:, None] - rows[None], axis=2) for rows in (codes, told)]
    assert np.abs(apart[0] - apart[1]).mean() < 0.05
    assert np.abs(codes - told).mean() > 0.3  # the columns are mixed


def test_components_are_orthogonal_and_say_most_first():
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(80, 6, 6, 3)).astype(np.uint8)
    own, new = pixel_components(images, images[:5])
    np.testing.assert_allclose(own[:5], new, atol=1e-4)
    gram = own.T @ own
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-2)
    assert (np.diff(np.diag(gram)) <= 1e-3).all()
