"""Published data sets: files of the published layout, with images of very few pixels."""

import gzip
import pickle
import struct

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.data.files.open_rows import BinaryImages
from geodis.data.grids import published
from geodis.data.grids.observed import resize
from geodis.data.grids.published import published_grid
from geodis.data.grids.variants import ColorVariant
from geodis.distances.grid_distances import GridDistances
from geodis.distances.sampling import sample_triplets

COUNTS = {"dsprites": 737_280, "shapes3d": 480_000, "cars3d": 17_568, "smallnorb": 24_300}


def pixels(n, *shape):
    """Images that differ from their neighbours."""
    return np.random.default_rng(n).integers(256, size=(n, *shape), dtype=np.uint8)


def row_major(*sizes):
    return np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)


def write_dsprites(folder, scale=1, compressed=True, **changes):
    images = (pixels(COUNTS["dsprites"], 2, 3) > 99).astype(np.uint8) * scale
    arrays = {
        # The published file has a pickle, which must not be opened.
        "metadata": np.array({"title": "dSprites"}, dtype=object),
        "imgs": images,
        "latents_classes": np.insert(row_major(3, 6, 40, 32, 32), 0, 0, axis=1).astype(np.uint8),
    }
    arrays.update(changes)
    save = np.savez_compressed if compressed else np.savez
    path = folder / "dsprites.npz"
    save(path, **{key: array for key, array in arrays.items() if array is not None})
    return path, images[..., None] * np.uint8(255)


def write_shapes3d(folder, chunks=None):
    h5py = pytest.importorskip("h5py")
    n = COUNTS["shapes3d"]
    images = pixels(n, 2, 1, 3)
    sizes = (10, 10, 10, 8, 4, 15)
    values = [np.linspace(0, 1, size) for size in sizes]
    values[-1] = np.linspace(-30, 30, 15)
    labels = np.column_stack([v[k] for v, k in zip(values, row_major(*sizes).T, strict=True)])
    with h5py.File(folder / "3dshapes.h5", "w") as file:
        compression = None if chunks is None else "lzf"
        file.create_dataset("images", data=images, chunks=chunks, compression=compression)
        file["labels"] = labels
    return folder / "3dshapes.h5", images


def write_cars3d(folder, listed=False, version_7_3=()):
    """Images (4, 24, 183, 2, 2, 3), and one file a car."""
    from scipy.io import savemat

    images = pixels(COUNTS["cars3d"], 2, 2, 3).reshape(4, 24, 183, 2, 2, 3)
    names = [f"car_{k:03d}_mesh" for k in range(183)]
    if listed:
        names = names[::-1]
        (folder / "list.txt").write_text("\n".join(names) + "\n")
    for k, name in enumerate(names):
        im = images[:, :, k].transpose(2, 3, 4, 1, 0)  # (h, w, 3, azimuth, elevation)
        if k in version_7_3:
            h5py = pytest.importorskip("h5py")
            # MATLAB writes a header of 512 bytes before the HDF5 file.
            with h5py.File(folder / f"{name}.mat", "w", userblock_size=512) as file:
                file["im"] = im.T
            header = b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<HH", 0x0200, 0x4D49)
            with (folder / f"{name}.mat").open("r+b") as file:
                file.write(header)
        else:
            savemat(folder / f"{name}.mat", {"im": im, "mask": im[:, :, 0]})
    return folder, images.reshape(-1, 2, 2, 3)


def write_matrix(path, array, kind, packed=False):
    sizes = (*array.shape, 1, 1)[: max(3, array.ndim)]
    data = struct.pack(f"<Ii{len(sizes)}i", kind, array.ndim, *sizes) + array.tobytes()
    if packed:
        path = path.with_name(f"{path.name}.gz")
        data = gzip.compress(data, 1)
    path.write_bytes(data)


