"""`geodis scores-many`: a table, a page, and sentences."""

import json

import numpy as np
import pytest

import geodis as gd


@pytest.fixture
def at(tmp_path, rng):
    """A folder with models and, among them, their factors."""
    factors = rng.integers(4, size=(120, 2))
    np.savetxt(tmp_path / "factors.csv", factors, "%d", delimiter=",", header="x,y", comments="")
    for i in range(4):
        np.savez(tmp_path / f"m{i}.npz", latents=factors + i * rng.standard_normal((120, 2)))
    return tmp_path


def test_the_command_writes_a_table_and_a_page(at, geodis):
    words = ["scores-many", at, "--factors", at / "factors.csv", "--only", "mig", "--only", "sap"]
    code, said, problem = geodis(*words, "--out", at / "t.parquet", "--page", at / "page")
    assert code == 0, problem
    assert "4 models, 2 scores" in said and str(at / "page" / "report.html") in said
    table = gd.ManyScores.read(at / "t.parquet")
    assert table.models == ("m0.npz", "m1.npz", "m2.npz", "m3.npz")
    page = (at / "page" / "report.html").read_text()
    assert page.count("<tr>") > 4 and "m0.npz ranks best" in page
    code, said, _ = geodis(*words, "--out", at / "t.parquet", "--json")
    assert code == 0 and json.loads(said)["models"] == 4


def test_what_cannot_be_done_is_one_sentence(at, geodis):
    words = ["scores-many", at, "--factors", at / "factors.csv", "--only", "mig"]
    code, _, said = geodis(*words, "--out", at / "t.txt")
    assert code == 2 and said.startswith("geodis: A table must end in")
    geodis(*words, "--out", at / "t.csv")
    code, _, said = geodis(*words, "--out", at / "t.csv", "--seed", 3)
    assert code == 2 and "random_state 3 instead of 0" in said and said.count("\n") == 1
