"""Of hundreds of latents the scores that would take minutes are left out, and it is said."""

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.scores import score_table as costly_scores
from geodis.scores.registry import choose_scores


def costly():
    return {entry.name for entry in choose_scores(None) if entry.cost.many_latents}


def example():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(120, 2))
    return factors @ rng.standard_normal((2, 120)), factors


def test_what_is_left_out_is_said_and_can_be_asked_for(monkeypatch):
    monkeypatch.setattr(costly_scores, "MOST_NUMBERS", 1000)
    latents, factors = example()
    options = {"intervals": 0, "dim": 2, "n_factors": 1, "out": None, "verbose": 0}
    made = gd.report(latents, factors, **options)
    assert {"mig", "mcc"} <= set(made.scores.scores)
    assert not set(made.scores.scores) & costly()
    (said,) = [text for text in made.warnings if text.startswith("Left out")]
    assert "120 latents" in said and "dci" in said and "--only infomec" in said
    asked = gd.report(latents, factors, scores=["sap", "mig"], **options)
    assert set(asked.scores.scores) == {"sap", "mig"}
    assert not any(text.startswith("Left out") for text in asked.warnings)
    assert asked.to_dict()["settings"]["scores"] == ["sap", "mig"]


def test_names_that_no_score_has_are_told_before_the_work():
    latents, factors = example()
    with pytest.raises(InputError, match="scores must be names or families of scores; got migg"):
        gd.report(latents, factors, scores="migg", out=None, verbose=0)


def test_few_latents_or_few_numbers_have_all():
    assert costly_scores.left_out((10**6, 100), 9, None) == []
    assert costly_scores.left_out((100, 1000), 5, None) == []
    named = costly_scores.left_out((1000, 200), 6, None)
    assert set(named) == costly()
