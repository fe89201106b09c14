import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import affine_transform

from geodis import Sprites
from geodis.base.check import InputError
from geodis.data.grids.sprites import OUTLINES, area, centroid, ellipse
from tests.reference.rendering import covered_share

SHAPES = {"square": 0, "ellipse": 1, "heart": 2}


def centroids(images):
    """Centre of mass (n, 2) of images (n, h, w, 1), x then y, in pixels."""
    h, w = images.shape[1:3]
    total = images.sum(axis=(1, 2, 3))
    x = (images[..., 0] * (np.arange(w) + 0.5)).sum(axis=(1, 2)) / total
    y = (images[..., 0] * (np.arange(h)[:, None] + 0.5)).sum(axis=(1, 2)) / total
    return np.stack([x, y], axis=1)


@pytest.fixture(scope="module")
def grid():
    return Sprites()


def at(grid, shape=0, scale=5, orientation=3, x=11, y=17):
    return int(grid.index([[shape, scale, orientation, x, y]])[0])


def drawn(grid, factor, **where):
    """Float images along a factor."""
    return grid.images(grid.traversal(factor, at(grid, **where)), dtype="float32")


# ---- the contract of a grid ----


def test_factors_are_those_of_dsprites(grid):
    assert grid.sizes == (3, 6, 40, 32, 32)
    assert grid.names == ("shape", "scale", "orientation", "x", "y")
    assert len(grid) == 737_280
    assert grid.image_shape == (64, 64, 1)
    low, high = grid.factor_values([[0, 0, 0, 0, 0], [2, 5, 39, 31, 31]])
    assert_allclose(low, [0, 0.5, 0, 0, 0])
    assert_allclose(high, [2, 1, 2 * np.pi * 39 / 40, 1, 1])


@pytest.mark.parametrize("binary", [False, True])
def test_an_image_depends_on_its_index_alone(binary, rng):
    grid = Sprites(binary=binary)
    index = rng.integers(len(grid), size=50)
    images = grid.images(index)
    assert images.dtype == np.uint8 and images.shape == (50, 64, 64, 1)
    assert_array_equal(Sprites(binary=binary).images(index[::-1])[::-1], images)
    assert_array_equal(grid.images(index[7]), images[7:8])


def test_binary_images_are_black_and_white_at_half_cover(grid, rng):
    index = rng.integers(len(grid), size=200)
    binary = Sprites(binary=True).images(index)
    assert set(np.unique(binary)) == {0, 255}
    assert_array_equal(binary == 255, grid.images(index, dtype="float32") >= 0.5)


def test_no_images_no_trouble(grid):
    assert grid.images(np.empty(0, dtype=int)).shape == (0, 64, 64, 1)


# ---- what is drawn ----


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("orientation", [0, 17])
def test_cover_is_that_of_the_literal_twin(shape, orientation):
    grid, finer = Sprites(12), 12
    index = at(grid, shape=shape, orientation=orientation, x=20)
    slow = covered_share(grid.outline(index), 12, 12, finer)
    # An edge through a pixel passes at most 2 finer of its samples, and misjudges half of each.
    assert_allclose(grid.images(index, "float32")[0, ..., 0], slow, atol=1.0 / finer)


@pytest.mark.parametrize("size", [8, 33, 64, 128])
def test_sum_of_an_image_is_the_area_of_its_shape(size, rng):
    grid = Sprites(size)
    index = rng.integers(len(grid), size=300)
    radius = grid.factor_values(grid.factors(index))[:, 1] * 13 / 64 * size
    exact = np.array([2.0, np.pi / 2.4, abs(area(OUTLINES["heart"]()))])
    areas = exact[grid.factors(index)[:, 0]] * radius**2
    assert_allclose(grid.images(index, "float32").sum(axis=(1, 2, 3)), areas, rtol=1e-4)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_centroid_moves_linearly_with_position(grid, shape):
    for factor, column in (("x", 0), ("y", 1)):
        path = centroids(drawn(grid, factor, shape=shape, orientation=13))
        assert_allclose(path[:, column], 13.5 + 37 * np.arange(32) / 31, atol=0.02)
        assert np.ptp(path[:, 1 - column]) < 1e-3


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_area_grows_with_the_square_of_the_scale(grid, shape):
    sums = drawn(grid, "scale", shape=shape).sum(axis=(1, 2, 3))
    assert_allclose(sums / sums[-1], np.linspace(0.5, 1, 6) ** 2, rtol=1e-4)


