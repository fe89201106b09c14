"""Grids of factors: the index is row-major, images come by index, samples say what they lack."""

import numpy as np
import pandas as pd
import pytest

from geodis.base.check import InputError
from geodis.data.factors import Factors
from geodis.data.grids.grid import FactorGrid, latents_of

SIZES = (2, 3, 4)


class Painted(FactorGrid):
    """Images of 2 x 5 x 3 whose pixels name their factors."""

    def __init__(self, scale=1):
        super().__init__(SIZES, names=("a", "b", "c"), image_shape=(2, 5, 3))
        self.scale = scale
        self.drawn = []

    def _draw(self, index):
        self.drawn.append(len(index))
        images = np.zeros((len(index), 2, 5, 3), dtype=np.uint8)
        images[:, 0, 0] = self._factors(index)
        return images * np.uint8(self.scale)


def all_rows(sizes=SIZES):
    """Every combination in row-major order, written with loops."""
    rows: list[tuple[int, ...]] = [()]
    for size in sizes:
        rows = [(*row, k) for row in rows for k in range(size)]
    return np.array(rows)


def images_of(rows):
    """One 4 x 4 image a row, which differ."""
    n = len(rows)
    return np.arange(n * 16, dtype=np.uint32).astype(np.uint8).reshape(n, 4, 4, 1) ^ np.arange(
        n, dtype=np.uint8
    ).reshape(n, 1, 1, 1)


# Index and factors


def test_index_is_row_major():
    grid = FactorGrid(SIZES)
    assert len(grid) == 24
    np.testing.assert_array_equal(grid.factors(np.arange(24)), all_rows())
    np.testing.assert_array_equal(grid.index(all_rows()), np.arange(24))


@pytest.mark.parametrize("sizes", [(1,), (7,), (1, 1, 5), (40, 32, 32, 6, 3), (2**31, 2**31)])
def test_index_inverts_factors(sizes, rng):
    grid = FactorGrid(sizes)
    index = rng.integers(len(grid), size=200)
    factors = grid.factors(index)
    assert factors.dtype == np.int64 and factors.shape == (200, len(sizes))
    assert ((factors >= 0) & (factors < sizes)).all()
    np.testing.assert_array_equal(grid.index(factors), index)


def test_one_index_is_one_row():
    grid = Painted()
    assert grid.factors(23).tolist() == [[1, 2, 3]]
    assert grid.factors(np.int16(23)).tolist() == [[1, 2, 3]]
    assert grid.index((1, 2, 3)).tolist() == [23]
    assert grid.images(23).shape == (1, 2, 5, 3)
    assert grid.factors([]).shape == (0, 3)
    assert grid.images([]).shape == (0, 2, 5, 3)


def test_tensors_and_frames_are_indices_and_factors():
    torch = pytest.importorskip("torch")
    grid = FactorGrid(SIZES)
    assert grid.factors(torch.tensor([5])).tolist() == [[0, 1, 1]]
    assert grid.index(pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]})).tolist() == [23]


