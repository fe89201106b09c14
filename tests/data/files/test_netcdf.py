"""netCDF files of the classic formats and of version 4."""

import sys

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from geodis import load_array, load_factors
from geodis.base.check import InputError, MissingExtraError


@pytest.fixture(params=["classic", "4"])
def packed(request, tmp_path):
    """Shorts with a scale, an offset and a fill value, and a variable of plain numbers."""
    path, stored = tmp_path / "grid.nc", np.array([0, 10, -999, 30], np.int16)
    attributes = {"scale_factor": 0.5, "add_offset": 100.0, "_FillValue": np.int16(-999)}
    if request.param == "classic":
        with netcdf_file(path, "w") as file:
            file.createDimension("time", 4)
            variable = file.createVariable("warmth", np.int16, ("time",))
            variable[:] = stored
            for name, value in attributes.items():
                setattr(variable, name, value)
            file.createVariable("level", np.int32, ("time",))[:] = range(4)
    else:
        with h5py.File(path, "w") as file:
            file["warmth"], file["level"] = stored, np.arange(4, dtype=np.int32)
            file["warmth"].attrs.update(attributes)
            file["time"] = np.zeros(4)
            file["time"].attrs["NAME"] = np.bytes_(
                "This is a netCDF dimension but not a netCDF variable.         4"
            )
    return path


def test_packed_numbers_are_unpacked(packed):
    np.testing.assert_array_equal(load_array(f"{packed}:warmth"), [100, 105, np.nan, 115])
    level = load_array(f"{packed}:level")
    assert level.dtype == np.int32 and level.dtype.isnative
    factors = load_factors(packed)
    assert set(factors.names) == {"warmth", "level"}  # a dimension alone is no variable


def test_classic_files_that_promise_more_than_there_is(tmp_path):
    with netcdf_file(tmp_path / "short.nc", "w") as file:
        file.createDimension("n", 1000)
        file.createVariable("x", float, ("n",))[:] = 0
    content = (tmp_path / "short.nc").read_bytes()
    (tmp_path / "short.nc").write_bytes(content[:-4000])
    with pytest.raises(InputError, match=r"cannot be read as \.nc"):
        load_array(tmp_path / "short.nc")


FILLS = {
    "i2": -32767,
    "u4": 4294967295,
    "i8": -(2**63) + 2,
    "f4": 9.96921e36,
    "f8": 2.0**122 * 1.875,
}


@pytest.mark.parametrize("version", ["classic", "4"])
def test_what_nobody_wrote_is_missing(tmp_path, version):
    path = tmp_path / "grid.nc"
    kinds = ["i2", "f4", "f8"] if version == "classic" else [*FILLS]
    columns = {kind: np.array([1, FILLS[kind], 3], kind) for kind in kinds}
    columns["i1"] = np.array([1, -127, 3], "i1")  # of bytes every value may be meant
    if version == "classic":
        with netcdf_file(path, "w") as file:
            file.createDimension("time", 3)
            for kind, column in columns.items():
                file.createVariable(kind, kind, ("time",))[:] = column
            own = file.createVariable("own", "f4", ("time",))
            own[:], own._FillValue = columns["f4"], np.float32(3)
    else:
        with h5py.File(path, "w") as file:
            for kind, column in columns.items():
                file[kind] = column
            file["own"] = columns["f4"]
            file["own"].attrs["_FillValue"] = np.float32(3)
    for kind in kinds:
        np.testing.assert_array_equal(load_array(f"{path}:{kind}"), [1, np.nan, 3])
    assert load_array(f"{path}:i1").tolist() == [1, -127, 3]
    # Where a variable has a fill value of its own, that of the format is a number.
    np.testing.assert_array_equal(
        load_array(f"{path}:own"), np.array([1, FILLS["f4"], np.nan], np.float32)
    )


def test_files_of_64_bit_data_are_named(tmp_path):
    (tmp_path / "large.nc").write_bytes(b"CDF\x05" + bytes(40))
    with pytest.raises(InputError, match=r"must not be CDF-5 .* nccopy -k nc4"):
        load_array(tmp_path / "large.nc")


def write_variable(path, version, name, values, attributes, dims=("time",)):
    """One variable, by scipy or by h5py."""
    if version == "classic":
        with netcdf_file(path, "w") as file:
            for dim, size in zip(dims, values.shape, strict=True):
                file.createDimension(dim, size)
            variable = file.createVariable(name, values.dtype, dims)
            variable[:] = values
            for key, value in attributes.items():
                setattr(variable, key, value)
    else:
        with h5py.File(path, "w") as file:
            file[name] = values
            file[name].attrs.update(attributes)


NAN = np.nan
SMALL = np.array([-3, -1, 0, 1, 5, 9], np.int16)
CONVENTIONS = {
    "missing_value": ({"missing_value": np.array([0, 9], np.int16)}, [-3, -1, NAN, 1, 5, NAN]),
    "valid_min": ({"valid_min": np.int16(0)}, [NAN, NAN, 0, 1, 5, 9]),
    "valid_max": ({"valid_max": np.int16(1)}, [-3, -1, 0, 1, NAN, NAN]),
    "valid_range": ({"valid_range": np.array([0, 5], np.int16)}, [NAN, NAN, 0, 1, 5, NAN]),
    "unsigned": ({"_Unsigned": "true"}, [65533, 65535, 0, 1, 5, 9]),
    # Ranges are those of the packed values, and of unsigned ones.
    "scaled": ({"scale_factor": 0.5, "valid_max": np.int16(5)}, [-1.5, -0.5, 0, 0.5, 2.5, NAN]),
    "large": (
        {"_Unsigned": "true", "valid_range": np.array([1, -2], np.int16)},
        [65533, NAN, NAN, 1, 5, 9],
    ),
    # What the type of the variable cannot hold is no bound, as in netCDF4.
    "fraction": ({"valid_min": 0.5}, [-3, -1, 0, 1, 5, 9]),
}


@pytest.mark.parametrize("version", ["classic", "4"])
@pytest.mark.parametrize("name", CONVENTIONS)
def test_conventions(tmp_path, version, name):
    attributes, expected = CONVENTIONS[name]
    write_variable(tmp_path / "x.nc", version, "x", SMALL, attributes)
    np.testing.assert_array_equal(load_array(tmp_path / "x.nc"), expected)


@pytest.mark.parametrize("version", ["classic", "4"])
@pytest.mark.parametrize("attributes", [{}, {"_Encoding": "utf-8"}])
def test_characters_are_texts(tmp_path, version, attributes):
    letters = (
        np.array([text.encode() for text in ("box", "größe", "", "box")], "S7")
        .view("S1")
        .reshape(4, 7)
    )
    write_variable(tmp_path / "x.nc", version, "x", letters, attributes, ("time", "length"))
    factors = load_factors(tmp_path / "x.nc")
    (labels,) = factors.categories.values()
    assert labels == ("", "box", "größe")
    assert factors.values[:, 0].tolist() == [1, 2, 0, 1]


def test_without_xarray_plain_numbers_are_read_and_else_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    write_variable(tmp_path / "x.nc", "classic", "x", SMALL, {})
    np.testing.assert_array_equal(load_array(tmp_path / "x.nc"), SMALL)
    write_variable(tmp_path / "x.nc", "classic", "x", SMALL, {"scale_factor": 0.5})
    with pytest.raises(MissingExtraError, match=r"netCDF .*pip install xarray"):
        load_array(tmp_path / "x.nc")
