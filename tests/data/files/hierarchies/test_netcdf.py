"""netCDF files of the classic formats and of version 4."""

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from geodis import load_array, load_factors
from geodis.base.check import InputError


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
