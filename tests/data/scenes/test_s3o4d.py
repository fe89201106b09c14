"""S3O4D from files of its layout: numbered images in a zip, latents in an npz."""

import io
import zipfile

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from geodis.base.check import InputError
from geodis.data.grids.observed import resize
from geodis.data.scenes.s3o4d import load_s3o4d

Image = pytest.importorskip("PIL.Image")


def write(folder, n=300, split="train", first=0, form="png", **changes):
    """Images of 6 x 6 in no order, and their latents as float32, as they are published."""
    rng = np.random.default_rng(n)
    images = rng.integers(256, size=(n, 6, 6, 3), dtype=np.uint8)
    lights = rng.standard_normal((n, 3))
    latents = {
        "pose_mat": Rotation.random(n, random_state=n).as_matrix(),
        "illumination": lights / np.linalg.norm(lights, axis=1, keepdims=True),
    }
    latents = {**latents, **changes}
    with zipfile.ZipFile(folder / f"{split}_images.zip", "w") as archive:
        for i in rng.permutation(n):
            buffer = io.BytesIO()
            Image.fromarray(images[i]).save(buffer, form)
            archive.writestr(f"images/{split}_{first + i:05d}.{form}", buffer.getvalue())
    single = {key: array.astype(np.float32) for key, array in latents.items()}
    np.savez(folder / f"{split}_latents.npz", **single)
    return images, latents


@pytest.mark.parametrize(("split", "first"), [("train", 0), ("test", 80_000)])
def test_images_meet_their_latents(tmp_path, split, first):
    images, latents = write(tmp_path, split=split, first=first)
    sample = load_s3o4d(tmp_path, split, image_size=None)
    np.testing.assert_array_equal(sample.images, images)
    np.testing.assert_allclose(sample.rotations, latents["pose_mat"], atol=1e-6)
    np.testing.assert_allclose(sample.lights, latents["illumination"], atol=1e-6)
    assert "factor  space  dim\n     0  SO(3)    3\n     1  S^2      2" in str(sample)


def test_frames_are_tangent_and_orthonormal(tmp_path):
    write(tmp_path)
    sample = load_s3o4d(tmp_path)
    np.testing.assert_allclose(sample.points[:, :9].reshape(-1, 3, 3), sample.rotations)
    np.testing.assert_allclose(sample.points[:, 9:], sample.lights)
    frames = np.concatenate(sample.tangents, axis=1)
    gram = np.broadcast_to(np.eye(5), (300, 5, 5))
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), gram, atol=1e-12)
    # A move along a frame leaves R^T R and |l| as they are, to first order.
    moves = sample.tangents[0][:, :, :9].reshape(300, 3, 3, 3)
    skew = np.einsum("nki,nakj->naij", sample.rotations, moves)
    np.testing.assert_allclose(skew, -skew.swapaxes(2, 3), atol=1e-12)
    away = np.einsum("nad,nd->na", sample.tangents[1][:, :, 9:], sample.lights)
    np.testing.assert_allclose(away, 0, atol=1e-12)
    assert (sample.tangents[0][:, :, 9:] == 0).all()
    assert (sample.tangents[1][:, :, :9] == 0).all()


def test_the_first_images_resized_and_in_grey(tmp_path):
    images, latents = write(tmp_path)
    sample = load_s3o4d(tmp_path, n=270, image_size=3)
    np.testing.assert_array_equal(sample.images, resize(images[:270], 3))
    assert len(sample.points) == 270
    np.testing.assert_allclose(sample.rotations, latents["pose_mat"][:270], atol=1e-6)
    assert load_s3o4d(tmp_path, n=5, rgb=False).images.shape == (5, 64, 64, 1)


def test_absent_images_leave_their_rows_out(tmp_path):
    _, latents = write(tmp_path, n=40)
    (tmp_path / "half").mkdir()
    write(tmp_path / "half", n=20)  # the same numbers, half of them
    (tmp_path / "half" / "train_images.zip").replace(tmp_path / "train_images.zip")
    sample = load_s3o4d(tmp_path, image_size=None)
    assert len(sample.images) == 20
    np.testing.assert_allclose(sample.lights, latents["illumination"][:20], atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pose_mat": np.zeros((300, 9))}, r"pose_mat of shape \(n, 3, 3\).*\(300, 9\) and"),
        ({"pose_mat": np.zeros((300, 3, 3))}, "must be rotations and unit vectors; .* up to 1 "),
        ({"illumination": np.full((300, 3), np.nan)}, "must be rotations and unit vectors"),
        ({"first": 200}, "images numbered 0 to 299, one per row of the latents; got 200 to 499"),
    ],
)
def test_other_latents_are_refused(tmp_path, changes, message):
    write(tmp_path, **changes)
    with pytest.raises(InputError, match=message):
        load_s3o4d(tmp_path)


def test_damaged_and_absent_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"test_latents.npz; got none of the name test_images.zip"):
        load_s3o4d(tmp_path, "test")
    with pytest.raises(InputError, match="split must be one of 'train', 'test'; got 'all'"):
        load_s3o4d(tmp_path, "all")
    write(tmp_path, n=3)
    with zipfile.ZipFile(tmp_path / "train_images.zip", "w") as archive:
        archive.writestr("00000.png", b"no image")
    with pytest.raises(InputError, match=r"train_images.zip cannot be read as .zip"):
        load_s3o4d(tmp_path)
    with zipfile.ZipFile(tmp_path / "train_images.zip", "w") as archive:
        archive.writestr("README", b"no image")
    with pytest.raises(InputError, match="numbered 0 to 2, one per row of the latents; got none"):
        load_s3o4d(tmp_path)
