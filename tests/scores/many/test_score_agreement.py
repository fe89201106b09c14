"""Which scores agree across models."""

import json

import numpy as np
import pytest
from scipy import stats

from geodis import scores
from geodis.base.check import InputError
from tests.scores.many.conftest import models


def test_correlations_are_those_of_scipy_and_signs_are_kept():
    for seed in range(3):
        frame = models(seed)
        ranks = scores.agreement(frame)
        for i, first in enumerate(ranks.names[:4]):
            for j, second in enumerate(ranks.names[:4]):
                expected = stats.spearmanr(frame[first], frame[second]).statistic
                assert ranks.matrix[i, j] == pytest.approx(expected, abs=1e-12)
        assert ranks.frame.loc["sap", "tc"] == pytest.approx(-1)
        assert np.isnan(ranks.frame.loc["same"]).all()
        assert ranks.pairs().iloc[0]["correlation"] < -0.9


def test_mappings_sequences_files_and_missing_scores(tmp_path):
    values = models(1, n=6)
    rows = [dict(row) for _, row in values.iterrows()]
    del rows[2]["sap"]
    ranks = scores.agreement(rows)
    assert ranks.counts[0, 1] == 5 and ranks.counts[0, 0] == 6
    named = scores.agreement({f"model {i}": row for i, row in enumerate(rows)})
    np.testing.assert_array_equal(named.matrix, ranks.matrix)
    assert named.values.index[3] == "model 3"
    paths = []
    for i, row in enumerate(rows):
        table = {"rows": [{"score": name, "value": value} for name, value in row.items()]}
        paths.append(tmp_path / f"{i}.json")
        paths[-1].write_text(json.dumps(table))
    np.testing.assert_array_equal(scores.agreement(paths).matrix, ranks.matrix)
    paths[0].write_text("{}")
    with pytest.raises(InputError, match=r"0\.json is not a score table"):
        scores.agreement(paths)


def test_agreement_says_what_it_needs():
    with pytest.raises(InputError, match="three at least; got 2"):
        scores.agreement(models(0).iloc[:2])
    with pytest.raises(InputError, match="two scores at least; got 1"):
        scores.agreement(models(0)[["mig"]])
    with pytest.raises(InputError, match="tables must be a sequence"):
        scores.agreement(3)
    with pytest.raises(InputError, match="a table must be a ScoreTable"):
        scores.agreement([1.0, 2.0, 3.0])