@pytest.mark.parametrize("j", [0, 1, 2])
def test_traversal_changes_one_factor_alone(j):
    grid = FactorGrid(SIZES, names="abc")
    for at in range(len(grid)):
        along = grid.factors(grid.traversal(j, at))
        np.testing.assert_array_equal(along[:, j], np.arange(SIZES[j]))
        others = np.arange(3) != j
        assert (along[:, others] == grid.factors(at)[:, others]).all()
    every = grid.traversal("abc"[j], np.arange(len(grid)))
    assert every.shape == (24, SIZES[j])
    np.testing.assert_array_equal(every[7], grid.traversal(j, 7))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda grid: grid.factors(24), "index must be between 0 and 23; got 24"),
        (lambda grid: grid.images([3, -1]), "index must be between 0 and 23; got -1"),
        (lambda grid: grid.factors([[1]]), r"one number or of shape \(n,\); got shape \(1, 1\)"),
        (lambda grid: grid.factors([0.5]), "index must hold whole numbers; got dtype float64"),
        (lambda grid: grid.factors([True]), "index must hold whole numbers; got dtype bool"),
        (lambda grid: grid.factors(["x"]), "index must hold whole numbers"),
        (lambda grid: grid.index([[0, 3, 0]]), "b must be between 0 and 2; got 3"),
        (lambda grid: grid.index([[0, 0, -1]]), "c must be between 0 and 3; got -1"),
        (lambda grid: grid.index([[0, 1]]), r"3 columns \(a, b, c\); got shape \(1, 2\)"),
        (lambda grid: grid.traversal("d", 0), "factor must be one of a, b, c; got 'd'"),
        (lambda grid: grid.traversal(3, 0), "factor must be between 0 and 2; got 3"),
        (lambda grid: grid.images(0, "float64"), "dtype must be one of 'uint8', 'float32'"),
        (lambda grid: FactorGrid(()), "one number per factor; got none"),
        (lambda grid: FactorGrid((2, 0)), "A size must be at least 1; got 0"),
        (lambda grid: FactorGrid((2, 2), names="aa"), "names must be 2 different names"),
        (lambda grid: FactorGrid((2, 2), names="a"), "names must be 2 different names"),
        (lambda grid: FactorGrid((2**40, 2**40)), "must have at most 2\\^63 - 1 combinations"),
        (lambda grid: FactorGrid((2,)).images(0), "got factors without images"),
    ],
)
def test_what_cannot_be_is_said(call, message):
    with pytest.raises(InputError, match=message):
        call(Painted())


def test_a_grid_prints_as_a_table():
    assert str(Painted()).splitlines() == [
        "Painted with 24 images of 2 x 5 x 3",
        "factor  name  size",
        "     0  a        2",
        "     1  b        3",
        "     2  c        4",
    ]
    assert repr(Painted()) == "Painted(a=2, b=3, c=4)"


# Images


def test_float_images_are_in_0_1():
    grid = Painted(scale=85)
    images = grid.images([0, 23], dtype="float32")
    assert images.dtype == np.float32
    np.testing.assert_array_equal(
        images[:, 0, 0], np.array([[0, 0, 0], [1 / 3, 2 / 3, 1]], np.float32)
    )
    assert grid.images(23)[0, 0, 0].tolist() == [85, 170, 255]


def test_dataloader_batches_are_drawn_at_once():
    torch = pytest.importorskip("torch")
    grid = Painted(scale=85)
    batches = list(torch.utils.data.DataLoader(grid, batch_size=10))
    assert [tuple(batch.shape) for batch in batches] == [(10, 3, 2, 5), (10, 3, 2, 5), (4, 3, 2, 5)]
    assert grid.drawn == [10, 10, 4]
    assert batches[0].dtype == torch.float32
    whole = torch.cat(batches).numpy()
    np.testing.assert_array_equal(
        whole, grid.images(np.arange(24), "float32").transpose(0, 3, 1, 2)
    )


def test_a_grid_is_a_sequence_of_images():
    grid = Painted(scale=85)
    assert len([*grid]) == 24  # type: ignore[misc]
    np.testing.assert_array_equal(grid[-1], grid[23])
    assert grid[23].shape == (3, 2, 5) and grid[23].dtype == np.float32
    with pytest.raises(IndexError, match="index 24 is out of range for 24 images"):
        grid[24]


# Arrays of the user


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_in_any_order_make_the_grid(seed):
    rows = all_rows()
    images = images_of(rows)
    shuffle = np.random.default_rng(seed).permutation(len(rows))
    grid = FactorGrid.from_arrays(images[shuffle], rows[shuffle])
    assert grid.complete and not grid.note
    assert grid.sizes == SIZES and grid.image_shape == (4, 4, 1)
    np.testing.assert_array_equal(grid.images(np.arange(24)), images)
    np.testing.assert_array_equal(grid.factors(np.arange(24)), rows)
    grid.require_complete("A test")


