"""What a score returns."""

import json

import numpy as np
import pytest

from geodis.scores import mig
from geodis.scores.card import Score
from tests.scores._golden import sample


def test_prints_names_parts_numbers_and_notes():
    score = Score(
        "dci",
        0.25,
        per_factor=np.array([0.5, 0.0]),
        per_latent=np.array([1.0]),
        details={"completeness": 0.5, "method": "exact"},
        note="few rows",
        factor_names=("x", "shape"),
    )
    expected = [
        "dci 0.250",
        "  per factor  x 0.500 shape 0.000",
        "  per latent  1.000",
        "  completeness 0.500",
        "  note: few rows",
    ]
    assert str(score).splitlines() == expected == repr(score).splitlines()


def test_is_a_number_and_cannot_be_changed():
    score = mig(*sample(0))
    assert float(score) == score.value
    with pytest.raises(AttributeError):
        score.value = 1.0


def test_goes_into_json_with_undefined_parts_as_null():
    latents, factors = sample(0)
    content = json.loads(
        json.dumps(mig(latents, np.column_stack([factors, 0 * factors])).to_dict())
    )
    assert content["name"] == "mig" and content["per_factor"][3] is None
    assert np.array(content["matrix"]).shape == (4, 6)


def test_of_a_huge_matrix_the_shape_is_written():
    small, huge = (Score("pairs", 0.5, matrix=np.zeros((z, z))).to_dict() for z in (3, 400))
    assert small["matrix"] == [[0.0] * 3] * 3 and "matrix_shape" not in small
    assert huge["matrix_shape"] == [400, 400] and "matrix" not in huge
