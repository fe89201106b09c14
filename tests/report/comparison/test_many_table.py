"""The table of many scored models is compared: over seeds in folders, or its two ends."""

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.scores import score_many


def scored(names, noise, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.integers(4, size=(300, 2))
    latents = {
        name: factors + size * rng.standard_normal((300, 2))
        for name, size in zip(names, noise, strict=True)
    }
    return score_many(latents, factors, ["mig", "modularity", "dci"], verbose=0)


def test_files_in_folders_are_seeds_and_have_chance(tmp_path):
    names = [f"{model}/{seed}" for model in ("good", "bad") for seed in range(4)]
    table = scored(names, [0.1] * 4 + [1.0] * 4)
    made = gd.compare(table, out=tmp_path)
    assert made.runs.models == ("good",) * 4 + ("bad",) * 4
    assert made.ranking[0].startswith("good") and made.ranking[-1].startswith("bad")
    mig = next(one for one in made.scores.differences if one.score == "mig")
    assert (mig.first, mig.by, mig.beyond_noise) == ("good", "seeds", True) and mig.difference > 0.3
    assert made.scores.chance.notna().all(axis=None)
    first = table.frame[table.frame["model"] == "bad/2"].set_index("score")
    assert made.scores.value.at["mig", "bad/2"] == first.at["mig", "value"]
    assert not any("chance" in text for text in made.warnings)
    page = made.path.read_text()
    assert 'id="section-differences"' in page and 'id="card-mig"' in page


def test_a_frame_is_taken_and_models_may_be_named():
    table = scored(["a", "b", "c", "d"], [0.1, 0.1, 1, 1])
    alone = gd.compare(table.frame, out=None)
    assert alone.runs.models == ("a", "b", "c", "d") and alone.scores.differences == []
    assert any("equally many seeds of every model" in text for text in alone.warnings)
    named = gd.compare(table, models=["x", "x", "y", "y"], out=None)
    assert {one.by for one in named.scores.differences} == {"seeds"}
    with pytest.raises(InputError, match="one entry for each of the 4 runs; got 1"):
        gd.compare(table, models=["x"], out=None)


def test_of_many_models_the_best_and_the_worst_are_shown():
    names = [f"m{i:02}" for i in range(30)]
    made = gd.compare(scored(names, np.linspace(0.05, 1.5, 30)), out=None)
    assert len(made.ranking) == 24 and made.ranking[0] < "m06" and made.ranking[-1] > "m23"
    assert any("best and the worst 12 of 30" in text for text in made.warnings)


def test_one_model_is_no_comparison():
    with pytest.raises(InputError, match="at least two models with scores; got 1"):
        gd.compare(scored(["a"], [0.1]), out=None)
