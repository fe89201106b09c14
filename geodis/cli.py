"""The command line: arguments -> the functions of the library, one file a command."""

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
# Packages that only some commands need, and that are not installed with geodis.
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
# The help lists commands under these headings, in this order; those of other packages follow.
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
    """What the command line calls a command: `learn_kernel_command` is "learn-kernel"."""
    return getattr(function, "__name__", "").removesuffix("_command").replace("_", "-")


for heading, commands in CONTENTS.items():
    for command in commands:
        app.command(command_name(command), rich_help_panel=heading)(flat_options(command))
OWN_COMMANDS = frozenset(command.name for command in app.registered_commands)


def register_command(
    function: Callable[..., Any], *, heading: str = "More", name: str | None = None
) -> None:
    """Add a command to the command line.

    A package declares the module that does so as an entry point of the group "geodis.commands";
    it is imported when the command line starts.

    Parameters
    ----------
    function : callable
        With parameters and a docstring as typer reads them; a parameter that is annotated with a
        dataclass stands for an option a field. It prints what it has to say, and raises
        `InputError` for what cannot be used.
    heading : str
        Where the help lists it.
    name : str, optional
        By default that of the function, with dashes and without "_command" at its end.

    Raises
    ------
    InputError
        If there is a command of this name, or it is no word of letters, digits and "-", as that
        of a lambda.

    Examples
    --------
    >>> def train_command() -> None:
    ...     pass
    >>> register_command(train_command)
    Traceback (most recent call last):
    geodis.base.check.InputError: A command needs a name of its own; got 'train', which there is.
    """
    name = command_name(function) if name is None else name
    if not (isinstance(name, str) and COMMAND_NAME.fullmatch(name)):
        raise InputError(
            "The name of a command must be of letters, digits and '-', and begin with a letter or "
            f"digit; got {name!r}."
        )
    if name in {command.name for command in app.registered_commands}:
        raise InputError(f"A command needs a name of its own; got {name!r}, which there is.")
    flat = flat_options(function)
    alone = typer.Typer()
    alone.command(name)(flat)
    typer.main.get_command(alone)  # what typer cannot read must fail here, not at every start
    app.command(name, rich_help_panel=heading)(flat)


def unregister_command(name: str) -> None:
    """Take a command away again that was added."""
    added = {command.name for command in app.registered_commands} - OWN_COMMANDS
    if name not in added:
        raise InputError(f"name must be that of a command that was added; got {name!r}.")
    app.registered_commands[:] = [one for one in app.registered_commands if one.name != name]


def main() -> None:
    """Run the command line; what goes wrong ends it with one sentence and an exit code.

    2 is for input that cannot be used, 130 for an interrupt, 1 for anything else, and ``--debug``,
    anywhere on the line, shows where it happened.
    """
    arguments = [word for word in sys.argv[1:] if word != DEBUG]
    debug = len(arguments) < len(sys.argv) - 1
    _print_whatever_comes()
    # It warns where the home folder cannot be written to, and keeps its fonts in a temporary one.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    _load_commands()
    try:
        app(args=arguments, prog_name="geodis")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            print("geodis: interrupted", file=sys.stderr)
        raise
    except BrokenPipeError:  # the reader, such as `head`, has had enough
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
    """Let no character end a command after its work, and no warning steer the terminal."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    warnings.formatwarning = _warning_text


def _warning_text(*given: Any, **options: Any) -> str:
    return printable(FORMAT_WARNING(*given, **options))


def _load_commands() -> None:
    """Import the commands of other packages; one that is broken is a note, and no more."""
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
