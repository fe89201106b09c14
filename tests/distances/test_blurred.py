"""Blurred losses equal the reference values of independent software."""

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.data.grids.squares import XYSquares
from geodis.distances import BlurredLoss, box_blur, gaussian_blur, perceived, resolve_loss
from tests import GOLDEN
from tests.reference import distances as slow

EXPECTED = GOLDEN / "kernels"
CASES = [
    ("kernel_pairs_s", 8, "box_r31", box_blur, 31),
    ("kernel_pairs_s", 8, "gau_r31", gaussian_blur, 31),
    ("kernel_pairs_s", 8, "gau_r63", gaussian_blur, 63),
    ("kernel_pairs_s4", 4, "box_r15", box_blur, 15),
]


@pytest.mark.parametrize("alpha", [1, 100, 3969])
@pytest.mark.parametrize(("file", "spacing", "name", "blur", "radius"), CASES)
def test_distances_equal_the_reference(file, spacing, name, blur, radius, alpha):
    data = np.load(EXPECTED / f"{file}.npz")
    grid = XYSquares(spacing)
    x, y = (grid.images(grid.index(data[f"positions_{side}"])) for side in "ab")
    key = "none_alpha1" if alpha == 1 else f"sum_alpha{alpha}"
    kernel = data[f"{name}/kernel"].astype(float)
    total = kernel.sum()  # .9999 for Gaussians, whose tails were cut after they were normalised
    loss = blur(radius, alpha=alpha * (total**2 if alpha == 1 else 1.0))
    np.testing.assert_allclose(perceived(x, y, "mse"), data["mse"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(loss(x, y), data[f"{name}/norm_{key}"], rtol=2e-6, atol=1e-9)
    np.testing.assert_allclose(loss.kernel, kernel / total, rtol=1e-5, atol=1e-12)


def test_the_default_weight_is_the_number_of_entries():
    assert box_blur(31).alpha == gaussian_blur(31).alpha == 63**2
    assert resolve_loss("box:31").name == "box:31"
    assert resolve_loss("gaussian:8").name == "gaussian:8"


def test_the_blur_is_a_convolution(rng):
    image = rng.random((7, 6, 2)).astype(np.float32)
    loss = BlurredLoss([1.0, 2.0, -0.5], alpha=1.0, normalise=False)  # not symmetric
    expected = slow.convolve(image, np.outer([1.0, 2.0, -0.5], [1.0, 2.0, -0.5]))
    np.testing.assert_allclose(loss.blur(image[None])[0], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_distance_is_the_sharp_part_and_alpha_times_the_blurred_part(rng, dtype):
    x, y = rng.integers(0, 256, (2, 5, 8, 9, 3), dtype=np.uint8)
    if dtype == np.float32:
        x, y = x / np.float32(255), y / np.float32(255)
    loss = gaussian_blur(4, alpha=7.0, pixels=0.5)
    blurred = ((loss.blur(x) - loss.blur(y)) ** 2).mean(axis=(1, 2, 3))
    expected = 0.5 * perceived(x, y) + 7 * blurred
    np.testing.assert_allclose(loss(x, y), expected, rtol=1e-6)


def test_blurred_distances_of_mirrored_bytes_tie_exactly(rng):
    x, y = rng.integers(0, 256, (2, 4, 16, 16, 1), dtype=np.uint8)
    loss = box_blur(5)
    flipped = loss(x[:, ::-1, ::-1], y[:, ::-1, ::-1])
    np.testing.assert_array_equal(flipped, loss(x, y))


def test_a_kernel_over_the_whole_image_sees_no_position():
    grid = XYSquares(8)
    x, y = grid.images([0]), grid.images([grid.index([[3, 5, 0, 0, 0, 0]])[0]])
    assert box_blur(63, pixels=0.0)(x, y) == 0
    assert box_blur(31, pixels=0.0)(x, y) > 0


@pytest.mark.parametrize("radius", [0, 1, 3, 6, 20])
def test_box_sums_of_bytes_equal_the_convolution(rng, radius):
    images = rng.integers(0, 256, (2, 7, 5, 3), dtype=np.uint8)
    kernel = np.full((2 * radius + 1,) * 2, 1 / (2 * radius + 1) ** 2)
    expected = [slow.convolve(image / 255, kernel) for image in images]
    np.testing.assert_allclose(box_blur(radius).blur(images), expected, rtol=1e-12, atol=1e-15)


def test_images_of_one_size_and_kernels_of_another(rng):
    x, y = rng.random((2, 3, 5, 12, 1))
    loss = box_blur(4)
    kernel = np.full((9, 9), 1 / 81)
    expected = [
        slow.mse(a, b) + 81 * ((slow.convolve(a, kernel) - slow.convolve(b, kernel)) ** 2).mean()
        for a, b in zip(x, y, strict=True)
    ]
    np.testing.assert_allclose(loss(x, y), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: box_blur(-1), "radius must be at least 0"),
        (lambda: gaussian_blur(0), "radius must be at least 1"),
        (lambda: BlurredLoss([1, 1], 1.0), "odd number"),
        (lambda: BlurredLoss([1, -2, 1], 1.0), "must not sum to 0"),
        (lambda: box_blur(3, alpha=-1.0), "alpha must be at least 0"),
        (lambda: resolve_loss("box:x"), "got 'box:x'"),
        (lambda: resolve_loss("median:3"), "got 'median:3'"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
