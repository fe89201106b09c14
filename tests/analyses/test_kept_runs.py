"""What is kept of runs: all of it comes back, nothing is overwritten, nothing lands elsewhere."""

import gzip
import json

import pytest

from analyses.shared.studies.kept_runs import KEPT, keep_runs, put_back
from geodis.base import InputError, write_json


def test_rows_measures_and_costs_come_back_and_models_do_not(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    names = ["runs/3f/row.json", "measured/3f.json", "cost/1.json"]
    for number, name in enumerate([*names, "runs/3f/model.json"]):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        write_json(here / name, {"number": number})
    keep_runs(here, tmp_path / KEPT)
    first = (tmp_path / KEPT).read_bytes()
    (there / "runs/3f").mkdir(parents=True)
    write_json(there / names[0], {"number": "own"})
    assert put_back(there, tmp_path / KEPT) == 2
    assert json.loads((there / names[0]).read_text()) == {"number": "own"}
    assert json.loads((there / names[1]).read_text()) == {"number": 1}
    assert not (there / "runs/3f/model.json").exists()
    keep_runs(here, tmp_path / KEPT)
    assert (tmp_path / KEPT).read_bytes() == first


@pytest.mark.parametrize("name", ["../runs/3f/row.json", "/runs/3f/row.json", "runs/3f/other.json"])
def test_what_is_no_row_of_a_run_is_refused(tmp_path, name):
    with gzip.open(tmp_path / KEPT, "wt") as file:
        file.write(json.dumps([name, {}]) + "\n")
    with pytest.raises(InputError, match="rows, measures and costs"):
        put_back(tmp_path / "there", tmp_path / KEPT)
    assert not (tmp_path / "there").exists()
