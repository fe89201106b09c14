"""Squares equal the reference images pixel for pixel, and the study's statistics."""

import itertools
import json
import pickle

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.data.grids.squares import PALETTES, XYObject, XYObjectShades, XYSquares
from tests import GOLDEN

EXPECTED = np.load(GOLDEN / "disent" / "xy_images_s.npz")

GRIDS = {
    "xysquares_sp1_grid8": XYSquares(1),
    "xysquares_sp2_grid8": XYSquares(2),
    "xysquares_sp4_grid8": XYSquares(4),
    "xysquares_sp8_grid8": XYSquares(),
    "xysquares_sp3": XYSquares(3, grid_size=None),
    "xysquares_sp5": XYSquares(5, grid_size=None),
    "xysquares_2sq_grey": XYSquares(4, grid_size=None, n_squares=2, rgb=False),
    "xysquares_odd": XYSquares(4, square_size=5, grid_size=6, image_size=33),
    "xysquares_minimal": XYSquares(),
    "xysingle_sp4": XYSquares(4, grid_size=None, n_squares=1, rgb=False),
    "xyobject_default": XYObject(),
    "xyobject_colors1": XYObject(4, size_step=4, palette="colors", levels=1),
    "xyobject_grey": XYObject(palette="greys", rgb=False),
}


def test_every_reference_configuration_is_here():
    assert set(json.loads(str(EXPECTED["meta_json"]))) == set(GRIDS)


@pytest.mark.parametrize("name", GRIDS)
def test_images_equal_the_reference(name):
    grid, positions = GRIDS[name], EXPECTED[f"{name}_positions"]
    assert grid.sizes == tuple(EXPECTED[f"{name}_factor_sizes"])
    if name != "xysquares_2sq_grey":  # grey squares have no channels to be named after
        assert grid.names == tuple(json.loads(str(EXPECTED["meta_json"]))[name]["factor_names"])
    images = grid.images(grid.index(positions))
    assert images.dtype == np.uint8 and grid.image_shape == images.shape[1:]
    np.testing.assert_array_equal(images, EXPECTED[f"{name}_images"])


@pytest.mark.parametrize("name", GRIDS)
def test_distances_equal_the_reference(name):
    grid = GRIDS[name]
    a, b = EXPECTED[f"{name}_positions"][EXPECTED[f"{name}_pairs"]].swapaxes(0, 1)
    xa, xb = (grid.images(grid.index(rows), "float32") for rows in (a, b))
    mse = ((xa - xb) ** 2).mean(axis=(1, 2, 3), dtype=np.float64)
    np.testing.assert_allclose(mse, EXPECTED[f"{name}_mse"], rtol=1e-5, atol=1e-9)
    l1 = np.abs(grid.factors(grid.index(a)) - grid.factors(grid.index(b))).sum(axis=1)
    np.testing.assert_array_equal(l1, EXPECTED[f"{name}_ground_l1"])


# Twins that draw one image after the other, pixel by pixel as the notes say.


def draw_squares(grid, index, n_squares, rgb, grid_size, width):
    factors = grid.factors(index)[0]
    start = (width - grid.spacing * (grid_size - 1) - grid.square_size) // 2
    image = np.zeros((width, width, 3 if rgb else 1), dtype=np.uint8)
    for j in range(n_squares):
        x, y = start + grid.spacing * factors[2 * j : 2 * j + 2]
        for row, column in itertools.product(range(grid.square_size), repeat=2):
            image[y + row, x + column, j if rgb else 0] = 255
    return image


@pytest.mark.parametrize("spacing", [1, 3, 8])
@pytest.mark.parametrize("square_size", [1, 4, 9])
@pytest.mark.parametrize(("n_squares", "rgb"), [(1, True), (2, True), (5, False)])
def test_squares_are_where_the_notes_say(spacing, square_size, n_squares, rgb):
    grid = XYSquares(spacing, square_size, 4, n_squares, rgb, image_size=37)
    index = np.random.default_rng(spacing).integers(len(grid), size=5)
    images = grid.images(index)
    for i, image in zip(index, images, strict=True):
        np.testing.assert_array_equal(image, draw_squares(grid, i, n_squares, rgb, 4, 37))


