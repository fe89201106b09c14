"""Data that commands name on the command line: a set by its name, or images of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis.base.check import InputError

if TYPE_CHECKING:
    from geodis.data.grids.grid import FactorGrid

BUILT_IN = ("xysquares", "xyobject", "xyobject-shades", "sprites")
PUBLISHED = ("dsprites", "shapes3d", "cars3d", "smallnorb", "mpi3d")


def named_grid(data: str, spacing: int | None, path: Path | None, quiet: bool) -> FactorGrid:
    """Open the grid that --data names, with --spacing and --path where it takes them."""
    from geodis.data.grids.published import published_grid
    from geodis.data.grids.sprites import Sprites
    from geodis.data.grids.squares import XYObject, XYObjectShades, XYSquares

    if spacing is not None and data != "xysquares":
        raise InputError(f"--spacing belongs to xysquares; it came with {data}.")
    if data in PUBLISHED:
        if path is None:
            raise InputError(f"--data {data} needs --path, the file that you have; none came.")
        return published_grid(data, path, verbose=not quiet)
    if data not in BUILT_IN:
        names = ", ".join((*BUILT_IN, *PUBLISHED))
        raise InputError(f"--data must be one of {names}; {data} came.")
    if path is not None:
        raise InputError(f"--path belongs to {', '.join(PUBLISHED)}; it came with {data}.")
    if data == "xysquares":
        return XYSquares(8 if spacing is None else spacing)
    return {"xyobject": XYObject, "xyobject-shades": XYObjectShades, "sprites": Sprites}[data]()


def refuse_options_of_data(spacing: int | None, path: Path | str | None, came: str) -> None:
    """Say that --spacing and --path belong to --data, where other data came."""
    if spacing is not None or path is not None:
        option = "--path" if spacing is None else "--spacing"
        raise InputError(f"{option} belongs to --data; it came with {came}.")


def open_data(source: dict[str, Any], quiet: bool) -> Any:
    """Open the images of --data, or of --images: a grid, or an array where no factors came."""
    from geodis.data.files.load import load_array, load_factors
    from geodis.data.grids.grid import FactorGrid

    data, images, factors = (source.get(key) for key in ("data", "images", "factors"))
    spacing, path = source.get("spacing"), source.get("path")
    if (data is None) == (images is None):
        came = "both" if data is not None else "neither"
        raise InputError(f"Data is named by --data or by --images; {came} came.")
    if data is not None:
        if factors is not None:
            raise InputError(f"--factors go with --images; {data} has its own.")
        return named_grid(data, spacing, None if path is None else Path(path), quiet)
    refuse_options_of_data(spacing, path, "--images")
    held = load_array(str(images))
    return held if factors is None else FactorGrid.from_arrays(held, load_factors(factors))
