import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from geodis.base.check import InputError
from geodis.data.grids.textures import Photographs


def test_patches_are_cut_from_all_places_evenly():
    # Every pixel says where it is, so that a patch tells where it was cut.
    place = np.arange(10 * 14, dtype=np.uint8).reshape(1, 10, 14, 1)
    pictures = Photographs(np.concatenate([place, place + 100]), 8, 9)
    patches = pictures.patches(np.arange(36_000), seed=1) * 255
    assert patches.shape == (36_000, 8, 9, 3)
    assert np.abs(patches - patches[:, :1, :1] - place[:, :8, :9]).max() < 1e-3
    corners, counts = np.unique(np.round(patches[:, 0, 0, 0]), return_counts=True)
    rows, columns = np.divmod(corners % 100, 14)
    assert len(corners) == 2 * 3 * 6 and rows.max() == 2 and columns.max() == 5
    assert counts.min() > 800 and counts.max() < 1200  # 1000 each; a deviation is 31


def test_a_patch_is_a_function_of_index_and_seed(rng):
    pictures = Photographs(rng.random((30, 40)), 8, 8)
    index = rng.integers(10**6, size=20)
    patches = pictures.patches(index, seed=4)
    assert_array_equal(pictures.patches(index[::-1], seed=4)[::-1], patches)
    assert (pictures.patches(index, seed=5) != patches).any(axis=(1, 2, 3)).mean() > 0.9


@pytest.mark.parametrize("kind", ["png", "npy", "grey", "alpha"])
def test_a_picture_is_given_by_its_path(kind, tmp_path, rng):
    pixels = rng.integers(0, 256, (12, 11, 3), dtype=np.uint8)
    if kind == "npy":
        np.save(file := tmp_path / "picture.npy", pixels)
    else:
        shown = {"grey": pixels[..., 0], "alpha": np.dstack([pixels, pixels[..., :1]])}
        Image.fromarray(shown.get(kind, pixels)).save(file := tmp_path / "picture.png")
    wanted = pixels if kind != "grey" else np.repeat(pixels[..., :1], 3, axis=2)
    patches = Photographs(str(file), 12, 11).patches(np.arange(2), seed=0)
    assert_allclose(patches * 255, np.stack([wanted, wanted]), atol=1e-4)


@pytest.mark.parametrize(
    ("pictures", "message"),
    [
        (np.zeros((7, 20, 3), np.uint8), "at least as large as the images, 8 x 9; got 7 x 20"),
        (np.zeros((20, 20, 2), np.uint8), r"1, 3 or 4 channels; got \(1, 20, 20, 2\)"),
        (np.zeros((20, 20, 3), np.int64), "uint8, or floats in .*; got values of dtype int64"),
        (np.full((20, 20, 3), 1.5), "from 1.5 to 1.5"),
        (np.full((20, 20, 3), np.nan), "got values"),
        ("none.jpg", "none.jpg must be an image; there is none of this name"),
    ],
)
def test_what_is_no_picture_is_refused(pictures, message):
    with pytest.raises(InputError, match=message):
        Photographs(pictures, 8, 9)
