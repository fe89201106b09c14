"""AnnData as it was stored before version 0.7: records instead of groups."""

import h5py
import numpy as np
import pytest
from scipy import sparse

from geodis import load_array, load_factors

POINTS = np.random.default_rng(0).normal(size=(4, 3))


@pytest.fixture
def older(tmp_path):
    path = tmp_path / "older.h5ad"
    obsm = np.zeros(4, [("X_pca", "f4", (2,)), ("X_umap", "f8", (3,))])
    obsm["X_pca"], obsm["X_umap"] = POINTS[:, :2], POINTS
    obs = np.zeros(4, [("index", "S3"), ("depth", "f8"), ("batch", "i1"), ("note", "S1")])
    obs["depth"], obs["batch"], obs["note"] = range(4), [1, 0, 1, -1], [b"a", b"b", b"a", b"b"]
    with h5py.File(path, "w") as file:
        file["obs"], file["obsm"] = obs, obsm
        file["uns/batch_categories"] = np.array([b"one", b"two"])
        matrix = sparse.csr_matrix(np.where(POINTS > 0, POINTS, 0))
        group = file.create_group("X")
        group.attrs.update({"h5sparse_format": "csr", "h5sparse_shape": matrix.shape})
        group.update({"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr})
    return path


def test_fields_of_records_are_arrays(older):
    np.testing.assert_array_equal(load_array(f"{older}:obsm/X_umap"), POINTS)
    first = load_array(f"{older}:obsm/X_pca")
    assert first.dtype == np.float32 and first.shape == (4, 2)
    np.testing.assert_array_equal(load_array(f"{older}:obs/depth"), range(4))


def test_the_matrix_and_the_columns_are_read(older):
    np.testing.assert_array_equal(load_array(older), np.where(POINTS > 0, POINTS, 0))
    factors = load_factors(older)
    assert factors.names == ("depth", "batch", "note")
    assert factors.categories == {"batch": ("one", "two"), "note": ("a", "b")}
    np.testing.assert_array_equal(factors.values[:, 1], [1, 0, 1, np.nan])


def test_records_of_other_files_keep_their_fields(tmp_path):
    records = np.zeros(3, [("x", "f8"), ("place", "i4", (2,))])
    records["x"] = [1, 2, 3]
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["table"] = records
    np.testing.assert_array_equal(load_array(f"{tmp_path}/run.h5:table/x"), [1, 2, 3])
    assert load_array(f"{tmp_path}/run.h5:table/place").shape == (3, 2)
