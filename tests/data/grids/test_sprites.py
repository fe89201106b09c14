import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import affine_transform

from geodis import FactorGrid, NoiseMasked, Sprites
from geodis.base.check import InputError
from geodis.data.grids.sprite_outlines import OUTLINES, area, centroid, ellipse
from geodis.data.grids.squares import XYSquares
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


# ---- masked by noise ----


def test_no_visibility_is_the_grid_itself(grid, rng):
    index = rng.integers(len(grid), size=20)
    for where in ("background", "foreground"):
        masked = NoiseMasked(grid, 0, where, random_state=0)
        assert masked.image_shape == (64, 64, 3)
        assert_array_equal(masked.images(index), np.repeat(grid.images(index), 3, axis=3))


@pytest.mark.parametrize("visibility", [25, 50, 100])
def test_only_the_masked_side_is_filled(visibility, rng):
    grid = Sprites(binary=True)
    index = rng.integers(len(grid), size=30)
    white = np.repeat(grid.images(index), 3, axis=3) == 255
    share = visibility / 100
    behind = NoiseMasked(grid, visibility, "background", random_state=0)
    texture = behind.textures(index)
    images = behind.images(index, "float32")
    assert (images[white] == 1).all()
    assert_allclose(images[~white], share * texture[~white], atol=1e-6)  # fades to black
    images = NoiseMasked(grid, visibility, "foreground", random_state=0).images(index, "float32")
    assert (images[~white] == 0).all()
    assert_allclose(images[white], 1 - share + share * texture[white], atol=1e-6)  # to white


def test_textures_are_a_function_of_index_and_seed(grid, rng):
    index = rng.integers(len(grid), size=150)  # more than one block
    masked = NoiseMasked(grid, random_state=5)
    images = masked.images(index)
    again = NoiseMasked(grid, random_state=5)
    assert_array_equal(again.images(index[::-1])[::-1], images)
    assert_array_equal(again.images(index[140]), images[140:141])
    other = NoiseMasked(grid, random_state=6).textures(index)
    textures = masked.textures(index).reshape(150, -1)
    same = np.corrcoef(textures, other.reshape(150, -1))
    np.fill_diagonal(same, 0)
    assert np.abs(same).max() < 0.9  # no two alike, though few waves hold most of the power


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_textures_have_the_spectrum_of_natural_images(seed):
    textures = NoiseMasked(Sprites(), random_state=seed).textures(range(300))
    assert textures.dtype == np.float32
    assert 0 <= textures.min() < 0.01 and 0.99 < textures.max() <= 1
    assert textures.mean() == pytest.approx(0.45, abs=0.02)
    assert textures.std() == pytest.approx(0.24, abs=0.02)
    power = (np.abs(np.fft.fft2(textures.mean(axis=3))) ** 2).mean(axis=0)
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(64), np.fft.fftfreq(64), indexing="ij"))
    band = (f >= 2 / 64) & (f <= 0.5)
    slope = np.polyfit(np.log(f[band]), np.log(power[band]), 1)[0]
    assert slope == pytest.approx(-2, abs=0.2)  # holding to [0, 1] flattens it a little
    # No direction is preferred: waves along the axes have the power of the others.
    assert power[0, 4:12].sum() == pytest.approx(power[4:12, 0].sum(), rel=0.2)
    ring = (np.abs(f - 8 / 64) < 0.5 / 64) & (f > 0)
    assert power[0, 8] == pytest.approx(power[ring].mean(), rel=0.35)


def test_textures_are_in_colour():
    textures = NoiseMasked(Sprites(), random_state=0).textures(range(100)).reshape(-1, 3)
    between = np.corrcoef(textures.T)[np.triu_indices(3, 1)]
    assert (between > 0.7).all() and (between < 0.99).all()


def test_any_grid_with_images_can_be_masked(rng):
    squares = XYSquares()
    masked = NoiseMasked(squares, 100, random_state=0)
    assert masked.sizes == squares.sizes and masked.names == squares.names
    index = rng.integers(len(squares), size=5)
    images, masks = masked.images(index), squares.images(index)
    lit = masks.max(axis=3) == 255
    assert_array_equal(images[lit], masks[lit])
    observed = FactorGrid.from_arrays(np.zeros((3, 8, 9), np.uint8), [[0, 1], [1, 0], [1, 1]])
    masked = NoiseMasked(observed, random_state=0)
    assert len(masked) == 3 and not masked.complete and masked.note == observed.note
    assert_array_equal(masked.factors([2]), observed.factors([2]))
    assert masked.index([[1, 0]]) == observed.index([[1, 0]])
    assert masked.images(range(3)).shape == (3, 8, 9, 3)  # an odd width


def test_masked_distances_say_less_of_the_factors():
    # Figure 7.5: noise hides the order of distances along a traversal.
    grid = Sprites(binary=True)
    index = grid.traversal("x", at(grid))

    def spread(visibility):
        images = NoiseMasked(grid, visibility, random_state=1).images(index, "float32")
        apart = ((images - images[:1]) ** 2).mean(axis=(1, 2, 3))
        return np.corrcoef(apart, np.abs(np.arange(32)))[0, 1]

    assert spread(0) > spread(100) + 0.2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Sprites(), 101), "visibility must be between 0 and 100; got 101"),
        ((Sprites(), 50, "middle"), "where must be one of 'background', 'foreground'"),
        ((np.zeros((3, 8, 8)),), "grid must be a FactorGrid; got ndarray"),
        ((FactorGrid((2, 3)),), "one channel or three; got None"),
    ],
)
def test_bad_masks(arguments, message):
    with pytest.raises(InputError, match=message):
        NoiseMasked(*arguments)


def test_torch_loads_batches():
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader(NoiseMasked(Sprites(), random_state=0), batch_size=4)
    batch = next(iter(loader))
    assert batch.shape == (4, 3, 64, 64) and batch.dtype == torch.float32
