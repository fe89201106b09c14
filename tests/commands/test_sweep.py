"""`geodis sweep`: a grid in a file, its table, and one sentence about files that mean nothing."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from geodis.commands.sweep import found_from_anywhere
from geodis.models import sweep

GRID = """
seeds = 2
scores = ["mig"]
score_at = [2]
n = 20

[training]
steps = 4
batch_size = 8

[data.dots]
images = "{folder}/x.npy"
factors = "{folder}/f.csv"

[[models]]
model = "beta-vae"
latents = 2
network = "vector"
beta = [1.0, 4.0]

[[models]]
model = "annealed-vae"
latents = 2
network = "vector"
schedules = {{ capacity = [1.0, 5.0] }}
"""


@pytest.fixture
def study(tmp_path):
    factors = np.stack(np.unravel_index(np.arange(20), (5, 4)), axis=1)
    pictures = np.zeros((20, 8, 8), dtype=np.uint8)
    pictures[np.arange(20), factors[:, 0], factors[:, 1]] = 255
    np.save(tmp_path / "x.npy", pictures)
    pd.DataFrame(factors, columns=["row", "column"]).to_csv(tmp_path / "f.csv", index=False)
    (tmp_path / "study.toml").write_text(GRID.format(folder=tmp_path.as_posix()))
    return tmp_path


def test_a_grid_becomes_a_table_and_goes_on(geodis, study):
    command = ("sweep", study / "study.toml", "--out", study / "out", "--quiet")
    code, out, err = geodis(*command)
    assert (code, err) == (0, "") and "6 runs, 6 of them trained now" in out
    for name in ("table.csv", "table.parquet", "runs"):
        assert str(study / "out" / name) in out
    table = pd.read_csv(study / "out" / "table.csv")
    assert len(table) == 12 and table["beta"].nunique() == 2
    assert table["schedules"].dropna().unique().tolist() == ["{'capacity': [1.0, 5.0]}"]
    code, out, _ = geodis(*command, "--json")
    assert json.loads(out)["trained"] == 0 and json.loads(out)["planned"] == 6
    run = study / "out" / "runs" / table["run"][0]
    code, _, err = geodis("encode", run, "--images", study / "x.npy", "--out", study / "z.npz")
    assert (code, err) == (0, "")


def test_a_table_of_others_is_kept_and_that_of_a_sweep_is_replaced(geodis, study):
    command = ("sweep", study / "study.toml", "--out", study / "out", "--quiet")
    (study / "out").mkdir()
    (study / "out" / "table.csv").write_text("mine")
    code, _, err = geodis(*command)
    assert code == 2 and "with table.csv: choose another folder" in err
    assert [path.read_text() for path in (study / "out").iterdir()] == ["mine"]
    (study / "out" / "table.csv").unlink()
    assert geodis(*command)[0] == 0
    (study / "out" / ".geodis-written.json").unlink()  # as after a sweep from Python
    assert geodis(*command)[0] == 0


def test_an_interrupt_says_how_it_goes_on(geodis, study, monkeypatch):
    def stop(*arguments, **options):
        sweep(*arguments, **{**options, "seeds": 1})
        raise KeyboardInterrupt

    monkeypatch.setattr("geodis.models.sweep", stop)
    command = ("sweep", study / "study.toml", "--out", study / "out", "--quiet")
    code, _, err = geodis(*command)
    assert code == 130 and "keeps what is done; the same command continues from there" in err
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("seeds = 2", "seeds = ", "cannot be read as TOML"),
        ("seeds = 2", "seed = 2", "may have models, data, .*; got seed"),
        ("[[models]]", "[[model]]", "may have models, data, .*; got model"),
        ('model = "beta-vae"', 'model = "vat"', "The model must be one of"),
        ("beta = [1.0, 4.0]", "gamma = 3", "BetaVAE has the settings beta; got gamma"),
        ("steps = 4", "step = 4", "The sweep trains by steps"),
        ("factors =", "spacing = 3 # ", "--spacing needs --data; got --images"),
        ("factors =", "# ", "needs factors for its images"),
        ("images =", "pictures =", "A source of data has data, .*; got pictures"),
        ("[data.dots]", "[data]", r"must have a table \[data.images\]"),
        ("seeds = 2", 'seeds = "2"', "seeds must be an integer; got '2'"),
        ('model = "beta-vae"', "model = 5", "The model must be one of .*; got 5"),
        ('model = "beta-vae"', 'model = ["vae", 5]', "The model must be one of .*; got 5"),
        ("beta = [1.0, 4.0]", "beta = []", "beta must have at least one value"),
        ("beta = [1.0, 4.0]", "schedules = 5", "schedules must be a table"),
        ("beta = [1.0, 4.0]", "schedules = { beta = 4.0 }", "schedules must be a table"),
        ("beta = [1.0, 4.0]", 'prior = "x"', "prior is a torch module"),
        ("beta = [1.0, 4.0]", 'loss = "box:30"', "more than 30 pixels"),
        (
            'model = "beta-vae"\nlatents = 2\nnetwork = "vector"\nbeta = [1.0, 4.0]',
            'model = "isa-vae"\nnetwork = "vector"\nsubspaces = [[2.2, 2], [2.2, 2]]',
            r"a setting that is a list stands in a list, as subspaces = \[\[",
        ),
    ],
)
def test_a_file_that_means_nothing_gets_one_sentence(before, after, message, geodis, study):
    file = study / "study.toml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    code, _, err = geodis("sweep", file, "--out", study / "out", "--quiet")
    assert code == 2 and len(err.strip().splitlines()) == 1

    assert re.search(message, err), err


def test_a_file_that_is_not_there_is_missed(geodis, tmp_path):
    code, _, err = geodis("sweep", tmp_path / "no.toml", "--out", tmp_path / "out")
    assert code == 2 and "must be a .toml file; got No such file" in err


def test_seeds_may_begin_elsewhere(geodis, study):
    command = ("sweep", study / "study.toml", "--out", study / "out", "--quiet", "--seed")
    assert geodis(*command, 3)[0] == 0
    assert pd.read_csv(study / "out" / "table.csv")["seed"].unique().tolist() == [3, 4]
    file = study / "study.toml"
    file.write_text(file.read_text().replace("seeds = 2", "seeds = [5, 6]"))
    code, _, err = geodis(*command, 3)
    assert code == 2 and "--seed needs seeds = N in the file; got seeds = [5, 6]" in err


def test_paths_are_the_same_from_another_directory(study, monkeypatch):
    monkeypatch.chdir(study)
    picture = {"variant": "scream", "picture": "p.jpg"}
    source = found_from_anywhere({"images": "x.npy", "factors": "f.csv", **picture})
    assert source.given() == {
        "images": str(study / "x.npy"),
        "factors": str(study / "f.csv"),
        "variant": "scream",
        "picture": str(study / "p.jpg"),
    }
    assert found_from_anywhere({"data": "sprites"}).given() == {"data": "sprites"}


def test_training_is_a_table_of_the_file(geodis, study):
    file = study / "study.toml"
    text = file.read_text().replace("seeds = 2", "seeds = 2\ntraining = [1]")
    file.write_text(text.replace("[training]\nsteps = 4\nbatch_size = 8\n", ""))
    code, _, err = geodis("sweep", file, "--out", study / "out", "--quiet")
    assert code == 2 and "training must be a table" in err


def test_help_names_what_a_file_may_say(geodis):
    code, out, _ = geodis("sweep", "--help")
    assert code == 0 and all(name in out for name in ("n = 2000", "threads = 1", "stack = 32"))
