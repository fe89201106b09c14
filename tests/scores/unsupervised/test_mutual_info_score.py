"""Information between latents."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodis import scores
from tests.reference import intervention_and_unsupervised as slow


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), bins=st.integers(2, 25))
def test_information_equals_the_twin(seed, bins):
    rng = np.random.default_rng(seed)
    latents = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 3))
    latents[:, 0] = np.round(latents[:, 0])
    score = scores.mutual_info_score(latents, bins=bins)
    assert float(score) == pytest.approx(slow.mutual_info_score(latents, bins), abs=1e-10)
    np.testing.assert_allclose(score.matrix, score.matrix.T)
    assert (score.matrix.max(axis=1) <= np.diag(score.matrix) + 1e-12).all()
