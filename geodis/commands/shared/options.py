"""Options of commands in groups: a command takes dataclasses, the command line flat options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import update_wrapper
from typing import Annotated, Any, get_type_hints

import typer

from geodis.base.check import InputError

FileArgument = Annotated[
    str,
    typer.Argument(
        help="Points, one row each: .npy, .npz:key, .csv, .csv.gz, .tsv, .txt, .parquet, .feather, "
        ".safetensors:key, .pt:key, .h5:path, .h5ad:path, .mat:key, .nc:name, a zarr store, a "
        "folder of images, or - for what is piped in.",
        show_default=False,
    ),
]
CountsOption = Annotated[
    bool, typer.Option("--counts", help="The values are counts: take their roots first.")
]
MetricOption = Annotated[
    str, typer.Option(help="euclidean, cosine, correlation, or precomputed: FILE is distances.")
]
DocsOption = Annotated[
    str,
    typer.Option(
        help="Address (http, https) or relative path of built documentation, for links to scores.",
        show_default="the project's",
    ),
]
PeriodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--period",
        help="After how much a factor is the same again, such as angle=360; may be repeated.",
    ),
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--factor-group",
        help="Columns that are one factor, such as direction=x,y,z; may be repeated.",
    ),
]
LatentGroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--latent-group", help="Latents that belong together, such as 0,1; may be repeated."
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", help="A score or a family of scores; may be repeated."),
]
BinsOption = Annotated[
    int | None, typer.Option(min=2, help="Cut continuous factors into as many bins.")
]
ChanceOption = Annotated[
    int, typer.Option(min=0, help="Permutations behind every chance level; 0 for none.")
]
IntervalsOption = Annotated[
    int, typer.Option(min=0, help="Resamplings behind 95% intervals; 0 for none.")
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        help="local, for processes of this machine, or the address of a Dask scheduler.",
        show_default="one after the other",
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option(help="Processes of --cluster local.", show_default="one a core")
]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]


@dataclass(frozen=True)
class CommonOptions:
    """What every command takes."""

    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")] = 0
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False

    @property
    def verbose(self) -> bool:
        """Whether to show progress."""
        return not self.quiet


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
        told = " ".join(lists)
        raise InputError(
            f"--latent-group takes numbers of latents from 0, such as 0,1; got {told}."
        ) from None


def flat_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flat parameters that typer reads.

    A parameter that is annotated with a dataclass stands for the fields of that dataclass, in
    their order: they are the options of the command line, and are packed again for the call.

    Parameters
    ----------
    command : callable

    Returns
    -------
    callable
        The same command, of keyword arguments that are no dataclasses.

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
        yield _option(each.name, hints[each.name], default)


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter by name alone: those without a default may then follow those with one."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)
