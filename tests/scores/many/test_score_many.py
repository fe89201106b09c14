"""Rows are those of `score_latents` of each model, whatever engine, order of ends or kills."""

import csv
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

import geodis as gd
from geodis.base.check import InputError
from geodis.base.engine import SerialEngine
from geodis.base.journal import Journal
from geodis.scores.many import score_many as module
from geodis.scores.many.many_scores import COLUMNS
from tests import ROOT

N = 200
SCORES = ["mig", "factor_vae"]


@pytest.fixture
def factors(rng):
    return rng.integers(4, size=(N, 2))


@pytest.fixture
def folder(tmp_path, factors, rng):
    """Eight good models, and bad ones between them."""
    folder = tmp_path / "models"
    (folder / "deeper").mkdir(parents=True)
    for i in range(8):
        noise = rng.standard_normal((N, 3)) * 0.2 * i
        path = folder / ("deeper" if i > 5 else ".") / f"m{i}.npy"
        np.save(path, np.column_stack([factors, factors[:, 0]]) + noise)
    (folder / "m2x.npy").write_bytes(b"not an array")
    np.save(folder / "m3x.npy", np.zeros((7, 2)))
    np.savez(folder / "m4x.npz", a=np.zeros((N, 2)), b=np.zeros((N, 2)))
    (folder / "notes.md").write_text("no array")
    np.save(folder / ".hidden.npy", np.zeros((N, 2)))
    return folder


def counted(monkeypatch):
    """A list of the models that are scored from now on."""
    scored, original = [], module._score_model

    def noted(source, *more):
        scored.append(source.name)
        return original(source, *more)

    monkeypatch.setattr(module, "_score_model", noted)
    return scored


def test_rows_are_those_of_each_model_alone(folder, factors):
    table = gd.score_many(folder, factors, SCORES, verbose=0, random_state=5)
    good = ["deeper/m6.npy", "deeper/m7.npy", *(f"m{i}.npy" for i in range(6))]
    assert list(table.values.index) == good
    for name in good:
        alone = gd.score_latents(
            np.load(folder / name), factors, SCORES, verbose=0, random_state=5
        ).frame
        rows = table.frame[table.frame["model"] == name].set_index("score")
        assert_frame_equal(rows[["value", "chance"]], alone[["value", "chance"]])
    assert list(table.models) == sorted([*good, "m2x.npy", "m3x.npy", "m4x.npz"])
    reasons = table.failures
    assert "cannot be read as .npy" in reasons["m2x.npy"]
    assert reasons["m3x.npy"].endswith("must have as many rows; got 7 and 200.")
    assert set(reasons) == {"m2x.npy", "m3x.npy", "m4x.npz"}


