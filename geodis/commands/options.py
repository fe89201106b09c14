"""Options shared by commands: dataclasses whose fields become options of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from geodis.base.check import InputError, rows_of_pixels
from geodis.data.grids.published import BUILT_IN, PUBLISHED, built_in_grid

if TYPE_CHECKING:
    import numpy as np

    from geodis.data.factors import Factors
    from geodis.data.grids.grid import FactorGrid


TYPER = "typer"  # the key in a field's metadata for its typer description


def option(default: Any, text: str, *names: str, **settings: Any) -> Any:
    """Define a field of a group of options.

    Parameters
    ----------
    default : object
        ``...`` for a required option.
    text : str
        The help text.
    *names : str
        Such as "--json"; by default the name of the field.
    **settings
        Other arguments of `typer.Option`, such as ``min``.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Drawing:
    ...     width: int = option(3, "Width in inches.", min=1)
    >>> Drawing().width
    3
    """
    info = {TYPER: typer.Option(*names, help=text, **settings)}
    return field(default=MISSING if default is ... else default, metadata=info)


def argument(text: str) -> Any:
    """Define a field of a group of options that is given by position."""
    return field(metadata={TYPER: typer.Argument(help=text, show_default=False)})


POINTS = (
    "Points, one per row: .npy, .npz:key, .csv, .csv.gz, .tsv, .txt, .parquet, .feather, "
    ".safetensors:key, .pt:key, .h5:path, .h5ad:path, .mat:key, .nc:name, a zarr store, a folder "
    "of images, or - for standard input."
)
FileArgument = Annotated[str, typer.Argument(help=POINTS, show_default=False)]
# Options in several groups.
CountsOption = Annotated[
    bool, typer.Option("--counts", help="The values are counts: take square roots first.")
]
MetricOption = Annotated[
    str,
    typer.Option(
        help="euclidean, cosine, correlation, or precomputed (the file holds a distance matrix)."
    ),
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", help="A score or a family of scores; repeatable.")
]
LatentGroupOption = Annotated[
    list[str] | None,
    typer.Option("--latent-group", help="Latents that belong together, such as 0,1; repeatable."),
]
PeriodOption = Annotated[
    list[str] | None,
    typer.Option("--period", help="Period of a cyclic factor, such as angle=360; repeatable."),
]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]


@dataclass(frozen=True)
class CommonOptions:
    """Options of every command."""

    as_json: bool = option(False, "Print JSON.", "--json")
    seed: int = option(0, "Random seed.", min=0)
    quiet: bool = option(False, "Show no progress.", "--quiet")

    @property
    def verbose(self) -> bool:
        """Whether to show progress."""
        return not self.quiet

    def settings(self) -> dict[str, Any]:
        """Arguments that most functions of the library take."""
        return {"random_state": self.seed, "verbose": self.verbose}


@dataclass(frozen=True)
class ClusterOptions:
    """Where tasks run."""

    cluster: str | None = option(
        None,
        "local for processes on this machine, or the address of a Dask scheduler.",
        show_default="one after the other",
    )
    workers: int | None = option(None, "Processes of --cluster local.", show_default="one per core")


@dataclass(frozen=True)
class FactorColumns:
    """How the columns of a file of factors are read."""

    period: PeriodOption = None
    factor_group: list[str] | None = option(
        None, "Columns that form one factor, such as direction=x,y,z; repeatable.", "--factor-group"
    )

    def load(self, file: str) -> Factors:
        """Load the factors of a file."""
        from geodis.data.factors import as_factors
        from geodis.data.files.load import load_factors

        known = load_factors(file, periods=periods_of(self.period))
        return as_factors(known, groups=groups_of(self.factor_group))


@dataclass(frozen=True)
class ScoringOptions:
    """Which scores are computed, and with what precision."""

    only: OnlyOption = None
    bins: int | None = option(None, "Bins of continuous factors.", min=2)
    chance: int = option(1, "Permutations for every chance level; 0 for none.", min=0)
    intervals: int = option(0, "Resamples for 95% intervals; 0 for none.", min=0)


@dataclass(frozen=True)
class PageOptions:
    """Where a page is written."""

    out: Path = option(..., "Folder for the page, results and figures.")
    title: str | None = option(None, "Title of the page.", show_default="names the file")
    docs: str = option(
        "",
        "URL (http, https) or relative path of built documentation, for links to scores.",
        show_default="the project's",
    )
    open_page: bool = option(False, "Open the page in a browser when it is written.", "--open")


def periods_of(pairs: Sequence[str] | None) -> dict[str, float]:
    """Parse periods of factors, written as name=360.

    Examples
    --------
    >>> periods_of(["angle=360", "hue=1"])
    {'angle': 360.0, 'hue': 1.0}
    """
    periods: dict[str, float] = {}
    for pair in pairs or ():
        name, equals, text = pair.rpartition("=")
        try:
            periods[name] = float(text)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise InputError(f"--period takes name=number, such as angle=360; got {pair}.")
    return periods


def groups_of(pairs: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Parse factors of several columns, written as name=column,column.

    Examples
    --------
    >>> groups_of(["direction=x,y,z"])
    {'direction': ['x', 'y', 'z']}
    """
    if not pairs:
        return None
    groups: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        groups[name] = [column.strip() for column in text.split(",") if column.strip()]
        if not equals or not name or not groups[name]:
            raise InputError(
                f"--factor-group takes name=column,column, such as direction=x,y,z; got {pair}."
            )
    return groups


