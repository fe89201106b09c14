import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geodis import FactorGrid, NoiseMasked, Sprites
from geodis.base.check import InputError
from geodis.data.grids.squares import XYSquares


@pytest.fixture(scope="module")
def grid():
    return Sprites()


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
    index = grid.traversal("x", grid.index([[0, 5, 3, 11, 17]])[0])

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
        ((FactorGrid((2, 3)),), "one or three channels; got None"),
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


# ---- photographs of the user's own ----


def test_every_image_has_one_of_the_pictures_attached(rng):
    # As published: pictures of the images' size, one for each image, by the seed.
    pictures = rng.integers(0, 256, (7, 64, 64, 3), dtype=np.uint8)
    masked = NoiseMasked(Sprites(binary=True), 100, random_state=0, pictures=pictures)
    index = rng.integers(len(masked), size=400)
    apart = np.abs(masked.textures(index)[:, None] * 255 - pictures).max(axis=(2, 3, 4))  # (400, 7)
    which = apart.argmin(axis=1)
    assert apart.min(axis=1).max() < 0.01
    assert np.bincount(which, minlength=7).min() > 400 / 7 * 0.6
    images = masked.images(index[:20])
    white = np.repeat(masked.grid.images(index[:20]), 3, axis=3) == 255
    assert (images[white] == 255).all()
    assert_array_equal(images[~white], pictures[which[:20]][~white])


def test_pictures_come_from_a_folder(tmp_path, rng):
    from PIL import Image

    pictures = rng.integers(0, 256, (3, 20, 18, 3), dtype=np.uint8)
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(tmp_path / f"{i}.png")
    small = Sprites(image_size=16)
    given, read = (
        NoiseMasked(small, 50, "foreground", 3, pictures=each) for each in (pictures, tmp_path)
    )
    assert_array_equal(given.images(range(50)), read.images(range(50)))
