"""Local regression gives back quadratics, and is linear where there are few values."""

import numpy as np
import pytest

from geodis.manifold.local.curved_fit_ratio import quadratic_count, regression_weights


@pytest.mark.parametrize("k", [1, 2, 5])
def test_quadratics_are_given_back_with_their_slopes(k):
    rng = np.random.default_rng(k)
    offsets = 0.01 * (0.3 + rng.standard_normal((3, quadratic_count(k), k)))
    value, slope, bend = 2.0, rng.standard_normal(k), rng.standard_normal((k, k))
    values = value + offsets @ slope + np.einsum("sca,ab,scb->sc", offsets, bend, offsets)
    told = np.einsum("sqc,sc->sq", regression_weights(offsets), values)
    np.testing.assert_allclose(told, np.tile([value, *slope], (3, 1)), atol=1e-4)


def test_few_values_are_fitted_by_a_line():
    offsets = np.random.default_rng(0).standard_normal((1, 5, 1))
    values = 1 + 3 * offsets[..., 0]
    told = np.einsum("sqc,sc->sq", regression_weights(offsets), values)
    np.testing.assert_allclose(told, [[1, 3]], atol=1e-6)


def test_weights_do_not_depend_on_units():
    offsets = np.random.default_rng(0).standard_normal((1, 60, 2))
    value, slopes = np.split(regression_weights(offsets), [1], axis=1)
    far, flatter = np.split(regression_weights(100 * offsets), [1], axis=1)
    np.testing.assert_allclose(far, value, atol=1e-9)
    np.testing.assert_allclose(100 * flatter, slopes, atol=1e-9)
