"""Images and vectors in all their forms, as models take them."""

import numpy as np
import pandas as pd
import pytest
import torch

from geodis.base.check import InputError
from geodis.models import VAE, channel_moments, encode
from geodis.models.model_inputs import input_shape, to_input


@pytest.fixture(scope="module")
def model():
    return VAE((3, 6, 5), 4, network="vector")


def test_images_come_in_any_of_their_forms():
    images = np.random.default_rng(0).integers(256, size=(4, 6, 5, 3), dtype=np.uint8)
    expected = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
    tensor = torch.from_numpy(images).permute(0, 3, 1, 2)
    for given in (images, images / 255, (images / 255).astype(np.float32), tensor, tensor / 255):
        torch.testing.assert_close(to_input(given, (3, 6, 5)), expected)
    grey = to_input(images[..., 0], (1, 6, 5))
    torch.testing.assert_close(grey[:, 0], expected[:, 0])
    frame = pd.DataFrame([[1, 2], [3, 4]])
    assert to_input(frame, (2,)).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (
            np.zeros((2, 6, 5, 1)),
            r"rows of shape \(3, 6, 5\) .*\(n, h, w, c\).*got rows of shape \(1, 6, 5\)",
        ),
        (np.zeros((2, 90)), r"got rows of shape \(90,\)"),
        (np.full((2, 6, 5, 3), "a"), "must hold numbers; got dtype <U1"),
    ],
)
def test_rows_that_the_model_cannot_take_are_told(images, message):
    with pytest.raises(InputError, match=message):
        to_input(images, (3, 6, 5))


def test_moments_are_those_of_the_channels(squares):
    images = squares.images(range(9)) / 255
    mean, deviation = channel_moments(squares)
    assert mean == pytest.approx(images.reshape(-1, 1).mean(axis=0))
    assert deviation == pytest.approx(images.reshape(-1, 1).std(axis=0))
    constant = channel_moments(np.ones((4, 2)))
    assert constant == ((1, 1), (1, 1))


def test_a_file_that_is_mapped_read_only_will_do(model, tmp_path):
    images = np.random.default_rng(0).random((4, 6, 5, 3))
    np.save(tmp_path / "x.npy", images)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(encode(model, mapped), encode(model, images))


def test_the_shape_of_arrays_of_images_is_told_at_the_constructor():
    images = np.zeros((2, 28, 24, 1), np.uint8)
    with pytest.raises(
        InputError, match=r"channels first .* last: \(1, 28, 24\); got \(28, 24, 1\)"
    ):
        VAE(images.shape[1:], 2)
    assert [input_shape(one) for one in ((3, 4, 4), (64, 28, 28), (3, 64, 3))] == [
        *((3, 4, 4), (64, 28, 28), (3, 64, 3))
    ]


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_that_stand_last_are_seen(channels):
    with pytest.raises(InputError, match="channels first"):
        input_shape((64, 64, channels))
    with pytest.raises(InputError, match="channels first"):
        input_shape((5, 5, channels))
    assert input_shape((channels, 64, 64)) == (channels, 64, 64)


def test_no_image_has_two_or_five_channels_last():
    assert input_shape((64, 64, 2)) == (64, 64, 2)
    assert input_shape((64, 64, 5)) == (64, 64, 5)


def test_vectors_are_not_taken_from_images():
    with pytest.raises(InputError, match=r"got rows of shape \(2, 3, 5\)"):
        to_input(np.zeros((4, 2, 3, 5)), (5,))
