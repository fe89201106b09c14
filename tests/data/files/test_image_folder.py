"""Folders of images."""

import os

import numpy as np
import pytest
from PIL import Image

from geodis import load_array, load_factors
from geodis.base.check import InputError
from geodis.data.files import limits
from geodis.data.grids.grid import FactorGrid


@pytest.fixture
def pixels(rng):
    return rng.integers(0, 256, (12, 6, 5, 3), dtype=np.uint8)


def write(folder, pixels, suffix=".png", **options):
    folder.mkdir(exist_ok=True)
    for i, image in enumerate(pixels):
        Image.fromarray(image.squeeze()).save(folder / f"img{i}{suffix}", **options)
    return folder


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".tiff", ".PNG"])
def test_images_come_in_the_order_of_their_numbers(tmp_path, pixels, suffix):
    folder = write(tmp_path / "images", pixels, suffix)
    (folder / "labels.csv").write_text("beside them\n")
    np.testing.assert_array_equal(load_array(folder), pixels)
    grid = FactorGrid.from_arrays(load_array(folder), np.arange(12))
    assert grid.image_shape == (6, 5, 3)


def test_grey_images_have_one_channel_and_palettes_are_spread_out(tmp_path, pixels):
    np.testing.assert_array_equal(
        load_array(write(tmp_path / "g", pixels[..., :1])), pixels[..., :1]
    )
    folder = tmp_path / "p"
    folder.mkdir()
    Image.fromarray(pixels[0]).convert("P").save(folder / "a.gif")
    assert load_array(folder).shape == (1, 6, 5, 3)


def test_images_that_do_not_fit_are_named(tmp_path, pixels):
    folder = write(tmp_path / "images", pixels)
    Image.fromarray(pixels[0, :4]).save(folder / "img99.png")
    with pytest.raises(InputError, match=r"img99\.png must have the size .* 5 x 6; got 5 x 4"):
        load_array(folder)
    Image.fromarray(np.dstack([pixels[0], pixels[0, ..., :1]])).save(folder / "img99.png")
    with pytest.raises(InputError, match=r"img99\.png must have as many channels .* 3; got 4"):
        load_array(folder)
    Image.fromarray(np.zeros((6, 5), np.uint16)).save(folder / "img99.png")
    with pytest.raises(InputError, match=r"img99\.png must have 8-bit grey or colour pixels"):
        load_array(folder)


@pytest.mark.parametrize("grey", [0, 7])
def test_grey_images_beside_coloured_ones_become_coloured(tmp_path, pixels, grey):
    folder = write(tmp_path / "images", pixels)
    Image.fromarray(pixels[grey, :, :, 0]).save(folder / f"img{grey}.png")
    wanted = pixels.copy()
    wanted[grey] = pixels[grey, :, :, :1]
    np.testing.assert_array_equal(load_array(folder), wanted)


def test_folders_of_classes_are_read_in_order_and_are_a_factor(tmp_path, pixels):
    """As Tiny ImageNet lies: train/<class>/images/*.JPEG, with lists of boxes beside."""
    for number, label in enumerate(["n10", "n2"]):
        (tmp_path / "train" / label).mkdir(parents=True)
        write(tmp_path / "train" / label / "images", pixels[6 * number : 6 * number + 6])
        (tmp_path / "train" / label / f"{label}_boxes.txt").write_text("0 0 1 1\n")
    (tmp_path / "train" / ".hidden").mkdir()
    write(tmp_path / "train" / ".hidden", pixels[:1])
    # 2 comes before 10.
    np.testing.assert_array_equal(
        load_array(tmp_path / "train"), np.concatenate([pixels[6:], pixels[:6]])
    )
    factors = load_factors(tmp_path / "train")
    assert factors.names == ("class",) and factors.categories == {"class": ("n10", "n2")}
    np.testing.assert_array_equal(factors.values[:, 0], np.repeat([1, 0], 6))
    with pytest.raises(InputError, match="must hold real numbers; got an array of labels"):
        load_array(f"{tmp_path / 'train'}:class")


def test_links_do_not_lead_out_of_the_folder(tmp_path, pixels):
    write(tmp_path / "elsewhere", pixels[:1])
    folder = write(tmp_path / "images", pixels)
    (folder / "img99.png").symlink_to(folder / "img3.png")
    np.testing.assert_array_equal(load_array(folder), pixels[[*range(12), 3]])
    (folder / "img99.png").unlink()
    (folder / "img99.png").symlink_to(tmp_path / "elsewhere" / "img0.png")
    with pytest.raises(InputError, match=r"must hold its own files; got img99\.png, a link out"):
        load_array(folder)
    (folder / "img99.png").unlink()
    (folder / "further").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(InputError, match="must hold its own folders; got further, a link"):
        load_array(folder)


def test_crafted_images_are_refused(tmp_path, pixels):
    folder = write(tmp_path / "images", pixels)
    bad = folder / "img99.png"
    bad.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 6 5\n")  # would start ghostscript
    with pytest.raises(InputError, match=r"img99\.png cannot be read as an image"):
        load_array(folder)
    bad.unlink()
    os.mkfifo(bad)
    with pytest.raises(InputError, match="must be a regular file; got a pipe"):
        load_array(folder)


def test_a_bomb_is_refused_before_its_pixels_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ALWAYS", 2**20)
    folder = write(tmp_path / "bomb", np.zeros((1, 2000, 2000), np.uint8))
    assert (folder / "img0.png").stat().st_size < 2**14
    with pytest.raises(InputError, match=r"would take .* more than .* GEODIS_MAX_BYTES"):
        load_array(folder)


def test_what_geodis_wrote_into_a_folder_is_none_of_its_images(tmp_path, pixels):
    folder = write(tmp_path / "images", pixels)
    write(folder / "out", pixels[:, :3])
    (folder / "out" / ".geodis-written.json").write_text("{}")
    np.testing.assert_array_equal(load_array(folder), pixels)
