import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.base.safetensors_files import DTYPES, read_arrays, write_arrays


def test_arrays_come_back_as_they_were(tmp_path, rng):
    arrays = {
        name: (100 * rng.standard_normal((3, 5))).astype(dtype) for name, dtype in DTYPES.items()
    }
    arrays["none"] = np.empty((0, 4))
    arrays["scattered"] = np.arange(12.0).reshape(3, 4)[:, ::2]
    note = {"made": [1, 2], "far": np.float64(3)}
    write_arrays(tmp_path / "all.safetensors", arrays, note)
    back, told = read_arrays(tmp_path / "all.safetensors")
    assert told == {"made": [1, 2], "far": 3.0}
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype


def test_other_readers_of_the_format_agree(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(3, np.float32), "c": np.array([True])}
    write_arrays(tmp_path / "ours.safetensors", arrays)
    for name, array in safetensors.load_file(tmp_path / "ours.safetensors").items():
        np.testing.assert_array_equal(array, arrays[name])
    safetensors.save_file(arrays, tmp_path / "theirs.safetensors")
    back, note = read_arrays(tmp_path / "theirs.safetensors")
    assert note == {}
    np.testing.assert_array_equal(back["a"], arrays["a"])


def test_what_the_format_cannot_hold_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"must be of float64, .*; got complex128 in a"):
        write_arrays(tmp_path / "x.safetensors", {"a": np.zeros(2, complex)})
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"must be a \.safetensors file; got none there"):
        read_arrays(tmp_path / "x.safetensors")