def test_two_workers_write_the_same_bytes(folder, factors, tmp_path, client, monkeypatch):
    for name, cluster in (("serial.parquet", None), ("two.parquet", client)):
        gd.score_many(folder, factors, SCORES, cluster=cluster, out=tmp_path / name, verbose=0)
    assert (tmp_path / "serial.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    monkeypatch.setattr(module, "_groups", lambda sources, engine: iter([list(sources)]))
    gd.score_many(folder, factors, SCORES, out=tmp_path / "together.parquet", verbose=0)
    together = (tmp_path / "together.parquet").read_bytes()
    assert together == (tmp_path / "serial.parquet").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_a_worker_killed_on_the_way_changes_nothing(folder, factors, tmp_path, client, monkeypatch):
    gd.score_many(folder, factors, SCORES, out=tmp_path / "whole.csv", verbose=0)
    left = list(client.run(os.getpid).values())[:1]
    add = Journal.add

    def deadly(self, name, value):
        add(self, name, value)
        while left:
            os.kill(left.pop(), signal.SIGKILL)

    monkeypatch.setattr(Journal, "add", deadly)
    gd.score_many(folder, factors, SCORES, cluster=client, out=tmp_path / "t.csv", verbose=0)
    assert not left
    assert (tmp_path / "t.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


COMMAND = """
import os, signal
from geodis.scores.many import score_many as module
from geodis.base.journal import Journal
add, left = Journal.add, [{after}]
def killed(self, name, value):
    add(self, name, value)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
Journal.add = killed
import numpy as np
module.score_many("models", np.load("factors.npy"), {scores}, out="t.csv", verbose=0)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_a_killed_run_goes_on_to_the_same_bytes(folder, factors, tmp_path, monkeypatch):
    np.save(tmp_path / "factors.npy", factors)
    gd.score_many(folder, factors, SCORES, out=tmp_path / "whole.csv", verbose=0)
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(after=3, scores=SCORES)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL and not (tmp_path / "t.csv").exists()
    scored = counted(monkeypatch)
    gd.score_many(folder, factors, SCORES, out=tmp_path / "t.csv", verbose=0)
    assert len(scored) == 11 - 3
    assert (tmp_path / "t.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_what_changed_or_failed_is_scored_again_and_nothing_else(
    folder, factors, tmp_path, monkeypatch
):
    scored = counted(monkeypatch)

    def run():
        scored.clear()
        return gd.score_many(folder, factors, "mig", out=tmp_path / "t.csv", verbose=0)

    run()
    np.save(folder / "m2x.npy", factors)
    np.save(folder / "m5.npy", np.column_stack([factors, factors]))
    table = run()
    assert sorted(scored) == ["m2x.npy", "m3x.npy", "m4x.npz", "m5.npy"]
    assert table.values.at["m2x.npy", "mig"] == pytest.approx(1, abs=0.05)
    (folder / "m0.npy").unlink()
    assert "m0.npy" not in run().models


class BrokenEngine(SerialEngine):
    """Fails as a cluster does whose workers die on one of the models."""

    def run(self, function, tasks, *, shared=(), told=None):
        def guarded(group, *more):
            if any(one.name == "m1.npy" for one in group):
                raise module.EngineError("Every worker died.")
            return function(group, *more)

        return super().run(guarded, tasks, shared=shared)


def test_a_model_that_kills_workers_costs_no_other_its_row(folder, factors, monkeypatch):
    from contextlib import contextmanager

    monkeypatch.setattr(module, "_groups", lambda sources, engine: iter([list(sources)]))
    whole = gd.score_many(folder, factors, "mig", verbose=0)
    monkeypatch.setattr(
        module, "open_engine", contextmanager(lambda *a, **k: iter([BrokenEngine()]))
    )
    broken = gd.score_many(folder, factors, "mig", verbose=0)
    assert broken.failures == {**whole.failures, "m1.npy": "Every worker died."}
    assert_frame_equal(broken.values, whole.values.drop("m1.npy"))


def test_models_are_arrays_paths_or_named(folder, factors):
    arrays = [np.load(folder / f"m{i}.npy") for i in range(3)]
    wanted = gd.score_many(folder, factors, "mig", verbose=0).values["mig"]
    for models, names in (
        (iter(arrays), ["0", "1", "2"]),
        ({"a": arrays[0], "b": arrays[1]}, ["a", "b"]),
        ([folder / "m0.npy"], [(folder / "m0.npy").as_posix()]),
    ):
        values = gd.score_many(models, factors, "mig", verbose=0).values["mig"]
        assert list(values.index) == names
        assert values.to_list() == wanted.loc[[f"m{i}.npy" for i in range(len(names))]].to_list()
    keyed = gd.score_many([folder / "m4x.npz"], factors, "mig", key="a", verbose=0)
    assert not keyed.failures


def test_arrays_go_on_by_their_content(factors, tmp_path):
    models = {"a": factors.astype(float), "b": factors + 0.5}
    first = gd.score_many(models, factors, "mig", out=tmp_path / "t.csv", verbose=0)
    before = (tmp_path / "t.csv.journal").read_bytes()
    again = gd.score_many(models, factors, "mig", out=tmp_path / "t.csv", verbose=0)
    assert (tmp_path / "t.csv.journal").read_bytes() == before
    assert_frame_equal(first.frame, again.frame)
    models["b"] = factors[:, ::-1] * 1.5
    gd.score_many(models, factors, "mig", out=tmp_path / "t.csv", verbose=0)
    assert len((tmp_path / "t.csv.journal").read_bytes()) > len(before)


def test_names_that_begin_as_a_formula_does_are_texts_in_a_spreadsheet(tmp_path):
    names = ("=cmd|'/c calc'!A0", "+1", "-1.npy", "@x", "\tx", "'=x", "'plain", "a=1")
    row = ["mig", "information", "completeness", -0.5, 0.0, 0.0, 0.0, "higher", "", ""]
    table = gd.ManyScores.of_models({name: ([row], "") for name in names})
    table.write(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert not any(cell[:1] in tuple("=+@\t\r") for row in rows for cell in row if cell)
    assert [row[0] for row in rows] == [
        "'=cmd|'/c calc'!A0", "'+1", "'-1.npy", "'@x", "'\tx", "''=x", "'plain", "a=1"
    ]  # fmt: skip
    assert all("-0.5" in row for row in rows)
    assert gd.ManyScores.read(tmp_path / "t.csv").models == names


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_is_read_as_it_was_written(folder, factors, tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    real = factors + np.linspace(0, 0.1, len(factors))[:, None]  # has no classes: mig is skipped
    table = gd.score_many(folder, real, ["mig", "irs", "informativeness_r2"], out=path, verbose=0)
    assert table.frame["reason"].str.contains("bins").any()
    read = gd.ManyScores.read(path)
    assert list(read.frame.columns) == COLUMNS
    assert_frame_equal(read.frame, table.frame, check_dtype=False)
    assert str(read) == str(table)


def test_spread_best_and_worst_are_those_of_numpy(rng):
    values = rng.uniform(size=(30, 2))
    row = ["information", "completeness"]
    found = {
        f"m{i}": (
            [
                ["up", *row, float(a), 0.1, np.nan, np.nan, "higher", "", ""],
                ["down", *row, float(b), np.nan, np.nan, np.nan, "lower", "", ""],
            ],
            "",
        )
        for i, (a, b) in enumerate(values)
    }
    table = gd.ManyScores.of_models(found)
    for j, name in enumerate(["up", "down"]):
        spread = table.spread.loc[name]
        wanted = np.quantile(values[:, j], [0, 0.25, 0.5, 0.75, 1])
        got = spread[["low", "quarter", "median", "3 quarters", "high"]].astype(float)
        np.testing.assert_allclose(got, wanted)
        ends = (values[:, j].argmax(), values[:, j].argmin())
        best, worst = ends if name == "up" else ends[::-1]
        assert (spread["best"], spread["worst"]) == (f"m{best}", f"m{worst}")
    assert table.agreement.counts.tolist() == [[30, 30], [30, 30]]


def test_wrong_calls_are_one_sentence_and_write_nothing(folder, factors, tmp_path):
    for options, said in (
        ({"out": tmp_path / "t.xlsx"}, "A table must end in .parquet or .csv"),
        ({"random_state": None}, "random_state"),
        ({"scores": "nothing"}, "nothing"),
        ({"n_workers": 2}, "n_workers must be left out"),
    ):
        with pytest.raises(InputError, match=said):
            gd.score_many(folder, factors, verbose=0, **{"scores": "mig", **options})
    with pytest.raises(InputError, match="folder that is there"):
        gd.score_many(tmp_path / "none", factors, "mig", verbose=0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="folder with files of arrays"):
        gd.score_many(tmp_path / "empty", factors, "mig", verbose=0)
    grid = gd.XYSquares(spacing=8, square_size=8, grid_size=2)
    with pytest.raises(InputError, match="got a grid"):
        gd.score_many(folder, grid, "mig", verbose=0)
    (tmp_path / "mine.csv").write_text("precious")
    with pytest.raises(InputError, match="one with its journal beside it"):
        gd.score_many(folder, factors, "mig", out=tmp_path / "mine.csv", verbose=0)
    assert (tmp_path / "mine.csv").read_text() == "precious"
    gd.score_many(folder, factors, "mig", out=tmp_path / "t.csv", verbose=0)
    before = (tmp_path / "t.csv").read_bytes()
    with pytest.raises(InputError, match=r"random_state 1 instead of 0 in t\.csv\.journal"):
        gd.score_many(folder, factors, "mig", out=tmp_path / "t.csv", random_state=1, verbose=0)
    with pytest.raises(InputError, match=r"factors .* instead of "):
        gd.score_many(folder, factors[::-1], "mig", out=tmp_path / "t.csv", verbose=0)
    assert (tmp_path / "t.csv").read_bytes() == before


def test_a_file_that_changes_while_it_is_read_is_a_row_with_its_reason(
    folder, factors, monkeypatch
):
    from geodis.scores.many import score_many as module

    original = module.load_array

    def slow(path, **options):
        array = original(path, **options)
        if path.endswith("m1.npy"):
            later = time.time() + 5
            os.utime(path, (later, later))
        return array

    monkeypatch.setattr(module, "load_array", slow)
    table = gd.score_many(folder, factors, "mig", verbose=0)
    assert table.failures["m1.npy"].endswith("got one that changed.")
    assert len(table.values) == 7
