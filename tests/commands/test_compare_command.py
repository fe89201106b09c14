"""`geodis compare`: runs by file, seeds by folder."""

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.commands.pages import runs_of, trained_runs


def test_files_of_one_name_are_told_apart_by_their_folders():
    assert runs_of(["x/z.npy", "y/z.npy"]) == {"x/z": ("x/z.npy", "x/z"), "y/z": ("y/z.npy", "y/z")}


def test_a_folder_is_a_model_with_a_run_for_every_seed(tmp_path):
    for model in ("vae", "beta"):
        (tmp_path / model).mkdir()
        for seed in range(2):
            np.save(tmp_path / model / f"seed{seed}.npy", np.eye(4))
    found = runs_of([str(tmp_path / "vae"), f"{tmp_path}/beta/"])
    assert list(found) == ["vae/seed0", "vae/seed1", "beta/seed0", "beta/seed1"]
    assert [model for _, model in found.values()] == ["vae", "vae", "beta", "beta"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"one file of latents per seed; got .* with none"):
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
    assert out.startswith(
        "By mean rank over all scores above chance for at least one run: good (1."
    )
    assert str(tmp_path / "c" / "index.html") in out and (tmp_path / "c" / "figures").is_dir()


def test_the_table_of_a_sweep_is_taken(geodis, tmp_path):
    rows = ["model,seed,score mig", "vae,0,0.10", "vae,1,0.12", "beta,0,0.5", "beta,1,0.53"]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    for given in (tmp_path, tmp_path / "table.csv"):
        code, out, _ = geodis("compare", given, "--out", tmp_path / "c")
        assert code == 0 and out.startswith("By mean rank") and "beta/1 (1.0)" in out


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_table_of_many_scores_is_taken(geodis, tmp_path, kind):
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(150, 2))
    latents = {f"{m}/{s}": factors + (m == "b") * rng.standard_normal((150, 2)) for m in "ab"
               for s in range(2)}  # fmt: skip
    file = tmp_path / f"table.{kind}"
    gd.scores.score_many(latents, factors, ["mig"], out=file, verbose=0)
    code, out, _ = geodis("compare", file, "--out", tmp_path / "c")
    assert code == 0 and "a is ahead in 1" in out


def test_trained_models_encode_the_same_images(geodis, tmp_path):
    pytest.importorskip("torch")
    images = np.random.default_rng(0).integers(256, size=(90, 16, 16, 1), dtype=np.uint8)
    np.save(tmp_path / "x.npy", images)
    np.savetxt(tmp_path / "f.csv", np.arange(90) % 3, "%d", header="a", comments="")
    for model in "ab":
        code, _, err = geodis(
            "train", "--images", tmp_path / "x.npy", "--factors", tmp_path / "f.csv", "--model",
            "ae", "--steps", 2, "--batch-size", 8, "--out", tmp_path / model / "0", "--quiet",
        )  # fmt: skip
        assert code == 0, err
    assert list(trained_runs([str(tmp_path / "a"), str(tmp_path / "b")])) == ["a/0", "b/0"]
    code, out, err = geodis(
        "compare", tmp_path / "a" / "0", tmp_path / "b" / "0", "--resamples", 2, "--quiet",
        "--out", tmp_path / "c",
    )  # fmt: skip
    assert code == 0, err
    assert "a/0" in out and "b/0" in out and "CKA of the two representations" in out
    code, _, err = geodis("compare", tmp_path / "a", tmp_path / "x.npy", "--out", tmp_path / "d")
    assert code == 2 and "either trained models or files of latents" in err
