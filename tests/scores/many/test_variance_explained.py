"""What explains the differences of scores."""

import numpy as np
import pandas as pd
import pytest

from geodis import scores
from geodis.base.check import InputError
from tests.scores.many.conftest import models


def test_explained_variance_is_the_r2_of_a_regression_on_indicators():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "objective": rng.choice(list("abc"), 60),
                "strength": rng.choice([1, 2], 60),
                "mig": rng.standard_normal(60),
            }
        )
        frame["mig"] += frame["objective"].map({"a": 0, "b": 1, "c": 2})
        for by in ("objective", ["objective", "strength"]):
            explained = scores.variance_explained(frame, by=by)
            keys = frame[[by] if isinstance(by, str) else by].astype(str).agg("|".join, axis=1)
            design = pd.get_dummies(keys).to_numpy(float)
            fit = design @ np.linalg.lstsq(design, frame["mig"], rcond=None)[0]
            r2 = (
                1
                - ((frame["mig"] - fit) ** 2).sum()
                / ((frame["mig"] - frame["mig"].mean()) ** 2).sum()
            )
            assert explained.loc["mig", "explained"] == pytest.approx(r2, abs=1e-10)
            assert explained.loc["mig", "groups"] == design.shape[1]
            assert explained.loc["mig", "adjusted"] < r2


def test_what_explains_everything_and_what_explains_nothing():
    frame = pd.DataFrame(
        {
            "objective": list("aabbccdd") * 20,
            "seed": np.arange(160) % 2,
            "exact": list(np.repeat([1.0, 2.0, 3.0, 5.0], 2)) * 20,
            "random": np.random.default_rng(0).standard_normal(160),
            "same": np.full(160, 0.1),
        }
    )
    explained = scores.variance_explained(frame, by="objective")
    assert explained.loc["exact", "explained"] == pytest.approx(1)
    assert explained.loc["random", "adjusted"] == pytest.approx(0, abs=0.05)
    assert np.isnan(explained.loc["same", "explained"])
    assert explained.loc["exact", "models"] == 160 and explained.loc["exact", "groups"] == 4
    every = scores.variance_explained(frame.iloc[:4], by=["objective", "seed"])
    assert np.isnan(every.loc["exact", "adjusted"])


def test_variance_explained_says_what_it_needs():
    frame = models(0)
    with pytest.raises(InputError, match=r"columns of the table \(mig, .*; got objective"):
        scores.variance_explained(frame, by="objective")
    with pytest.raises(InputError, match="table must be a frame"):
        scores.variance_explained({"mig": [1]}, by="mig")
    with pytest.raises(InputError, match="no column of numbers"):
        scores.variance_explained(frame[["mig"]], by="mig")
