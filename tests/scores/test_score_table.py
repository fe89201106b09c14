"""The table as people and programs read it."""

import json
import pickle

import numpy as np
import pytest

from geodis import scores


def test_it_prints_as_a_table_and_as_markdown(everything):
    table = everything[2]
    text = str(table)
    assert text.startswith("600 rows, 4 latents, 3 factors\n")
    assert "\ninformation\n" in text and "lower is better" in text
    assert max(len(line) for line in text.split("\n\n")[1].split("\n")) < 80
    lines = table.to_markdown().split("\n")
    assert lines[0] == "| score | value | chance |  |" and lines[1] == "|---|--:|--:|--:|"
    assert len([line for line in lines if line.startswith("|")]) == len(table.frame) + 2
    assert "<table" in table._repr_html_()
    with pytest.raises(KeyError, match="elbo: rows are mig, "):
        table["elbo"]


def test_it_is_a_mapping_of_rows_to_values(everything):
    table = everything[2]
    names = list(table.frame.index)
    assert list(table) == list(table.keys()) == names and len(table) == len(names)
    assert "mig" in table and "elbo" not in table and table.get("elbo") is None
    assert dict(table) == {name: table[name] for name in names} == table.values_by_name
    assert list(table.values()) == table.frame["value"].tolist()
    again = pickle.loads(pickle.dumps(table))
    assert table == table and table != again and len({table, again}) == 2


def test_it_holds_the_parts_and_survives_json_and_pickle(everything, tmp_path):
    table = everything[2]
    assert list(table.per_factor.columns) == ["shape", "x", "y"]
    np.testing.assert_array_equal(table.per_factor.loc["mig"], table.scores["mig"].per_factor)
    path = table.to_json(tmp_path / "scores.json")
    content = json.loads(path.read_text())
    assert content["factor_names"] == ["shape", "x", "y"] and content["seed"] == 0
    assert {row["score"]: row["value"] for row in content["rows"]} == table.values_by_name
    assert np.shape(content["scores"]["mig"]["matrix"]) == (4, 3)
    again = pickle.loads(pickle.dumps(table))
    assert str(again) == str(table)
    ranks = scores.agreement([path, path, table])
    assert ranks.counts.min() == 3
