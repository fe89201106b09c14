"""Data that is named on the command line: a set by its name, or images of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geodis.base.check import InputError, rows_of_pixels
from geodis.commands.shared.options import PeriodOption, option, periods_of
from geodis.data.grids.by_name import BUILT_IN, PUBLISHED, built_in_grid

if TYPE_CHECKING:
    import numpy as np

    from geodis.data.factors import Factors
    from geodis.data.grids.grid import FactorGrid


@dataclass(frozen=True)
class DataSource:
    """Where images and factors come from."""

    data: str | None = option(
        None, f"{', '.join(BUILT_IN)}; or, with --path, {', '.join(PUBLISHED)}."
    )
    spacing: int | None = option(None, "Spacing of xysquares.", min=1, show_default="8")
    path: Path | None = option(None, "File or folder of a published data set.")
    images: str | None = option(None, "Your own images (n, h, w, c), such as X.npy.")
    factors: str | None = option(None, "Factors of the same rows: .csv with a header, ...")
    period: PeriodOption = None
    variant: str | None = option(
        None, "Variant of the images: color, noisy, scream, background or foreground."
    )
    picture: str | None = option(
        None, "A photograph, a folder of them or an array, for a variant.", show_default="noise"
    )
    visibility: float | None = option(
        None, "Percent of background or foreground.", min=0, max=100, show_default="100"
    )

    def given(self) -> dict[str, Any]:
        """What was given, as `source_of` reads it."""
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in vars(self).items()
            if value is not None
        }


def source_of(given: Mapping[str, Any]) -> DataSource:
    """The source that `DataSource.given` wrote down."""
    unknown = set(given) - {each.name for each in fields(DataSource)}
    if unknown:
        raise InputError(
            f"A source of data has {', '.join(each.name for each in fields(DataSource))}; "
            f"got {', '.join(sorted(unknown))}."
        )
    path = given.get("path")
    return DataSource(**{**given, "path": None if path is None else Path(path)})


def load_points(file: str) -> np.ndarray:
    """The points of a file, or the pixels of its images."""
    from geodis.data.files.load import load_array

    return rows_of_pixels(load_array(file))


def open_data(source: DataSource, quiet: bool) -> FactorGrid | np.ndarray:
    """Open the images of --data or --images: a grid, or an array if there are no factors."""
    return as_variant(_open_plain(source, quiet), source)


def as_variant(rows: FactorGrid | np.ndarray, source: DataSource) -> FactorGrid | np.ndarray:
    """The same rows, or what --variant makes of them."""
    from geodis.data.grids.grid import FactorGrid
    from geodis.data.grids.variants.color_noisy_scream import VariantName, variant_of

    if source.variant is None:
        if source.picture is not None or source.visibility is not None:
            option = "--visibility" if source.picture is None else "--picture"
            raise InputError(f"{option} belongs to --variant; got it without.")
        return rows
    if not isinstance(rows, FactorGrid):
        raise InputError("--variant needs --factors beside --images; got none.")
    variant = cast(VariantName, source.variant)  # which `variant_of` checks
    return variant_of(rows, variant, picture=source.picture, visibility=source.visibility)


def _open_plain(source: DataSource, quiet: bool) -> FactorGrid | np.ndarray:
    """Open the images without a variant."""
    from geodis.data.files.load import load_array
    from geodis.data.grids.grid import FactorGrid

    if (source.data is None) == (source.images is None):
        given = "both" if source.data is not None else "neither"
        raise InputError(f"Data is named by --data or by --images; got {given}.")
    if source.data is not None:
        if source.factors is not None:
            raise InputError(f"--factors go with --images; got them with --data {source.data}.")
        return named_grid(source, quiet)
    refuse_options_of_data(source, "--images")
    images = load_array(str(source.images))
    if source.factors is None:
        if source.period:
            raise InputError("--period belongs to --factors; got it without.")
        return images
    return FactorGrid.from_arrays(images, factors_of(source))


def factors_of(source: DataSource) -> Factors:
    """The factors of --factors, cyclic where --period says so."""
    from geodis.data.files.load import load_factors

    return load_factors(str(source.factors), periods=periods_of(source.period))


def named_grid(source: DataSource, quiet: bool) -> FactorGrid:
    """Open the grid that --data names, with --spacing and --path where it takes them."""
    from geodis.data.grids.published import published_grid

    name, spacing, path = source.data, source.spacing, source.path
    if source.period:
        raise InputError(f"--period belongs to --factors; got it with --data {name}.")
    if spacing is not None and name != "xysquares":
        raise InputError(f"--spacing belongs to xysquares; got it with {name}.")
    if name in PUBLISHED:
        if path is None:
            raise InputError(f"--data {name} needs --path, the file that you have; got none.")
        return published_grid(name, path, verbose=not quiet)
    if name not in BUILT_IN:
        names = ", ".join((*BUILT_IN, *PUBLISHED))
        raise InputError(f"--data must be one of {names}; got {name}.")
    if path is not None:
        raise InputError(f"--path belongs to {', '.join(PUBLISHED)}; got it with {name}.")
    return built_in_grid(name, **({} if spacing is None else {"spacing": spacing}))


def refuse_options_of_data(source: DataSource, given: str) -> None:
    """Say that --spacing and --path belong to --data, where other data is given."""
    if source.spacing is not None or source.path is not None:
        option = "--path" if source.spacing is None else "--spacing"
        raise InputError(f"{option} belongs to --data; got it with {given}.")
