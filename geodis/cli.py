"""The command line, which maps arguments to the commands in `geodis.commands`."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from geodis import __version__
from geodis.base.check import InputError, MissingExtraError
from geodis.base.plugins import load_plugins
from geodis.base.text import printable
from geodis.commands.demo import demo_command
from geodis.commands.distances import distances_command, learn_kernel_command
from geodis.commands.factorise import factorise_command, walk_command
from geodis.commands.options import flat_options
from geodis.commands.output import tell
from geodis.commands.pages import compare_command, report_command
from geodis.commands.points import inspect_command, sample_command
from geodis.commands.scores import scores_command, scores_many_command
from geodis.commands.sweep import sweep_command
from geodis.commands.train import train_command
from geodis.commands.trained_models import encode_command, traverse_command

__all__ = ["main", "register_command", "unregister_command"]

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
DEBUG = "--debug"
# Optional packages that only some commands need.
OPTIONAL = ("torch", "safetensors", "h5py", "pyarrow", "ripser", "distributed")
FORMAT_WARNING = warnings.formatwarning
COMMAND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")

app = typer.Typer(
    help="Geometry-first disentanglement analysis of points, latents and images.",
    epilog="Every command has examples: `geodis report --help`. Exit codes: 0 done, 1 failed, "
    "2 bad input, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
# Commands in the help, by heading and in this order; those of other packages follow.
CONTENTS: dict[str, tuple[Callable[..., None], ...]] = {
    "Everything on one page": (report_command, compare_command, demo_command),
    "Points": (inspect_command, factorise_command, walk_command, sample_command),
    "Latents and known factors": (scores_command, scores_many_command, distances_command),
    "Models": (
        learn_kernel_command,
        train_command,
        sweep_command,
        encode_command,
        traverse_command,
    ),
}


def command_name(function: Callable[..., Any]) -> str:
    """Return the command-line name of a command, such as "learn-kernel"."""
    return getattr(function, "__name__", "").removesuffix("_command").replace("_", "-")


for heading, commands in CONTENTS.items():
    for command in commands:
        app.command(command_name(command), rich_help_panel=heading)(flat_options(command))
OWN_COMMANDS = frozenset(command.name for command in app.registered_commands)


def register_command(
    function: Callable[..., Any], *, heading: str = "More", name: str | None = None
) -> None:
    """Add a command to the command line.

    A package declares the module that calls this function in the entry-point group
    "geodis.commands"; the module is imported when the command line starts.

    Parameters
    ----------
    function : callable
        Has parameters and a docstring as typer reads them; a parameter annotated with a dataclass
        stands for one option per field. It prints its results, and raises `InputError` for invalid
        arguments.
    heading : str
        The heading of the command in the help.
    name : str, optional
        By default the name of the function, with dashes and without "_command".

    Raises
    ------
    InputError
        If the name is taken, or does not consist of letters, digits and "-", as that of a lambda.

    Examples
    --------
    >>> def train_command() -> None:
    ...     pass
    >>> register_command(train_command)
    Traceback (most recent call last):
    geodis.base.check.InputError: A command needs a name of its own; got 'train', which is taken.
    """
    name = command_name(function) if name is None else name
    if not (isinstance(name, str) and COMMAND_NAME.fullmatch(name)):
        raise InputError(
            "The name of a command must consist of letters, digits and '-', and begin with a "
            f"letter or digit; got {name!r}."
        )
    if name in {command.name for command in app.registered_commands}:
        raise InputError(f"A command needs a name of its own; got {name!r}, which is taken.")
    flat = flat_options(function)
    alone = typer.Typer()
    alone.command(name)(flat)
    typer.main.get_command(alone)  # fail here, not at every start, if typer cannot read it
    app.command(name, rich_help_panel=heading)(flat)


def unregister_command(name: str) -> None:
    """Remove a command that was added."""
    added = {command.name for command in app.registered_commands} - OWN_COMMANDS
    if name not in added:
        raise InputError(f"name must be that of an added command; got {name!r}.")
    app.registered_commands[:] = [one for one in app.registered_commands if one.name != name]


def main() -> None:
    """Run the command line; an error prints one sentence and sets the exit code.

    The exit code is 2 for invalid input, 130 for an interrupt, and 1 for any other error. With
    ``--debug`` anywhere on the line, the traceback is shown.
    """
    arguments = [word for word in sys.argv[1:] if word != DEBUG]
    debug = len(arguments) < len(sys.argv) - 1
    _print_whatever_comes()
    # It warns if the home folder is not writable, and then keeps its fonts in a temporary one.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    _load_commands()
    try:
        app(args=arguments, prog_name="geodis")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            print("geodis: interrupted", file=sys.stderr)
        raise
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except (InputError, MissingExtraError) as error:
        if debug:
            raise
        tell(f"geodis: {error}", error=True)
        sys.exit(BAD_INPUT)
    except Exception as error:
        if debug:
            raise
        missing = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and missing in OPTIONAL:
            tell(
                f"geodis: This needs {missing}, which is not installed: pip install {missing}",
                error=True,
            )
            sys.exit(BAD_INPUT)
        text = " ".join(str(error).split())
        tell(f"geodis: {type(error).__name__}: {text} ({DEBUG} shows where)", error=True)
        sys.exit(FAILED)


def _print_whatever_comes() -> None:
    """Replace characters that cannot be printed, and control characters in warnings."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    warnings.formatwarning = _warning_text


def _warning_text(*given: Any, **options: Any) -> str:
    return printable(FORMAT_WARNING(*given, **options))


def _load_commands() -> None:
    """Import the commands of other packages; print a note for any that fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_plugins("geodis.commands")
    for warning in (warning for warning in caught if issubclass(warning.category, UserWarning)):
        tell(f"note: {warning.message}", error=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"geodis {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="Show where an error happened; may stand anywhere.")
    ] = False,
) -> None:
    pass