@pytest.mark.parametrize("palette", PALETTES)
def test_objects_are_where_the_notes_say(palette, rng):
    grid = XYObject(3, 2, 7, 2, palette, levels=3, image_size=20)
    sizes = (2, 4, 6)
    assert grid.sizes == (5, 5, 3, 3 * len(PALETTES[palette]))
    index = rng.integers(len(grid), size=40)
    for i, image in zip(index, grid.images(index), strict=True):
        x, y, scale, color = grid.factors(i)[0]
        inset = (7 - sizes[scale]) // 2
        level, hue = divmod(color, len(PALETTES[palette]))
        expected = np.zeros((20, 20, 3), dtype=np.uint8)
        for row, column in itertools.product(range(sizes[scale]), repeat=2):
            for channel in range(3):
                value = PALETTES[palette][hue][channel] * (level + 1) // 3
                expected[3 * y + inset + row, 3 * x + inset + column, channel] = value
        np.testing.assert_array_equal(image, expected)


# What the study says of its data sets


@pytest.mark.parametrize("j", range(6))
def test_spacing_8_gives_constant_overlap(j, rng):
    grid = XYSquares()
    for at in rng.integers(len(grid), size=3):
        images = grid.images(grid.traversal(j, at), "float32")
        mse = ((images[:, None] - images) ** 2).mean(axis=(2, 3, 4))
        # Table 3.1: 0.0104 with a standard deviation of 0, two whole squares in three channels.
        np.testing.assert_allclose(mse[~np.eye(8, dtype=bool)], 2 * 64 / (3 * 64 * 64), rtol=1e-6)


@pytest.mark.parametrize(
    ("grid", "mean", "std"),
    [
        (XYSquares(), 0.015625, 0.124034734589209),
        (XYObject(), 0.009818761549013, 0.052632363725246),
        (XYObjectShades(), 0.009818761549013, 0.052632363725246),
    ],
)
def test_channel_statistics_of_table_a2(grid, mean, std):
    # Neither depends on where the squares are: the images at x = y = 0 are enough.
    rows = np.array(list(itertools.product(*map(range, grid.sizes[2:]))))
    rows = np.column_stack([np.zeros((len(rows), 2), int), rows])
    images = grid.images(grid.index(rows[:: 1 if len(rows) < 500 else 97]), "float32")
    np.testing.assert_allclose(images.mean(axis=(0, 1, 2), dtype=float), mean, rtol=1e-6)
    # The published deviation is that of a channel of one image (ddof 1), averaged over images.
    deviations = images.std(axis=(1, 2), ddof=1, dtype=float).mean(axis=0)
    np.testing.assert_allclose(deviations, std, rtol=1e-6)


def test_shades_are_the_same_images_in_the_same_order(rng):
    plain, shades = XYObject(), XYObjectShades()
    assert len(plain) == len(shades) and shades.sizes == (25, 25, 5, 4, 6)
    index = rng.integers(len(plain), size=300)
    np.testing.assert_array_equal(plain.images(index), shades.images(index))
    intensity, hue = shades.factors(index)[:, 3:].T
    np.testing.assert_array_equal(plain.factors(index)[:, 3], 6 * intensity + hue)


def test_factors_are_named_after_what_moves():
    assert XYSquares(n_squares=2).names == ("x_R", "y_R", "x_G", "y_G")
    assert XYSquares(n_squares=2, rgb=False).names == ("x_0", "y_0", "x_1", "y_1")
    assert XYSquares(n_squares=1, rgb=False).names == ("x", "y")


def test_a_grid_can_be_sent_to_a_worker():
    grid = pickle.loads(pickle.dumps(XYObject()))
    np.testing.assert_array_equal(grid.images([5, 74999]), XYObject().images([5, 74999]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: XYSquares(9), "8 positions .* 9 apart, need image_size 71; got 64"),
        (lambda: XYSquares(1, 65, None), "need image_size 65; got 64"),
        (lambda: XYSquares(n_squares=4), "n_squares must be between 1 and 3; got 4"),
        (lambda: XYSquares(0), "spacing must be at least 1; got 0"),
        (
            lambda: XYSquares(2.5),  # type: ignore[arg-type]
            "spacing must be an integer; got 2.5",
        ),
        (lambda: XYSquares(square_size=0), "square_size must be at least 1"),
        (lambda: XYSquares(grid_size=0), "grid_size must be at least 1"),
        (lambda: XYObject(min_size=9, max_size=7), "max_size must be at least 9; got 7"),
        (lambda: XYObject(max_size=70), "need image_size 70; got 64"),
        (lambda: XYObject(palette="pastel"), "palette must be one of 'rainbow', .*got 'pastel'"),
        (lambda: XYObject(rgb=False), "one channel need palette='greys'; got 'rainbow'"),
        (lambda: XYObject(levels=0), "levels must be between 1 and 255; got 0"),
    ],
)
def test_squares_that_do_not_fit_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
