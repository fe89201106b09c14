"""`geodis learn-kernel` writes a loss that other commands take, and tells bad input plainly."""

import json

import numpy as np
import pytest

from geodis.data.grids.squares import XYSquares
from geodis.kernels import load_kernel


@pytest.fixture
def files(tmp_path):
    grid = XYSquares(spacing=4, square_size=4, grid_size=4, n_squares=2, image_size=16)
    rows = np.arange(len(grid))
    np.save(tmp_path / "X.npy", grid.images(rows))
    np.save(tmp_path / "F.npy", grid.factors(rows))
    return ["--images", tmp_path / "X.npy", "--factors", tmp_path / "F.npy"]


def test_a_kernel_is_learnt_written_and_used(geodis, files, tmp_path):
    out = tmp_path / "kernel.safetensors"
    code, printed, err = geodis("learn-kernel", *files, "--radius", 7, "--out", out, "--quiet")
    assert (code, err) == (0, "")
    assert "kernel r7, full: rank correlation with the ground truth 0." in printed
    for suffix in (".safetensors", ".json", ".png"):
        assert out.with_suffix(suffix).stat().st_size > 0
        assert str(out.with_suffix(suffix)) in printed
    made = load_kernel(out).made
    assert made["held_out"] > made["pixel_loss"] + 0.3
    tables = [
        json.loads(geodis("distances", *files, "--loss", loss, "--json", "--quiet")[1])
        for loss in ("mse", out)
    ]
    assert tables[0] != tables[1]


def test_features_and_json(geodis, files, tmp_path):
    out = tmp_path / "features.safetensors"
    options = ["--features", "4,4", "--steps", 2, "--seed", 3, "--json", "--quiet"]
    code, printed, _ = geodis("learn-kernel", *files, "--out", out, *options)
    assert code == 0
    assert json.loads(printed)["widths"] == [4, 4]
    assert load_kernel(out).widths == (4, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "kernel.npy"], "--out must end in .safetensors; got kernel.npy"),
        (["--out", "k.safetensors", "--radius", "16"], "radius 16 needs images of more than 16"),
        (["--out", "k.safetensors", "--features", "a,b"], "--features must be whole numbers"),
        (
            ["--out", "k.safetensors", "--radius", "3", "--only", "hue"],
            "factor must be one of factor 0",
        ),
    ],
)
def test_bad_input_is_one_sentence(geodis, files, options, message):
    code, _, err = geodis("learn-kernel", *files, "--quiet", *options)
    assert code == 2 and message in err and err.count("\n") == 1


def test_images_alone_are_not_enough(geodis, files):
    code, _, err = geodis("learn-kernel", *files[:2], "--out", "k.safetensors", "--quiet")
    assert code == 2 and "--images need --factors" in err