def numbers_of(lists: Sequence[str] | None) -> list[list[int]] | None:
    """Parse groups of latents, written as 0,1.

    Examples
    --------
    >>> numbers_of(["0,1", "2"])
    [[0, 1], [2]]
    """
    if not lists:
        return None
    try:
        return [[int(number) for number in text.split(",")] for text in lists]
    except ValueError:
        given = " ".join(lists)
        raise InputError(
            f"--latent-group takes numbers of latents from 0, such as 0,1; got {given}."
        ) from None


def flat_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flat parameters that typer reads.

    A parameter annotated with a dataclass stands for the fields of that dataclass, in order. They
    become options of the command line, and are packed into the dataclass for the call.

    Parameters
    ----------
    command : callable

    Returns
    -------
    callable
        The same command with the options as keyword arguments.

    Examples
    --------
    >>> def hello(name: str, common: CommonOptions) -> None:
    ...     print(name, common.seed)
    >>> list(inspect.signature(flat_options(hello)).parameters)
    ['name', 'as_json', 'seed', 'quiet']
    >>> flat_options(hello)(name="you", seed=3)
    you 3
    """
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.values()
    groups = {each.name: hints[each.name] for each in own if is_dataclass(hints.get(each.name))}
    flat: list[inspect.Parameter] = []
    for each in own:
        if each.name in groups:
            flat += _options_of(groups[each.name])
        else:
            flat.append(_option(each.name, hints.get(each.name, each.annotation), each.default))

    def call(**given: Any) -> Any:
        packed = {
            name: group(
                **{each.name: given.pop(each.name) for each in fields(group) if each.name in given}
            )
            for name, group in groups.items()
        }
        return command(**given, **packed)

    update_wrapper(call, command)
    call.__annotations__ = {each.name: each.annotation for each in flat}
    call.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    return call


def _options_of(group: type) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        info = each.metadata.get(TYPER)
        hint = hints[each.name] if info is None else Annotated[hints[each.name], info]
        yield _option(each.name, hint, default)


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Make a keyword-only parameter: one without a default may follow one with a default."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


# Data named on the command line: a data set by name, or the user's images.


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
        """The options that were given, in the form that `source_of` reads."""
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in vars(self).items()
            if value is not None
        }


def source_of(given: Mapping[str, Any]) -> DataSource:
    """Restore a source from the result of `DataSource.given`."""
    unknown = set(given) - {each.name for each in fields(DataSource)}
    if unknown:
        raise InputError(
            f"A source of data has {', '.join(each.name for each in fields(DataSource))}; "
            f"got {', '.join(sorted(unknown))}."
        )
    path = given.get("path")
    return DataSource(**{**given, "path": None if path is None else Path(path)})


def load_points(file: str) -> np.ndarray:
    """Load the points of a file, or the pixels of its images as rows."""
    from geodis.data.files.load import load_array

    return rows_of_pixels(load_array(file))


def open_data(source: DataSource, quiet: bool) -> FactorGrid | np.ndarray:
    """Open the images of --data or --images: a grid, or an array without factors."""
    return as_variant(_open_plain(source, quiet), source)


def as_variant(rows: FactorGrid | np.ndarray, source: DataSource) -> FactorGrid | np.ndarray:
    """Apply --variant to the rows, if it is given."""
    from geodis.data.grids.grid import FactorGrid
    from geodis.data.grids.variants import VariantName, variant_of

    if source.variant is None:
        if source.picture is not None or source.visibility is not None:
            option = "--visibility" if source.picture is None else "--picture"
            raise InputError(f"{option} needs --variant; got it without.")
        return rows
    if not isinstance(rows, FactorGrid):
        raise InputError("--variant needs --factors with --images; got none.")
    variant = cast(VariantName, source.variant)  # which `variant_of` checks
    return variant_of(rows, variant, picture=source.picture, visibility=source.visibility)


def _open_plain(source: DataSource, quiet: bool) -> FactorGrid | np.ndarray:
    """Open the images without a variant."""
    from geodis.data.files.load import load_array
    from geodis.data.grids.grid import FactorGrid

    if (source.data is None) == (source.images is None):
        given = "both" if source.data is not None else "neither"
        raise InputError(f"Data must be named by --data or --images; got {given}.")
    if source.data is not None:
        if source.factors is not None:
            raise InputError(f"--factors need --images; got --data {source.data}.")
        return named_grid(source, quiet)
    refuse_options_of_data(source, "--images")
    images = load_array(str(source.images))
    if source.factors is None:
        if source.period:
            raise InputError("--period needs --factors; got it without.")
        return images
    return FactorGrid.from_arrays(images, factors_of(source))


def factors_of(source: DataSource) -> Factors:
    """Load the factors of --factors, with the periods of --period."""
    from geodis.data.files.load import load_factors

    return load_factors(str(source.factors), periods=periods_of(source.period))


def named_grid(source: DataSource, quiet: bool) -> FactorGrid:
    """Open the grid named by --data, with --spacing and --path if they apply."""
    from geodis.data.grids.published import published_grid

    name, spacing, path = source.data, source.spacing, source.path
    if source.period:
        raise InputError(f"--period needs --factors; got --data {name}.")
    if spacing is not None and name != "xysquares":
        raise InputError(f"--spacing needs --data xysquares; got --data {name}.")
    if name in PUBLISHED:
        if path is None:
            raise InputError(f"--data {name} needs --path, the published file; got none.")
        return published_grid(name, path, verbose=not quiet)
    if name not in BUILT_IN:
        names = ", ".join((*BUILT_IN, *PUBLISHED))
        raise InputError(f"--data must be one of {names}; got {name}.")
    if path is not None:
        raise InputError(f"--path needs one of {', '.join(PUBLISHED)} as --data; got {name}.")
    return built_in_grid(name, **({} if spacing is None else {"spacing": spacing}))


def refuse_options_of_data(source: DataSource, given: str) -> None:
    """Refuse --spacing and --path unless --data is given."""
    if source.spacing is not None or source.path is not None:
        option = "--path" if source.spacing is None else "--spacing"
        raise InputError(f"{option} needs --data; got {given}.")