@pytest.mark.parametrize(("shape", "period"), [(0, 10), (1, 20), (2, 40)], ids=SHAPES)
def test_orientation_has_the_symmetry_of_the_shape(grid, shape, period):
    images = drawn(grid, "orientation", shape=shape)[..., 0]
    assert_allclose(np.roll(images, period, axis=0), images, atol=1e-5)
    # No smaller turn looks the same.
    apart = [np.abs(np.roll(images, turn, axis=0) - images).sum() for turn in range(1, period)]
    assert min(apart) > 40 * 10


def test_orientation_turns_clockwise_as_seen(grid):
    centre = at(grid, shape=2, orientation=0, x=15, y=15)
    images = grid.images(grid.traversal("orientation", centre), "float32")[..., 0]
    middle = np.array(centroids(images[:1, ..., None])[0])[::-1] - 0.5  # row, column
    for level in (10, 3):
        angle = 2 * np.pi * level / 40
        # What is at (column, row) = (x, y) came from the place turned back.
        back = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        turned = affine_transform(images[0], back, offset=middle - back @ middle, order=1)
        assert np.abs(turned - images[level]).mean() < 0.01
        assert np.abs(turned - images[-level]).mean() > 0.02


@pytest.mark.parametrize("size", [8, 64])
def test_shapes_stay_inside_the_image(size):
    grid = Sprites(size)
    corners = [
        [s, 5, o, x, y] for s in range(3) for o in range(40) for x in (0, 31) for y in (0, 31)
    ]
    places = [grid.outline(int(i)) for i in grid.index(corners)]
    assert min(outline.min() for outline in places) > 0
    assert max(outline.max() for outline in places) < size


def test_images_change_little_with_every_level(grid):
    for factor in ("scale", "orientation", "x", "y"):
        images = drawn(grid, factor, shape=2)
        step = ((images[1:] - images[:-1]) ** 2).sum(axis=(1, 2, 3))
        # A tenth of the scale moves the rim by a pixel at most, everything else less.
        assert step.min() > 1 and step.max() < 80


def test_distances_are_near_the_published_ones_of_dsprites():
    # Tables 3.1 and A.2: mean image, and mean perceived distance (MSE) along factors and at random.
    published = {"scale": 0.0250, "shape": 0.0214, "orientation": 0.0172, "x": 0.0559, "y": 0.0584}
    grid, rng = Sprites(binary=True), np.random.default_rng(3)
    index = rng.integers(len(grid), size=4000)
    images = grid.images(index, "float32")
    others = grid.images(rng.permutation(index), "float32")
    assert images.mean() == pytest.approx(0.0425, rel=0.08)
    assert ((images - others) ** 2).mean() == pytest.approx(0.0754, rel=0.08)
    for name, distance in published.items():
        j = grid.names.index(name)
        moved = grid.factors(index)
        moved[:, j] = (moved[:, j] + rng.integers(1, grid.sizes[j], len(index))) % grid.sizes[j]
        others = grid.images(grid.index(moved), "float32")
        assert ((images - others) ** 2).mean() == pytest.approx(distance, rel=0.1)


def test_outlines_are_centred_with_longest_radius_one():
    for outline in OUTLINES.values():
        corners = outline()
        assert_allclose(centroid(corners), 0, atol=1e-12)
        assert np.linalg.norm(corners, axis=1).max() == pytest.approx(1, abs=1e-3)
    assert abs(area(ellipse())) == pytest.approx(np.pi / 2.4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_size": 7}, "image_size must be at least 8; got 7"),
        ({"image_size": 64.0}, "image_size must be an integer"),
        ({"binary": "yes"}, "binary must be one of False, True; got 'yes'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        Sprites(**options)
