"""Any torch encoder embeds the images of a grid, with preprocessing of pictures or without."""

import numpy as np
import pytest
import torch

import geodis as gd
from analyses.compute_scaling.encode_pictures import as_picture, encode_pictures
from analyses.compute_scaling.encoder_files import rows_of_files

ROWS = np.random.default_rng(0).choice(64, 50, replace=False)


@pytest.fixture
def grid():
    return gd.XYSquares(n_squares=1, square_size=4, spacing=4, image_size=32)


def tiny():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 4, 4), torch.nn.Flatten(), torch.nn.Linear(256, 6)
    ).eval()


def test_embeddings_are_those_of_the_images_in_order(grid):
    encoder = tiny()
    found = encode_pictures(encoder, grid, ROWS, batch_size=16)
    x = torch.from_numpy(grid.images(ROWS)).permute(0, 3, 1, 2).float() / 255
    if x.shape[1] == 1:
        x = x.expand(-1, 3, -1, -1)
    assert found.dtype == np.float32 and found.shape == (50, 6)
    np.testing.assert_allclose(found, encoder(x).detach().numpy(), atol=1e-6)


def test_preprocessing_gets_pictures_as_that_of_clip_does(grid):
    """CLIP resizes a picture, turns it to RGB and standardises it."""
    seen = []

    def prepare(picture):
        seen.append((picture.size, picture.mode))
        small = picture.resize((8, 8)).convert("RGB")
        return (torch.from_numpy(np.array(small)).permute(2, 0, 1) / 255 - 0.5) / 0.25

    def encode(x):  # half precision, as CLIP has on a GPU
        return x.flatten(1).half()

    found = encode_pictures(encode, grid, ROWS, prepare, batch_size=7)
    assert found.shape == (50, 192) and found.dtype == np.float32
    assert set(seen) == {((32, 32), "RGB")}


def test_sprites_of_one_channel_become_grey_pictures():
    images = gd.Sprites(binary=True).images([0])
    assert images.shape[-1] == 1
    picture = np.array(as_picture(images[0]))
    assert picture.shape == (64, 64, 3) and (picture == images[0]).all()


def test_the_recipe_fills_a_row(grid, tmp_path):
    def places(x):  # the middle of what is lit, which is what the factors are
        lit = x.sum(dim=1)
        at = torch.arange(32.0)
        return torch.stack([(lit.sum(i) * at).sum(1) / lit.sum((1, 2)) for i in (1, 2)], 1)

    rows = np.arange(len(grid))
    np.save(tmp_path / "ViT-B-16.npy", encode_pictures(places, grid, rows))
    np.save(tmp_path / "factors.npy", grid.factors(rows))
    found = rows_of_files([tmp_path / "ViT-B-16.npy"], tmp_path / "factors.npy")
    assert {row.name: row.found for row in found}["ViT-B/16"] > 0.9
