"""Options of commands in groups: a command takes dataclasses, the command line flat options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from geodis.base.check import InputError

if TYPE_CHECKING:
    from geodis.data.factors import Factors

TYPER = "typer"  # the entry of a field's metadata that says how the command line shows it


def option(default: Any, text: str, *names: str, **settings: Any) -> Any:
    """A field of a group of options.

    Parameters
    ----------
    default : object
        ``...`` for an option that must be given.
    text : str
        The help.
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
    """A field of a group of options that is given by its position."""
    return field(metadata={TYPER: typer.Argument(help=text, show_default=False)})


POINTS = (
    "Points, one per row: .npy, .npz:key, .csv, .csv.gz, .tsv, .txt, .parquet, .feather, "
    ".safetensors:key, .pt:key, .h5:path, .h5ad:path, .mat:key, .nc:name, a zarr store, a folder "
    "of images, or - for standard input."
)
FileArgument = Annotated[str, typer.Argument(help=POINTS, show_default=False)]
# Options that several groups have.
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
        """Arguments that the functions of all rooms take."""
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
        """The factors of a file."""
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
    """Periods of factors written as name=360.

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
    """Factors of several columns written as name=column,column.

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
    """Groups of latents written as 0,1.

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

    A parameter that is annotated with a dataclass stands for the fields of that dataclass, in
    order. They are options of the command line, and are packed into the dataclass for the call.

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
    """A parameter by name alone: those without a default may then follow those with one."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)
