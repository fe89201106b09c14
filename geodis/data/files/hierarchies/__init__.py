"""Files that are trees of arrays: HDF5 and what is made of it, MATLAB, netCDF, zarr."""
