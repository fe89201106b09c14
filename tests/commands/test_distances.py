"""`geodis distances` prints tables, writes what it lists, and tells bad input in one sentence."""

import functools
import json

import numpy as np
import pytest

from geodis.data.grids.squares import XYSquares


@pytest.fixture
def measure(geodis):
    return functools.partial(geodis, "distances")


@pytest.fixture
def files(tmp_path):
    """One square at every place, in mixed order: images, factors and latents."""
    rng = np.random.default_rng(0)
    grid = XYSquares(4, n_squares=1, rgb=False, image_size=40)
    rows = rng.permutation(len(grid))
    factors = grid.factors(rows)
    np.save(tmp_path / "X.npy", grid.images(rows))
    np.save(tmp_path / "Z.npy", factors + 0.1 * rng.standard_normal(factors.shape))
    table = "\n".join(["x,y", *(f"{x},{y}" for x, y in factors)])
    (tmp_path / "F.csv").write_text(table + "\n")
    return tmp_path


def test_a_built_in_set_prints_the_tables(measure):
    code, out, err = measure("--data", "xysquares", "--spacing", 8, "--pairs", 500)
    assert (code, err) == (0, "")
    assert "ground truth ~ perceived" in out and "Adversarial: under mse" in out
    assert "x_R     0.0104  0.0000" in out


def test_files_print_json_and_rows_keep_their_latents(measure, files):
    code, out, _ = measure(
        "--images",
        files / "X.npy",
        "--factors",
        files / "F.csv",
        "--latents",
        files / "Z.npy",
        "--json",
        "--seed",
        3,
    )
    content = json.loads(out)
    assert code == 0 and content["seed"] == 3
    agree = content["correlations"]["factors"]["x"]
    assert agree["ground truth ~ latent"]["spearman"] > 0.95
    assert agree["perceived ~ latent"]["spearman"] > 0.7
    assert content["ratios"]["axis_ratio"]["value"] > 0.9
    assert content["importance"]["factors"]["x"]["exact"]
    assert content["overlap"]["adversarial"] is False


@pytest.mark.long
def test_what_is_listed_is_written(measure, files):
    folder = files / "out"
    code, out, _ = measure(
        "--images",
        files / "X.npy",
        "--factors",
        files / "F.csv",
        "--latents",
        files / "Z.npy",
        "--loss",
        "box:5",
        "--confidence",
        0.9,
        "--self-pairs",
        "--out",
        folder,
    )
    assert code == 0
    written = {path.name: path for path in folder.glob("[!.]*")}
    assert set(written) == {
        "distances.json",
        "distances.txt",
        "correlations.png",
        "matrices.png",
        "distribution.png",
    }
    for name, path in written.items():
        assert str(path) in out
        if name.endswith(".png"):
            assert path.read_bytes().startswith(b"\x89PNG")
    assert json.loads(written["distances.json"].read_text())["loss"] == "box:5"
    assert "Ratios of the latents" in written["distances.txt"].read_text()


def test_factors_and_latents_alone_are_enough(measure, files):
    folder = files / "out"
    code, out, _ = measure(
        "--factors", files / "F.csv", "--latents", files / "Z.npy", "--out", folder
    )
    assert code == 0 and "perceived" not in out.split("Written")[0]
    assert not (folder / "distribution.png").exists()
    assert (folder / "matrices.png").exists()


def test_a_sample_without_traversals_keeps_its_distances(measure, tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.permutation(900)[:40]
    np.save(tmp_path / "F.npy", np.stack(np.divmod(factors, 30), axis=1))
    np.save(tmp_path / "Z.npy", rng.standard_normal((40, 3)))
    code, out, _ = measure("--factors", tmp_path / "F.npy", "--latents", tmp_path / "Z.npy")
    assert code == 0
    assert "combinations of the factors are present" in out
    assert "linearity_ratio needs at least 5 sets of rows" in out


def test_images_without_traversals_keep_what_needs_none(measure, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "F.npy", rng.standard_normal((30, 2)))
    np.save(tmp_path / "X.npy", rng.integers(0, 256, (30, 8, 8), dtype=np.uint8))
    folder = tmp_path / "out"
    code, out, _ = measure(
        "--factors", tmp_path / "F.npy", "--images", tmp_path / "X.npy", "--out", folder
    )
    assert code == 0
    assert "(no two points differ in it alone)" in out and "The diagnosis of overlap needs" in out
    assert "refused" in json.loads((folder / "distances.json").read_text())["overlap"]
    for path in folder.glob("[!.]*"):
        assert str(path) in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "got none"),
        (["--images", "X.npy"], "got only --images"),
        (["--factors", "F", "--images", "X.npy", "--spacing", 8], "--spacing needs --data"),
        (["--factors", "F.csv", "--images", "X.npy", "--path", "F"], "--path needs --data"),
        (["--data", "sprites", "--path", "F"], "--path needs one of dsprites"),
        (["--data", "dsprites", "--path", "F", "--spacing", 8], "--spacing needs --data xysquares"),
        (["--data", "mnist"], "got mnist"),
        (["--data", "xyobject", "--spacing", 3], "--spacing needs --data xysquares"),
        (["--data", "dsprites"], "needs --path"),
        (
            ["--data", "xysquares", "--images", "X.npy"],
            "got them with --data, which brings its own",
        ),
        (["--data", "xysquares", "--factors", "F.csv"], "got both"),
        (["--factors", "F.csv"], "--images, --latents or both; got neither"),
        (["--data", "xysquares", "--loss", "ssim"], "got 'ssim'"),
        (["--data", "xysquares", "--latents", "none.npy"], "none.npy"),
    ],
)
def test_bad_input_is_told_in_one_sentence(measure, arguments, message):
    code, out, err = measure(*arguments)
    assert code == 2 and out == ""
    assert message in err and len(err.strip().splitlines()) == 1


def test_latents_of_another_length_are_refused(measure, files):
    np.save(files / "short.npy", np.zeros((5, 2)))
    code, _, err = measure("--factors", files / "F.csv", "--latents", files / "short.npy")
    assert code == 2 and "64 points; got 5" in err


def test_an_interrupt_leaves_whole_files(measure, monkeypatch, files):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", interrupt)
    folder = files / "out"
    code, _, err = measure(
        "--factors", files / "F.csv", "--latents", files / "Z.npy", "--out", folder
    )
    assert code == 130 and "Traceback" not in err
    assert sorted(path.name for path in folder.glob("[!.]*")) == ["distances.json", "distances.txt"]
