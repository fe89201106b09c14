"""`geodis compare`: runs by file, seeds by folder."""

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.commands.pages.compare import runs_of


def test_files_of_one_name_are_told_apart_by_their_folders():
    assert runs_of(["x/z.npy", "y/z.npy"]) == {
        "x/z": ("x/z.npy", "x/z"),
        "y/z": ("y/z.npy", "y/z"),
    }


def test_a_folder_is_a_model_with_a_run_for_every_seed(tmp_path):
    for model in ("vae", "beta"):
        (tmp_path / model).mkdir()
        for seed in range(2):
            np.save(tmp_path / model / f"seed{seed}.npy", np.eye(4))
    found = runs_of([str(tmp_path / "vae"), f"{tmp_path}/beta/"])
    assert list(found) == ["vae/seed0", "vae/seed1", "beta/seed0", "beta/seed1"]
    assert [model for _, model in found.values()] == ["vae", "vae", "beta", "beta"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"a file of latents for every seed; got .* with none"):
        runs_of([str(tmp_path / "empty")])


def test_the_command_ranks_and_says_where(geodis, tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(150, 2))
    np.save(tmp_path / "good.npy", factors + 0.1 * rng.standard_normal((150, 2)))
    np.save(tmp_path / "bad.npy", rng.standard_normal((150, 2)))
    np.savetxt(tmp_path / "f.csv", factors, "%d", ",", header="a,b", comments="")
    files = [tmp_path / "bad.npy", tmp_path / "good.npy"]
    options = ["--factors", tmp_path / "f.csv", "--resamples", 5, "--out", tmp_path / "c"]
    code, out, err = geodis("compare", *files, *options)
    assert (code, err) == (0, "")
    assert out.startswith("By the mean rank over all scores that say something: good (1.")
    assert str(tmp_path / "c" / "index.html") in out and (tmp_path / "c" / "figures").is_dir()


def test_the_table_of_a_sweep_is_taken(geodis, tmp_path):
    rows = ["model,seed,score mig", "vae,0,0.10", "vae,1,0.12", "beta,0,0.5", "beta,1,0.53"]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    for given in (tmp_path, tmp_path / "table.csv"):
        code, out, _ = geodis("compare", given, "--out", tmp_path / "c")
        assert code == 0 and out.startswith("By the mean rank") and "beta/1 (1.0)" in out
