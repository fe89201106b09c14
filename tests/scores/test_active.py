"""Latents that say nothing."""

import numpy as np

from geodis.scores.inputs import varies


def test_what_varies_does_not_depend_on_scale():
    latents = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    for scale in (1e-300, 1.0, 1e300):
        assert varies(latents * scale).tolist() == [True, False]
