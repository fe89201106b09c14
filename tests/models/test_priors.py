"""Priors: uniform codes, and every prior from its configuration."""

import json

import pytest
import torch
from scipy import stats

from geodis.base.check import InputError
from geodis.models.priors import LpNested, StandardNormal, UniformCodes, prior_from_config


def test_codes_are_uniform_and_one_category_is_on():
    codes = UniformCodes(2, 3).sample(3000, random_state=0)
    assert stats.kstest(codes[:, 0], stats.uniform(-1, 2).cdf).pvalue > 1e-3
    assert torch.equal(codes[:, 2:].sum(dim=1), torch.ones(3000))
    assert set(codes[:, 2:].unique().tolist()) == {0.0, 1.0}
    assert codes[:, 2:].mean(dim=0).tolist() == pytest.approx([1 / 3] * 3, abs=0.04)


@pytest.mark.parametrize(
    "prior",
    [StandardNormal(3), UniformCodes(2, 3), LpNested((2.0, [1, (1.5, [2])]), 0.5, "subspaces")],
)
def test_a_prior_is_built_again_from_its_configuration(prior):
    config = json.loads(json.dumps(prior.config()))
    again = prior_from_config(config)
    assert str(again) == str(prior) and again.config() == prior.config()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: StandardNormal(2).log_prob(torch.zeros(4, 3)), "2 columns"),
        (lambda: UniformCodes(0, 1), "at least 2 categories; got 0 continuous and 1 categories"),
        (lambda: prior_from_config("own"), "prior of the user's own"),
    ],
)
def test_bad_input_is_said_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
