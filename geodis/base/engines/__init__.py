"""Many tasks that do not need one another: one after the other, or on a Dask cluster."""