def write_smallnorb(folder, half="training", packed=False, cut=0):
    """One half; the rows are shuffled, and the published images are the grid's."""
    instances = np.array([4, 6, 7, 8, 9] if half == "training" else [0, 1, 2, 3, 5])
    rows = row_major(5, 5, 9, 18, 6)
    order = np.random.default_rng(3).permutation(len(rows))
    rows, images = rows[order], pixels(COUNTS["smallnorb"], 2, 2, 2)
    info = np.column_stack([instances[rows[:, 1]], rows[:, 2], 2 * rows[:, 3], rows[:, 4]])
    name = "smallnorb-5x46789x9x18x6x2x2x2"
    write_matrix(folder / f"{name}-{half}-dat.mat", images, 0x1E3D4C55, packed)
    write_matrix(folder / f"{name}-{half}-cat.mat", rows[:, 0].astype("<i4"), 0x1E3D4C54, packed)
    write_matrix(folder / f"{name}-{half}-info.mat", info.astype("<i4"), 0x1E3D4C54, packed)
    if cut:
        path = folder / f"{name}-{half}-dat.mat{'.gz' if packed else ''}"
        path.write_bytes(path.read_bytes()[:-cut])
    return folder, images[np.argsort(order), 0, :, :, None]


def write_mpi3d(folder, n=460_800, compressed=False):
    images = pixels(n, 1, 2, 3)
    (np.savez_compressed if compressed else np.savez)(folder / "mpi3d.npz", images=images)
    return folder / "mpi3d.npz", images


def check(grid, images, seed=0):
    index = np.random.default_rng(seed).integers(len(images), size=64)
    assert grid.complete and len(grid) == len(images)
    assert grid.image_shape == images.shape[1:]
    np.testing.assert_array_equal(grid.images(index), images[index])


def test_dsprites_takes_a_bit_a_pixel(tmp_path):
    path, images = write_dsprites(tmp_path)
    grid = published_grid("dsprites", path)
    check(grid, images)
    assert grid.sizes == (3, 6, 40, 32, 32)
    assert grid.names == ("shape", "scale", "orientation", "x", "y")
    assert isinstance(grid._images, BinaryImages)
    assert grid._images._bits.nbytes == len(images)  # 6 pixels fit one byte
    # Orientations are linspace(0, 2 pi, 40): values 0 and 39 are one, and steps of a turn 39.
    assert grid.kinds == ("labels", "numbers", "cyclic", "numbers", "numbers")
    for own in (grid, ColorVariant(grid)):
        assert own.periods == (3, 6, 39, 32, 32)
        assert own.known_factors([0]).periods == {"orientation": 39.0}
        turn = own.traversal("orientation", at=0)
        for scaled, longest in ((False, 19), (True, 1)):
            distances = GridDistances(own, loss=None, scaled=scaled)
            found = distances.between([turn[0]] * 3, turn[[39, 38, 19]], "ground truth")
            np.testing.assert_allclose(found, np.array([0, 1, 19]) * longest / 19)
        triplets = sample_triplets(own, 200, "differing", among=turn, strict=False, random_state=0)
        assert not ((triplets[:, 0] == turn[0]) & (triplets[:, 2] == turn[39])).any()


@pytest.mark.parametrize("chunks", [None, (1000, 1, 1, 3)])
def test_shapes3d_stays_in_its_file(tmp_path, chunks):
    path, images = write_shapes3d(tmp_path, chunks)
    grid = published_grid("shapes3d", path)
    check(grid, images)
    assert grid.sizes == (10, 10, 10, 8, 4, 15)
    assert grid.values[5].tolist() == np.linspace(-30, 30, 15).tolist()
    check(pickle.loads(pickle.dumps(grid)), images, seed=1)


@pytest.mark.parametrize("listed", [False, True])
def test_cars3d_is_read_car_by_car(tmp_path, listed):
    path, images = write_cars3d(tmp_path, listed, version_7_3=(0, 100))
    grid = published_grid("cars3d", path)
    check(grid, images)
    assert grid.sizes == (4, 24, 183)
    assert grid.names == ("elevation", "azimuth", "object_type")


@pytest.mark.parametrize("packed", [False, True])
def test_smallnorb_gives_the_first_camera(tmp_path, packed):
    path, images = write_smallnorb(tmp_path, packed=packed)
    grid = published_grid("smallnorb", path)
    check(grid, images)
    assert grid.names == ("category", "instance", "elevation", "rotation", "lighting")
    assert grid.values[1].tolist() == [4, 6, 7, 8, 9]
    assert grid.values[3].tolist() == list(range(0, 36, 2))


