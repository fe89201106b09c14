"""The Color, Noisy and Scream variants: the published formulas, and the same images every time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest

from geodis import FactorGrid, Sprites
from geodis.base.check import InputError
from geodis.data import ColorVariant, NoisyVariant, ScreamVariant, XYObject, variant_of

VARIANTS = [ColorVariant, NoisyVariant, ScreamVariant]


@pytest.fixture(scope="module")
def grid():
    return Sprites(binary=True)


@pytest.fixture(scope="module")
def index(grid):
    return np.random.default_rng(0).integers(len(grid), size=150)  # more than one block


@pytest.fixture(scope="module")
def white(grid, index):
    return np.repeat(grid.images(index), 3, axis=3) == 255


def test_objects_have_one_bright_colour_each(grid, index, white):
    variant = ColorVariant(grid, random_state=0)
    images, colors = variant.images(index, "float32"), variant.colors(index)
    assert (images[~white] == 0).all()
    wanted = np.broadcast_to(colors[:, None, None], images.shape)
    assert_array_equal(images[white], wanted[white])
    many = variant.colors(range(10_000))
    assert min(kstest(2 * channel - 1, "uniform").pvalue for channel in many.T) > 1e-4


def test_the_noise_is_behind_the_objects(grid, index, white):
    images = NoisyVariant(grid, random_state=0).images(index, "float32")
    assert (images[white] == 1).all()
    assert kstest(images[~white][::37], "uniform").pvalue > 1e-4
    behind = np.where(white, np.nan, images)[:, :6, :6].reshape(len(index), -1)
    between = np.corrcoef(behind.T)[np.triu_indices(6 * 6 * 3, 1)]
    assert np.abs(between).max() < 0.4  # of pixels and channels; a deviation is .08


def test_objects_invert_the_picture(grid, index, white, rng):
    picture = rng.integers(0, 256, (90, 70, 3), dtype=np.uint8)
    variant = ScreamVariant(grid, picture, random_state=0)
    images, behind = variant.images(index, "float32"), variant.backgrounds(index)
    assert_array_equal(images[~white], behind[~white])
    assert_allclose(images[white], 1 - behind[white], atol=1e-6)
    # Half of a background is a patch of the picture, the other half one colour.
    windows = np.lib.stride_tricks.sliding_window_view(picture / 255, (64, 64, 3))[:, :, 0]
    for image in behind[:5]:
        rest = 2 * image - windows  # (27, 7, 64, 64, 3)
        spread = (rest.max(axis=(2, 3)) - rest.min(axis=(2, 3))).max(axis=2)
        assert (spread < 1e-5).sum() == 1
        shade = rest[spread < 1e-5][0, 0, 0]
        assert (shade > -1e-6).all() and (shade < 1 + 1e-6).all()


def test_grey_edges_are_between_object_and_background():
    soft = Sprites()
    index = np.arange(0, len(soft), 9001)
    mask = soft.images(index, "float32")
    variant = ScreamVariant(soft, random_state=0)
    behind = variant.backgrounds(index)
    wanted = (1 - mask) * behind + mask * (1 - behind)
    assert_allclose(variant.images(index, "float32"), wanted, atol=1e-6)


def test_the_picture_that_stands_in_is_the_same_for_all():
    # Its pixels are those of photographs: neighbours are alike, places are not.
    first, second = (ScreamVariant(Sprites(), random_state=seed) for seed in (0, 1))
    assert_array_equal(first._picture.pixels, second._picture.pixels)
    assert first._picture.pixels.shape == (1, 256, 320, 3)
    shown = first._picture.pixels[0, :, :, 0]
    assert np.corrcoef(shown[1:].ravel(), shown[:-1].ravel())[0, 1] > 0.7
    assert shown.std() > 0.15


@pytest.mark.parametrize("kind", VARIANTS)
def test_images_are_a_function_of_index_and_seed(kind, grid, index):
    images = kind(grid, random_state=5).images(index)
    again = kind(grid, random_state=5)
    assert_array_equal(again.images(index[::-1])[::-1], images)
    assert_array_equal(again.images(index[140]), images[140:141])
    assert (kind(grid, random_state=6).images(index) != images).mean() > 0.01
    assert len({image.tobytes() for image in images}) == len(set(index.tolist()))


@pytest.mark.parametrize("kind", VARIANTS)
def test_any_grid_with_images_has_variants(kind, rng):
    colours = XYObject(image_size=32, spacing=4)
    variant = kind(colours, random_state=0)
    assert (variant.sizes, variant.names, variant.kinds) == (
        colours.sizes,
        colours.names,
        colours.kinds,
    )
    assert variant.images([0, 5]).shape == (2, 32, 32, 3)
    observed = FactorGrid.from_arrays(np.zeros((3, 8, 9), np.uint8), [["a", 1], ["b", 0], ["b", 1]])
    variant = kind(observed, random_state=0)
    assert len(variant) == 3 and not variant.complete and variant.note == observed.note
    assert_array_equal(variant.factors([2]), observed.factors([2]))
    assert variant.index([[1, 0]]) == observed.index([[1, 0]])
    assert variant.known_factors([0]).categories == observed.known_factors([0]).categories
    assert variant.images(range(3)).shape == (3, 8, 9, 3)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("color", "ColorVariant"),
        ("noisy", "NoisyVariant"),
        ("scream", "ScreamVariant"),
        ("background", "NoiseMasked"),
        ("foreground", "NoiseMasked"),
    ],
)
def test_every_variant_is_made_by_its_name(name, kind, grid):
    made = variant_of(grid, name)
    assert type(made).__name__ == kind
    assert_array_equal(made.images([3, 4]), variant_of(grid, name).images([3, 4]))
    assert getattr(made, "where", name) == name


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((Sprites(), "colour"), {}, "variant must be one of 'color', .*; got 'colour'"),
        ((Sprites(), "color"), {"picture": "a.png"}, "A picture needs scream, .*; got color"),
        ((Sprites(), "scream"), {"visibility": 5}, "visibility needs background .*; got scr"),
        ((FactorGrid((2, 3)), "noisy"), {}, "one or three channels; got None"),
        ((np.zeros((3, 8, 8)), "noisy"), {}, "grid must be a FactorGrid; got ndarray"),
    ],
)
def test_bad_variants(arguments, options, message):
    with pytest.raises(InputError, match=message):
        variant_of(*arguments, **options)
