"""The page of many models: what it says is what the table holds, and texts are escaped."""

import numpy as np

from geodis.report.comparison.many_models import mean_ranks, report_many
from geodis.scores import ManyScores

BETTER = {"tc": "lower"}


def table_of(values, names=("mig", "sap", "tc"), **failures):
    found = {}
    for i, row in enumerate(values):
        rows = [
            [name, "f", "", float(x), 0.0, np.nan, np.nan, BETTER.get(name, "higher"), "", ""]
            for name, x in zip(names, row, strict=True)
        ]
        found[f"m<{i}>"] = (rows, "")
    return ManyScores.of_models(found | {name: ([], why) for name, why in failures.items()})


def test_the_page_has_every_part_and_escapes(tmp_path, rng):
    values = rng.uniform(size=(12, 3))
    table = table_of(values, bad="It has <no> rows.")
    page = report_many(table, tmp_path, source="a<b").read_text()
    for text in (
        "Spread",
        "Agreement",
        "Best and worst models",
        "It has &lt;no&gt; rows",
        "a&lt;b",
    ):
        assert text in page
    assert "m<" not in page
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        *("agreement.svg", "spread.svg")
    }
    order = mean_ranks(table)
    assert f"{order.index[0].replace('<', '&lt;').replace('>', '&gt;')} ranks best" in page


def test_ranks_turn_scores_round_for_which_lower_is_better():
    values = np.array([[0.1, 0.1, 9.0], [0.2, 0.2, 5.0], [0.3, 0.3, 1.0]])
    assert mean_ranks(table_of(values)).to_dict() == {"m<2>": 1.0, "m<1>": 0.5, "m<0>": 0.0}


def test_few_models_and_none_make_a_page_too(tmp_path):
    one = report_many(table_of([[0.5, 2.0, 3.0]]), tmp_path / "1").read_text()
    assert "Agreement" not in one and "Spread" in one
    none = report_many(table_of([], bad="Empty."), tmp_path / "0").read_text()
    assert "1 model, 0 scores, 1 model not scored." in none
