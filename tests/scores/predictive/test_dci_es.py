"""Explicitness and size: known curves, those of a public implementation, and codes."""

import numpy as np
import pytest

from geodis import scores
from geodis.scores.predictive.dci import explicitness_of_curve
from tests import GOLDEN

with np.load(GOLDEN / "newer_scores" / "values.npz", allow_pickle=False) as file:
    VALUES = dict(file)


@pytest.mark.parametrize("name", ["at_once", "slow", "never", "bumpy"])
def test_curves(name):
    value = explicitness_of_curve(VALUES[f"es_{name}_at"], VALUES[f"es_{name}_losses"])
    assert value == pytest.approx(float(VALUES[f"es_{name}"]), abs=1e-12)


def test_a_linear_code_is_explicit_and_a_bent_one_less():
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(1500, 2))
    linear = scores.dci_es(factors @ rng.standard_normal((2, 4)), factors, random_state=0)
    assert float(linear) > 0.999 and linear.details["size"] == 0.5
    angle = 0.9 * np.pi * factors
    bent = scores.dci_es(np.column_stack([np.cos(angle), np.sin(angle)]), factors, random_state=0)
    assert 0.6 < float(bent) < 0.98
    assert (np.diff(bent.details["losses"][[0, -1]], axis=0) < -0.1).all()
    # By its definition, what no probe can read is explicit.
    noise = scores.dci_es(rng.standard_normal((1500, 3)), factors, random_state=0)
    assert float(noise) > 0.99 and (noise.details["losses"] > 0.95).all()
