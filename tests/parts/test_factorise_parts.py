import errno
import importlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import geodis as gd
from geodis.base import safetensors_files as array_file
from geodis.base.check import InputError
from geodis.base.row_source import row_source
from geodis.base.safetensors_files import write_arrays
from geodis.parts import factorise_parts, map_part, open_parts
from geodis.parts.map_part import PartsFolder, part_path
from tests import ROOT
from tests.parts import tasks_of_parts

OPTIONS = {"sample": 600, "part_rows": 500, "settings": {"dim": 3}, "verbose": 0}
# Of the same name as the function in it.
module = importlib.import_module("geodis.parts.factorise_parts")


def bytes_of(folder):
    """All that a run leaves, file by file."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix}


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A file of points, and what a run over it leaves."""
    folder = tmp_path_factory.mktemp("big")
    sample = gd.product_manifold("S^2 x S^1", 2300, random_state=0, rotate=True, pad=4)
    np.save(folder / "big.npy", sample.points.astype(np.float32))
    factorise_parts(folder / "big.npy", folder / "whole", **OPTIONS)
    return folder / "big.npy", bytes_of(folder / "whole"), sample


def test_all_rows_have_the_axes_of_the_fit(big):
    file, left, sample = big
    assert sorted(left) == [
        "atlas.safetensors", "manifest.json", *(f"part-{i:06d}.safetensors" for i in range(5))
    ]  # fmt: skip
    parts = open_parts(file.with_name("whole"))
    assert parts.is_complete and parts.n_rows == 2300
    axes = parts.read("axes") @ parts.atlas.basis
    true = sample.tangents
    assert gd.subspace_angles([axes[:, :2], axes[:, 2:]], true).mean() < 0.01
    some = parts.read("coordinates", 490, 1010)
    np.testing.assert_allclose(some, parts.atlas.transform(np.load(file)[490:1010]), atol=1e-5)
    assert parts.read("distances").shape == (2300,) and not parts.read("outside").any()
    assert some.dtype == axes.dtype == np.float32 or axes.dtype == np.float64


@pytest.mark.parametrize("how", ["map", "array", "slices", "dask"])
def test_it_does_not_matter_how_the_rows_are_given(big, how, tmp_path):
    file, left, _ = big
    points = np.load(file, mmap_mode="r")
    if how == "dask":
        points = pytest.importorskip("dask.array").from_array(np.asarray(points), chunks=(333, -1))
    given = {"map": points, "array": np.asarray, "slices": row_source, "dask": points}[how]
    source = given(points) if callable(given) else given
    factorise_parts(source, tmp_path / "out", **OPTIONS)
    for name, content in bytes_of(tmp_path / "out").items():
        assert name == "manifest.json" or content == left[name]


def test_a_key_in_a_file_and_a_folder_of_files(big, client, tmp_path):
    h5py, pandas = pytest.importorskip("h5py"), pytest.importorskip("pandas")
    file, left, _ = big
    points = np.load(file)
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        opened.create_dataset("run/z", data=points, chunks=(70, 9))
    factorise_parts(f"{tmp_path}/a.h5:run/z", tmp_path / "one", cluster=client, **OPTIONS)
    (tmp_path / "many").mkdir()
    for number, rows in enumerate(np.array_split(points, 3)):
        pandas.DataFrame(rows).rename(columns=str).to_parquet(
            tmp_path / "many" / f"{number}.parquet"
        )
    factorise_parts(tmp_path / "many", tmp_path / "two", **OPTIONS)
    for out in ("one", "two"):
        found = bytes_of(tmp_path / out)
        assert found["part-000004.safetensors"] == left["part-000004.safetensors"]


def test_a_cluster_leaves_the_same_bytes(big, client, tmp_path):
    file, left, _ = big
    factorise_parts(file, tmp_path / "out", cluster=client, **OPTIONS)
    assert bytes_of(tmp_path / "out") == left


def test_a_worker_that_is_killed_costs_nothing(big, client, tmp_path, monkeypatch):
    file, left, _ = big
    monkeypatch.setattr(module, "map_part", tasks_of_parts.dies_in_the_third_part)
    factorise_parts(file, tmp_path / "out", cluster=client, **OPTIONS)
    assert (tmp_path / "out" / ".died").exists()
    assert bytes_of(tmp_path / "out") == left


