"""Blocks hold what `perceived` says of each pair, whatever their size, the engine or the file."""

import numpy as np
import pytest

from geodis import distances
from geodis.base.check import InputError


def whole(images, others, loss):
    """Every pair, one by one."""
    left, right = np.indices((len(images), len(others))).reshape(2, -1)
    return distances.perceived(images[left], others[right], loss).reshape(len(images), -1)


def together(blocks, shape):
    found = np.full(shape, np.nan)
    for block in blocks:
        found[block.rows, block.columns] = block.distances
    return found


@pytest.mark.parametrize("loss", ["mse", "mae", "bce", "box:2", lambda x, y: (x - y)[:, 0, 0, 0]])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_blocks_are_the_whole(rng, loss, dtype):
    images = rng.integers(256, size=(11, 6, 5, 2)).astype(dtype)
    others = rng.integers(256, size=(7, 6, 5, 2)).astype(dtype)
    if dtype == np.float32:
        images, others = images / np.float32(255), others / np.float32(255)
    wanted = whole(images, others, loss)
    for block in (1, 3, 100):
        found = together(distances.distance_blocks(images, others, loss, block=block), (11, 7))
        np.testing.assert_array_equal(found, wanted)


def test_of_one_set_the_upper_half_is_enough(rng):
    images = rng.integers(256, size=(10, 4, 4), dtype=np.uint8)
    found = together(distances.distance_blocks(images, block=4), (10, 10))
    above = np.isfinite(found)
    assert above[np.triu_indices(10)].all() and not above[8:, :4].any()
    wanted = whole(images, images, "mse")
    np.testing.assert_array_equal(np.where(above, found, found.T), wanted)
    full = together(distances.distance_blocks(images, loss="bce", block=4), (10, 10))
    np.testing.assert_array_equal(full, whole(images, images, "bce"))


def test_neighbours_are_those_of_the_whole_matrix(rng):
    for seed in range(3):
        few = np.random.default_rng(seed).integers(3, size=(40, 2, 2), dtype=np.uint8)  # many ties
        matrix = whole(few, few, "mse")
        np.fill_diagonal(matrix, np.inf)
        order = np.argsort(matrix, axis=1, kind="stable")[:, :5]
        for block in (1, 7, 64):
            found = distances.nearest_images(few, k=5, block=block)
            np.testing.assert_array_equal(found.index, order)
            np.testing.assert_array_equal(found.distances, np.take_along_axis(matrix, order, 1))
            np.fill_diagonal(matrix, 0)
            np.testing.assert_allclose(found.mean, matrix.sum(axis=1) / 39, rtol=1e-12)
            np.fill_diagonal(matrix, np.inf)
    others = rng.integers(3, size=(9, 2, 2), dtype=np.uint8)
    found = distances.nearest_images(few, others, k=9)
    np.testing.assert_array_equal(found.index[:, :1], whole(few, others, "mse").argmin(1)[:, None])


def test_workers_read_a_file_themselves_and_find_the_same(rng, tmp_path, client):
    images = rng.integers(256, size=(30, 4, 4, 1), dtype=np.uint8)
    np.save(tmp_path / "images.npy", images)
    wanted = distances.nearest_images(images, k=3, block=8)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    for source in (tmp_path / "images.npy", mapped, images):
        found = distances.nearest_images(source, k=3, block=8, cluster=client)
        np.testing.assert_array_equal(found.index, wanted.index)
        np.testing.assert_array_equal(found.distances, wanted.distances)
        np.testing.assert_array_equal(found.mean, wanted.mean)


def test_a_part_of_a_mapped_file_is_that_part(rng, tmp_path):
    images = rng.integers(256, size=(30, 4, 4), dtype=np.uint8)
    np.save(tmp_path / "images.npy", images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    for part in (slice(10, 20), slice(0, 30, 2), slice(None, None, -1)):
        found = distances.nearest_images(mapped[part], k=2, block=4)
        wanted = distances.nearest_images(images[part], k=2, block=4)
        np.testing.assert_array_equal(found.index, wanted.index)


def test_wrong_sets_are_one_sentence(rng, tmp_path):
    images = rng.integers(256, size=(5, 4, 4), dtype=np.uint8)
    for others, options, said in (
        (images[:, :3], {}, "must have the same shape"),
        (None, {"k": 5}, "k must be between 1 and 4; got 5"),
        (None, {"block": 0}, "block must be at least 1"),
        (images.astype(int), {}, "others must be uint8"),
        (None, {"loss": "no"}, "loss must be one of"),
    ):
        with pytest.raises(InputError, match=said):
            distances.nearest_images(images, others, **options)
    with pytest.raises(InputError, match="need another image"):
        distances.nearest_images(images[:1], k=1)
    with pytest.raises(InputError, match="Images of floats must be in"):
        list(distances.distance_blocks(images * 2.0))
