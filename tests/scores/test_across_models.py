"""Agreement of scores across models, and the variance that settings explain."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from geodis import scores
from geodis.base.check import InputError


def models(seed, n=40):
    rng = np.random.default_rng(seed)
    quality = rng.uniform(size=n)
    return pd.DataFrame(
        {
            "mig": quality + 0.05 * rng.standard_normal(n),
            "sap": np.exp(3 * quality),
            "tc": -quality,
            "noise": rng.uniform(size=n),
            "same": np.full(n, 0.5),
        }
    )


def test_correlations_are_those_of_scipy_and_signs_are_kept():
    for seed in range(3):
        frame = models(seed)
        found = scores.agreement(frame)
        for i, first in enumerate(found.names[:4]):
            for j, second in enumerate(found.names[:4]):
                expected = stats.spearmanr(frame[first], frame[second]).statistic
                assert found.matrix[i, j] == pytest.approx(expected, abs=1e-12)
        assert found.frame.loc["sap", "tc"] == pytest.approx(-1)
        assert np.isnan(found.frame.loc["same"]).all()
        assert found.pairs().iloc[0]["correlation"] < -0.9


def test_mappings_sequences_files_and_missing_scores(tmp_path):
    values = models(1, n=6)
    rows = [dict(row) for _, row in values.iterrows()]
    del rows[2]["sap"]
    found = scores.agreement(rows)
    assert found.counts[0, 1] == 5 and found.counts[0, 0] == 6
    named = scores.agreement({f"model {i}": row for i, row in enumerate(rows)})
    np.testing.assert_array_equal(named.matrix, found.matrix)
    assert named.values.index[3] == "model 3"
    paths = []
    for i, row in enumerate(rows):
        table = {"rows": [{"score": name, "value": value} for name, value in row.items()]}
        paths.append(tmp_path / f"{i}.json")
        paths[-1].write_text(json.dumps(table))
    np.testing.assert_array_equal(scores.agreement(paths).matrix, found.matrix)
    paths[0].write_text("{}")
    with pytest.raises(InputError, match=r"0\.json is not a score table"):
        scores.agreement(paths)


def test_agreement_says_what_it_needs():
    with pytest.raises(InputError, match="three at least; 2 came"):
        scores.agreement(models(0).iloc[:2])
    with pytest.raises(InputError, match="two scores at least; 1 came"):
        scores.agreement(models(0)[["mig"]])
    with pytest.raises(InputError, match="tables must be a sequence"):
        scores.agreement(3)
    with pytest.raises(InputError, match="a table must be a ScoreTable"):
        scores.agreement([1.0, 2.0, 3.0])


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
            found = scores.variance_explained(frame, by=by)
            keys = frame[[by] if isinstance(by, str) else by].astype(str).agg("|".join, axis=1)
            design = pd.get_dummies(keys).to_numpy(float)
            fit = design @ np.linalg.lstsq(design, frame["mig"], rcond=None)[0]
            r2 = (
                1
                - ((frame["mig"] - fit) ** 2).sum()
                / ((frame["mig"] - frame["mig"].mean()) ** 2).sum()
            )
            assert found.loc["mig", "explained"] == pytest.approx(r2, abs=1e-10)
            assert found.loc["mig", "groups"] == design.shape[1]
            assert found.loc["mig", "adjusted"] < r2


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
    found = scores.variance_explained(frame, by="objective")
    assert found.loc["exact", "explained"] == pytest.approx(1)
    assert found.loc["random", "adjusted"] == pytest.approx(0, abs=0.05)
    assert np.isnan(found.loc["same", "explained"])
    assert found.loc["exact", "models"] == 160 and found.loc["exact", "groups"] == 4
    every = scores.variance_explained(frame.iloc[:4], by=["objective", "seed"])
    assert np.isnan(every.loc["exact", "adjusted"])


def test_variance_explained_says_what_it_needs():
    frame = models(0)
    with pytest.raises(InputError, match=r"columns of the table \(mig, .*; objective came"):
        scores.variance_explained(frame, by="objective")
    with pytest.raises(InputError, match="table must be a frame"):
        scores.variance_explained({"mig": [1]}, by="mig")
    with pytest.raises(InputError, match="no column of numbers"):
        scores.variance_explained(frame[["mig"]], by="mig")