def test_smallnorb_has_two_halves(tmp_path):
    path, training = write_smallnorb(tmp_path)
    _, testing = write_smallnorb(tmp_path, "testing")
    check(published_grid("smallnorb", f"{path}:testing"), testing)
    both = published_grid("smallnorb", f"{path}:both")
    assert both.sizes == (5, 10, 9, 18, 6) and len(both) == 48_600
    # Instance 4 is the first of the training half, and 5 the last of the testing half.
    at = both.index([[2, 4, 3, 5, 1], [2, 5, 3, 5, 1]])
    halves = published_grid("smallnorb", path)
    expected = [training[halves.index([2, 0, 3, 5, 1])], testing[halves.index([2, 4, 3, 5, 1])]]
    np.testing.assert_array_equal(both.images(at), np.concatenate(expected))


@pytest.mark.parametrize(
    ("n", "sizes"), [(460_800, (4, 4, 2, 3, 3, 40, 40)), (1_036_800, (6, 6, 2, 3, 3, 40, 40))]
)
def test_mpi3d_has_two_layouts(tmp_path, n, sizes):
    path, images = write_mpi3d(tmp_path, n)
    grid = published_grid("mpi3d", path)
    check(grid, images)
    assert grid.sizes == sizes
    assert isinstance(grid._images, np.memmap)  # the file is not compressed


def test_compressed_files_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("geodis.data.files.open_rows.ARCHIVE_BLOCK_BYTES", 100_000)
    path, images = write_mpi3d(tmp_path, compressed=True)
    check(published_grid("mpi3d", path), images)


def test_a_cache_is_used_from_then_on(tmp_path):
    path, images = write_smallnorb(tmp_path)
    cache = tmp_path / "cache" / "norb.npy"
    small = resize(images, 1)
    check(published_grid("smallnorb", path, image_size=1, cache=cache), small)
    for file in tmp_path.glob("*dat.mat"):  # the header alone is still needed
        file.write_bytes(file.read_bytes()[:24])
    check(published_grid("smallnorb", path, image_size=1, cache=cache), small)
    with pytest.raises(InputError, match=r"of shape \(24300, 3, 3, 1\) to serve as a cache"):
        published_grid("smallnorb", path, image_size=3, cache=cache)
    with pytest.raises(InputError, match=r"path of an npy file; got .*norb.npz"):
        published_grid("smallnorb", path, cache=tmp_path / "norb.npz")


def test_an_interrupt_leaves_no_cache(tmp_path, monkeypatch):
    path, _ = write_smallnorb(tmp_path)

    def interrupt(images, size):
        raise KeyboardInterrupt

    monkeypatch.setattr(published, "resize", interrupt)
    with pytest.raises(KeyboardInterrupt):
        published_grid("smallnorb", path, image_size=1, cache=tmp_path / "new" / "norb.npy")
    assert list((tmp_path / "new").iterdir()) == []


def test_images_are_resized_in_memory(tmp_path):
    path, images = write_dsprites(tmp_path)
    grid = published_grid("dsprites", path, image_size=1)
    check(grid, resize(images, 1))


# Files that are not as published


def test_dsprites_of_another_layout_is_refused(tmp_path):
    cases = [
        (
            {"imgs": np.zeros((5, 2, 2), np.uint8)},
            r"\(737280, h, w\); got uint8 of shape \(5, 2, 2\)",
        ),
        ({"imgs": None}, "has no array 'imgs'; it holds"),
        ({"latents_classes": np.zeros((5, 6), np.uint8)}, r"\(737280, 6\); got \(5, 6\)"),
        (
            {"latents_classes": np.zeros((737_280, 6), np.uint8)},
            r"\(3 x 6 x 40 x 32 x 32\) once; got sizes 1 x 1 x 1 x 1 x 1. 1 of 1 combinations",
        ),
    ]
    for changes, message in cases:
        path, _ = write_dsprites(tmp_path, compressed=False, **changes)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=message):
            published_grid("dsprites", path)
    path, _ = write_dsprites(tmp_path, scale=2)
    with pytest.raises(InputError, match=r"imgs in .* must hold 0 and 1; got 2"):
        published_grid("dsprites", path)