def test_a_command_that_is_killed_goes_on(big, tmp_path):
    """SIGKILL in the midst of the parts; the same command again leaves the same bytes."""
    file, left, _ = big
    out = tmp_path / "out"
    program = f"""
import importlib, time
from geodis.parts.map_part import map_part
def slowly(task):
    time.sleep(0.3)
    return map_part(task)
module = importlib.import_module("geodis.parts.factorise_parts")
module.map_part = slowly
module.factorise_parts({str(file)!r}, {str(out)!r}, **{OPTIONS!r})
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", program], env=env) as process:
        while process.poll() is None and not part_path(out, 1).exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not part_path(out, 4).exists() and "done" not in open_parts(out).manifest
    before = part_path(out, 0).stat().st_mtime_ns
    (out / ".part-000002-left.safetensors").write_bytes(b"torn")
    factorise_parts(file, out, **OPTIONS)
    assert part_path(out, 0).stat().st_mtime_ns == before
    assert bytes_of(out) == left


def test_what_is_done_is_not_done_again(big, monkeypatch, tmp_path):
    file, left, _ = big
    out = tmp_path / "out"
    factorise_parts(file, out, **OPTIONS)
    part_path(out, 3).unlink()
    part_path(out, 1).write_bytes(left["part-000001.safetensors"][:-50])
    part_path(out, 2).write_bytes(left["part-000001.safetensors"])  # whole, of other rows
    made = []

    def told(task):
        made.append(task.start)
        return map_part(task)

    monkeypatch.setattr(module, "map_part", told)
    factorise_parts(file, out, **OPTIONS)
    assert made == [500, 1000, 1500]
    assert bytes_of(out) == left


@pytest.mark.parametrize("where", ["numbers", "note"])
def test_a_part_whose_bytes_have_changed_is_made_again(big, tmp_path, where):
    file, left, _ = big
    for name, content in left.items():
        (tmp_path / name).write_bytes(content)
    path = part_path(tmp_path, 2)
    damaged = bytearray(path.read_bytes())
    if where == "numbers":
        damaged[-2000:-1996] = b"\x01\x02\x03\x04"
    else:
        at = damaged.index(b'outside\\": 0') + len(b'outside\\": ')
        damaged[at : at + 1] = b"7"
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    factorise_parts(file, tmp_path, **OPTIONS)
    assert bytes_of(tmp_path) == left


def test_an_atlas_that_is_gone_or_torn_is_made_again(big, tmp_path):
    file, left, _ = big
    out = tmp_path / "out"
    factorise_parts(file, out, **OPTIONS)
    (out / "atlas.safetensors").write_bytes(b"torn")
    factorise_parts(file, out, **OPTIONS)
    assert bytes_of(out) == left


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sample": 500}, "made with sample=600; got 500: choose another --out"),
        ({"part_rows": 400}, "made with part_rows=500; got 400"),
        ({"settings": {"dim": 2}}, r"made with dim=3; got 2"),
        ({"dtype": "float64"}, "made with written='float32'; got 'float64'"),
        ({"random_state": 1}, "made with seed=0; got 1"),
    ],
)
def test_a_folder_of_other_settings_is_left_alone(big, changed, said):
    file, left, _ = big
    out = file.with_name("whole")
    with pytest.raises(InputError, match=said):
        factorise_parts(file, out, **(OPTIONS | changed))
    assert bytes_of(out) == left


def test_a_folder_of_other_things_is_left_alone(big, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"must be empty or a folder of parts; got thesis.txt"):
        factorise_parts(big[0], tmp_path, **OPTIONS)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    with pytest.raises(InputError, match=r"must be a folder for parts; got a file"):
        factorise_parts(big[0], tmp_path / "thesis.txt", **OPTIONS)


def test_a_file_that_changes_ends_the_run(big, tmp_path, monkeypatch):
    file = tmp_path / "big.npy"
    file.write_bytes(big[0].read_bytes())

    def then_changed(task):
        note = map_part(task)
        if task.start == 500:
            with file.open("r+b") as opened:
                opened.seek(-4, os.SEEK_END)
                opened.write(b"\0\0\0\0")
            os.utime(file, ns=(1, 1))
        return note

    monkeypatch.setattr(module, "map_part", then_changed)
    with pytest.raises(InputError, match=r"big.npy must stay as it is while it is read"):
        factorise_parts(file, tmp_path / "out", **OPTIONS)
    assert part_path(tmp_path / "out", 1).exists()
    assert not part_path(tmp_path / "out", 2).exists()
    with pytest.raises(InputError, match="made with changed="):
        factorise_parts(file, tmp_path / "out", **OPTIONS)


def test_a_full_disk_is_one_sentence_and_loses_nothing(big, tmp_path, monkeypatch):
    file, left, _ = big
    out = tmp_path / "out"
    whole = array_file.whole_file

    def full(path):
        if str(path).endswith("part-000002.safetensors"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(path)

    with monkeypatch.context() as patched:
        patched.setattr(array_file, "whole_file", full)
        with pytest.raises(InputError, match=r"needs room for rows 1000 to 1500; the disk is full"):
            factorise_parts(file, out, **OPTIONS)
    assert part_path(out, 1).exists() and not part_path(out, 2).exists()
    factorise_parts(file, out, **OPTIONS)
    assert bytes_of(out) == left


def test_room_is_asked_for_beforehand(big, tmp_path, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda folder: type("", (), {"free": 1000}))
    with pytest.raises(InputError, match=r"needs room for 0 MB; got 0 MB free"):
        factorise_parts(big[0], tmp_path / "out", **OPTIONS)
    assert not part_path(tmp_path / "out", 0).exists()


def test_rows_without_numbers_are_named_and_harm_no_other(big, tmp_path):
    file, _, _ = big
    points = np.load(file)
    points[7], points[1234, 3] = np.nan, np.inf
    parts = factorise_parts(points, tmp_path / "out", **OPTIONS)
    assert "2 of 2,300 rows hold NaN or infinity and are NaN in all parts (row 7, 1234)" in str(
        parts
    )
    lost = np.isnan(parts.read("axes")).all(axis=(1, 2))
    assert np.flatnonzero(lost).tolist() == [7, 1234]
    assert np.isnan(parts.read("coordinates")[[7, 1234]]).all()
    assert not parts.read("outside")[[7, 1234]].any()


@pytest.mark.long
def test_what_the_sample_missed_is_said_and_found(big, tmp_path, monkeypatch):
    """Three rows in a hundred lie far off, too few for the sample to have enough of them."""
    points = np.load(big[0])
    points[2200:2270] += 9
    points[100] = -50
    plain = factorise_parts(points, tmp_path / "one", **OPTIONS)
    outside = plain.read("outside")
    assert outside[2200:2270].mean() > 0.9 and outside[100] and not outside[:100].any()
    said = f"{outside.sum()} of 2,300 rows lie far from all fitted ones, up to "
    assert said in str(plain) and "most of them in rows 2,000 to 2,300" in str(plain)
    again = factorise_parts(points, tmp_path / "one", resample=True, **OPTIONS)
    assert again.manifest["fit"]["second_sample"] == outside.sum()
    assert len(again.atlas.places) + len(again.atlas.lost) > 600
    first = bytes_of(tmp_path / "one")
    fit = module.GeoManCER.fit

    def stopped(est, X):
        if len(X) > 600:
            raise KeyboardInterrupt
        return fit(est, X)

    with monkeypatch.context() as patched:  # stopped between the two samples
        patched.setattr(module.GeoManCER, "fit", stopped)
        with pytest.raises(KeyboardInterrupt):
            factorise_parts(points, tmp_path / "two", resample=True, **OPTIONS)
    factorise_parts(points, tmp_path / "two", resample=True, **OPTIONS)
    assert bytes_of(tmp_path / "two") == first


@pytest.mark.parametrize("n_outside", [(0, 30, 1, 25, 4), (50, 0, 0, 0, 10)])
def test_a_second_sample_is_drawn_from_the_rows_that_lie_outside(n_outside, tmp_path):
    """Against the rows themselves, told of all parts at once."""
    rng = np.random.default_rng(0)
    outside = np.zeros((5, 100), bool)
    for number, count in enumerate(n_outside):
        outside[number, rng.choice(100, count, replace=False)] = True
        write_arrays(part_path(tmp_path, number), {"outside": outside[number]})
    notes = [{"outside": count} for count in n_outside]
    true = np.flatnonzero(outside.ravel())
    made = {"sample": 1000, "part_rows": 100, "seed": 0}
    np.testing.assert_array_equal(module._second_sample(tmp_path, notes, made), true)
    few = module._second_sample(tmp_path, notes, {**made, "sample": 80})
    assert len(few) == 40 and np.isin(few, true).all() and (np.diff(few) > 0).all()
    # One of every 60 / 40 of them, in order: an even sample.
    ranks = np.searchsorted(true, few)
    assert (np.abs(ranks - 1.5 * np.arange(40) - 0.5) <= 1).all()


@pytest.mark.parametrize(("count", "drawn"), [(39, 0), (40, 40)])
def test_a_piece_has_forty_rows_at_least(count, drawn, tmp_path):
    write_arrays(part_path(tmp_path, 0), {"outside": np.arange(100) < count})
    made = {"sample": 1000, "part_rows": 100, "seed": 0}
    assert len(module._second_sample(tmp_path, [{"outside": count}], made)) == drawn


def test_one_folder_is_written_by_one_run(big, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "out"
    out.mkdir()
    with (out / ".lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="written by one run at a time; got a second"):
            factorise_parts(big[0], out, **OPTIONS)


def test_rows_in_this_process_stay_in_it(big, tmp_path):
    with pytest.raises(InputError, match=r"A cluster needs points in a file.*got ndarray"):
        factorise_parts(np.load(big[0]), tmp_path / "out", cluster="local", **OPTIONS)
    assert not (tmp_path / "out").exists()


def test_a_cluster_that_does_not_answer_is_said_before_anything_is_fitted(
    big, tmp_path, monkeypatch
):
    dask_clients = pytest.importorskip("geodis.base.dask_engine")
    monkeypatch.setattr(dask_clients, "PATIENCE", 0.3)
    with pytest.raises(InputError, match=r"got 'tcp://127.0.0.1:9', which does not answer"):
        factorise_parts(big[0], tmp_path / "out", cluster="tcp://127.0.0.1:9", **OPTIONS)
    with pytest.raises(InputError, match="n_workers must be left out unless"):
        factorise_parts(big[0], tmp_path / "out", n_workers=2, **OPTIONS)
    assert not (tmp_path / "out").exists()


def test_without_coordinates_and_in_float64(big, tmp_path):
    options = OPTIONS | {"dtype": "float64", "coordinates": False}
    parts = factorise_parts(big[0], tmp_path / "out", **options)
    assert parts.read("axes", 0, 10).dtype == np.float64
    assert parts.read("coordinates", 0, 10).shape == (10, 0)
    with pytest.raises(InputError, match=r"Rows must lie between 0 and 2,300; got 5 to 5"):
        parts.read("axes", 5, 5)


def test_without_axes(big, tmp_path):
    parts = factorise_parts(big[0], tmp_path / "out", axes=False, **OPTIONS)
    whole = open_parts(big[0].with_name("whole"))
    np.testing.assert_array_equal(parts.read("coordinates"), whole.read("coordinates"))
    with pytest.raises(InputError, match="must hold axes; they were not written"):
        parts.read("axes")


def test_what_is_no_folder_of_parts_is_said(tmp_path):
    with pytest.raises(InputError, match=r"must be a folder of parts; there is no manifest.json"):
        open_parts(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read as a manifest of parts"):
        open_parts(tmp_path)


def test_the_command_line(big, tmp_path, geodis):
    file, left, _ = big
    options = ["--sample", 600, "--part-rows", 500, "--dim", 3]
    out = tmp_path / "out"
    code, said, _ = geodis("factorise", file, *options, "--out", out)
    assert code == 0 and "sample of 600 rows: factors of dimension 2 + 1 (flat)" in said
    assert bytes_of(out).keys() == left.keys()
    code, said, _ = geodis("factorise", file, *options, "--out", out, "--json")
    assert code == 0 and json.loads(said)["done"]["outside"] == 0
    code, _, said = geodis("factorise", file, *options)
    assert code == 2 and "--sample needs --out, a folder for the parts; got none" in said
    code, _, said = geodis("factorise", file, "--resample")
    assert code == 2 and "--resample needs --sample; got it without" in said
    code, _, said = geodis("factorise", file, "--sample", 500, "--out", out)
    assert code == 2 and "choose another --out" in said


def test_every_doubt_about_the_fit_is_in_the_summary(tmp_path):
    made = {"shape": [500, 3], "part_rows": 100}
    fit = {"sampled": 90, "factor_dims": [2, 1], "flat": [False, True]}
    fit["doubts"] = ["the first doubt", "the second doubt"]
    told = str(PartsFolder(tmp_path, {"made_with": made, "fit": fit}))
    assert "the first doubt" in told and "the second doubt" in told