def test_values_become_numbers_in_their_order():
    frame = pd.DataFrame({"shape": ["dot", "box", "dot", "box"], "x": [0.5, 0.5, -1.0, -1.0]})
    grid = FactorGrid.from_arrays(None, frame)
    assert grid.names == ("shape", "x") and grid.sizes == (2, 2) and grid.complete
    assert grid.values[0].tolist() == ["box", "dot"] and grid.values[1].tolist() == [-1.0, 0.5]
    named = FactorGrid.from_arrays(None, Factors(np.array([[0.0], [2.0]]), ("x",)))
    assert named.names == ("x",) and named.sizes == (2,)
    assert FactorGrid.from_arrays(None, [3, 1, 2], names=["y"]).sizes == (3,)


def test_a_sample_keeps_its_rows_and_says_what_is_missing():
    rows = all_rows()[[5, 3, 20, 3]]
    grid = FactorGrid.from_arrays(images_of(all_rows())[[5, 3, 20, 3]], rows, sizes=SIZES)
    assert not grid.complete and len(grid) == 4
    assert (
        grid.note == "3 of 24 combinations of the factors are present; rows that repeat one: 1."
    ) and grid.note in str(grid)
    np.testing.assert_array_equal(grid.factors(np.arange(4)), rows)
    np.testing.assert_array_equal(grid.images([0, 2]), images_of(all_rows())[[5, 20]])
    assert grid.index(rows).tolist() == [0, 1, 2, 1]
    with pytest.raises(
        InputError, match="1 of 2 combinations were not observed, such as factor 0=1, factor 1=2"
    ):
        grid.index([[0, 1, 1], [1, 2, 3]])
    with pytest.raises(InputError, match="were not observed"):
        grid.traversal(2, at=0)
    with pytest.raises(InputError, match="A test needs every combination of the factors once: 3 "):
        grid.require_complete("A test")


def test_a_line_of_a_sample_can_be_traversed():
    rows = [[0, 1], [0, 0], [0, 2], [1, 1]]
    grid = FactorGrid.from_arrays(None, rows)
    assert grid.traversal(1, at=2).tolist() == [1, 0, 2]


def test_images_may_be_drawn_by_a_callable():
    rows = all_rows()

    def draw(factors):
        return np.ones((len(factors), 3, 3)) * factors[:, :1, None] / 2

    grid = FactorGrid.from_arrays(draw, rows)
    assert grid.image_shape == (3, 3, 1)
    assert grid.images([0, 23])[:, 0, 0, 0].tolist() == [0, 128]
    np.testing.assert_array_equal(grid.images([0, 23], "float32")[:, 0, 0, 0], [0, 0.5])
    with pytest.raises(InputError, match=r"one image for each of 2 rows.*got shape \(1, 3, 3\)"):
        FactorGrid.from_arrays(lambda factors: np.ones((1, 3, 3)), rows).images([0, 1])


def test_auto_leaves_bytes_as_they_are_and_floats_unrounded():
    factors = np.arange(4)[:, None]
    floats = np.random.default_rng(0).random((4, 2, 2, 1), dtype=np.float32)
    images = FactorGrid.from_arrays(floats, factors).images(range(4), "auto")
    assert images.dtype == np.float32
    np.testing.assert_array_equal(images, floats)
    bytes_ = (255 * floats).astype(np.uint8)
    images = FactorGrid.from_arrays(bytes_, factors).images(range(4), "auto")
    assert images.dtype == np.uint8
    np.testing.assert_array_equal(images, bytes_)