def test_damaged_files_are_named(tmp_path):
    path, _ = write_smallnorb(tmp_path, cut=100)
    with pytest.raises(InputError, match=r"training-dat.mat cannot be read as .mat: an array"):
        published_grid("smallnorb", path)
    with pytest.raises(InputError, match=r"-dat.mat cannot be read .* ends after 2428. of 24300"):
        published_grid("smallnorb", path, image_size=1)
    for file in tmp_path.glob("*cat.mat"):
        file.write_bytes(b"no matrix at all")
    with pytest.raises(
        InputError, match=r"cat.mat cannot be read as .mat: a NORB matrix must begin"
    ):
        published_grid("smallnorb", path)
    (tmp_path / "3dshapes.h5").write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match=r"3dshapes.h5 cannot be read .* an HTML or XML page"):
        published_grid("shapes3d", tmp_path / "3dshapes.h5")
    whole, _ = write_mpi3d(tmp_path)
    whole.write_bytes(whole.read_bytes()[:-5000])
    with pytest.raises(InputError, match=r"mpi3d.npz cannot be read as .npz"):
        published_grid("mpi3d", whole)


def test_other_shapes_are_refused(tmp_path):
    from scipy.io import savemat

    h5py = pytest.importorskip("h5py")
    np.savez(tmp_path / "mpi3d.npz", images=np.zeros((7, 2, 2, 3), np.uint8))
    message = r"\(1036800 or 460800, h, w, 3\); got uint8 of shape \(7, 2"
    with pytest.raises(InputError, match=message):
        published_grid("mpi3d", tmp_path / "mpi3d.npz")
    with h5py.File(tmp_path / "3dshapes.h5", "w") as file:
        file["images"] = np.zeros((480_000, 1, 1, 3), np.uint8)
    with pytest.raises(InputError, match="has no array 'labels'; it holds images"):
        published_grid("shapes3d", tmp_path / "3dshapes.h5")
    with pytest.raises(InputError, match="must hold the mat files of 183 cars; got 0"):
        published_grid("cars3d", tmp_path)
    for k in range(183):
        savemat(tmp_path / f"car_{k:03d}.mat", {"im": np.zeros((2, 2, 3, 24, 5), np.uint8)})
    with pytest.raises(InputError, match=r"car_000.mat must be uint8 of shape \(h, w, 3, 24, 4\)"):
        published_grid("cars3d", tmp_path)
    with pytest.raises(InputError, match=r"\*training-dat.mat or .*gz; there is none"):
        published_grid("smallnorb", tmp_path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda folder: published_grid("mnist", folder), "name must be one of 'dsprites', "),
        (lambda folder: published_grid("cars3d", folder / "no"), "must be a folder; there is none"),
        (lambda folder: published_grid("dsprites", folder), "must be a file; got a folder"),
        (lambda folder: published_grid("smallnorb", f"{folder}:all"), "after the colon must be"),
        (lambda folder: published_grid("cars3d", folder, image_size=0), "at least 1; got 0"),
    ],
)
def test_wrong_calls_are_refused(call, message, tmp_path):
    with pytest.raises(InputError, match=message):
        call(tmp_path)


# Resizing


@pytest.mark.parametrize(("before", "after"), [((9, 9), 6), ((16, 12), 8), ((5, 7), 12)])
def test_resize_equals_the_bilinear_filter_of_an_image_library(before, after):
    Image = pytest.importorskip("PIL.Image")
    images = pixels(4, *before, 3)
    for image, ours in zip(images, resize(images, after), strict=True):
        theirs = Image.fromarray(image).resize((after, after), Image.Resampling.BILINEAR)
        # The library rounds between its two passes as well.
        assert np.abs(np.asarray(theirs).astype(int) - ours).max() <= 1


def test_resize_keeps_constant_images_and_means():
    assert (resize(np.full((2, 9, 9, 1), 77, np.uint8), 4) == 77).all()
    images = pixels(3, 8, 8, 1)
    assert resize(images, 8) is images
    # Halving with an even filter weighs all but the border alike.
    means = resize(images, 4).mean(axis=(1, 2, 3)) - images.mean(axis=(1, 2, 3))
    assert np.abs(means).max() < 6