@pytest.mark.parametrize("kind", ["bool", "memmap", "h5py", "tensor"])
def test_images_of_every_kind(kind, tmp_path):
    rows = all_rows()
    images = (images_of(rows) > 100) if kind == "bool" else images_of(rows)
    expected = np.where(images, 255, 0) if kind == "bool" else images
    if kind == "memmap":
        np.save(tmp_path / "images.npy", images)
        images = np.load(tmp_path / "images.npy", mmap_mode="r")
    elif kind == "tensor":
        images = pytest.importorskip("torch").from_numpy(images)
    elif kind == "h5py":
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "images.h5", "w") as file:
            file["images"] = images
        images = h5py.File(tmp_path / "images.h5", "r")["images"]
    grid = FactorGrid.from_arrays(images, rows)
    index = np.array([23, 0, 5, 0])
    assert grid.images(index).dtype == np.uint8
    np.testing.assert_array_equal(grid.images(index), expected[index])
    assert grid.images([]).shape == (0, 4, 4, 1)
    if kind == "h5py":
        images.file.close()


@pytest.mark.parametrize(
    ("images", "factors", "message"),
    [
        (np.zeros((3, 4, 4), np.uint8), [0, 1], r"n = 2, the number of .*got shape \(3, 4, 4\)"),
        (np.zeros((2, 4), np.uint8), [0, 1], r"got shape \(2, 4\)"),
        (np.zeros((2, 3, 8, 8), np.uint8), [0, 1], r"transpose\(0, 2, 3, 1\)"),
        (np.zeros((2, 4, 4), np.int64), [0, 1], "floats in .* got an array of dtype int64"),
        (None, [0.0, np.nan], "factor 0 must be finite; got NaN in 1"),
        (None, np.array([["a"], [None]], dtype=object), "factor 0 must have a value in every row"),
        (None, pd.DataFrame({"x": ["a", pd.NA]}, dtype=object), "'x' must .* 1 missing"),
        (None, pd.DataFrame({"x": [0.5, np.nan]}), "factor 'x' must be finite; got NaN in 1"),
        (None, np.zeros((2, 2, 2)), r"shape \(n, f\), one row per point; got shape \(2, 2, 2\)"),
        (None, np.zeros((0, 2)), "at least one row and one factor; got none"),
        (None, np.random.default_rng(0).random((9999, 5)), "bin continuous factors first"),
        (None, [1j, 2j], "factor 0 must hold real numbers or labels; got complex numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(images, factors, message):
    with pytest.raises(InputError, match=message):
        FactorGrid.from_arrays(images, factors)


def test_float_images_outside_0_1_are_refused():
    grid = FactorGrid.from_arrays(np.full((2, 4, 4), 200.0), [0, 1])
    with pytest.raises(InputError, match=r"must be in \[0, 1\]; got 200 to 200"):
        grid.images(0)


# Codes


def test_latents_of_a_table_are_its_rows():
    grid = FactorGrid(SIZES)
    table = np.arange(48, dtype=np.float32).reshape(24, 2)
    latents = latents_of(grid, table)([3, 3, 0])
    assert latents.dtype == np.float32  # what compares them must know
    np.testing.assert_array_equal(latents, table[[3, 3, 0]])


def test_latents_of_an_encoder_are_computed_in_batches():
    torch = pytest.importorskip("torch")
    grid = Painted(scale=85)
    seen = []

    def encode(images):
        assert images.dtype == np.float32 and images.shape[1:] == (2, 5, 3)
        seen.append(len(images))
        return torch.from_numpy(images[:, 0, 0] * 3)

    latents = latents_of(grid, encode, batch_size=10)
    np.testing.assert_allclose(latents(np.arange(24)), all_rows(), rtol=1e-6)
    assert seen == [10, 10, 4]
    assert latents([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (np.zeros((23, 2)), r"have shape \(24, z\).*got shape \(23, 2\)"),
        (np.zeros(24), r"got shape \(24,\)"),
        (np.full((24, 2), np.inf), "code must be finite"),
        (
            lambda images: np.zeros((1, 2)),
            r"latents of shape \(5, z\) for 5 images; got shape \(1, 2\)",
        ),
        (lambda images: np.full((len(images), 2), np.nan), "latents must be finite"),
    ],
)
def test_codes_that_do_not_fit_are_refused(code, message):
    with pytest.raises(InputError, match=message):
        latents_of(Painted(), code)(np.arange(5))
