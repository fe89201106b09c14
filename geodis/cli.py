"""The command line: arguments -> the functions of the library, one file a command."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from geodis import __version__
from geodis.base.check import InputError, MissingExtraError
from geodis.commands.demo import demo
from geodis.commands.distances import distances
from geodis.commands.encode import encode
from geodis.commands.factorise import factorise
from geodis.commands.inspect import inspect
from geodis.commands.learn_kernel import learn_kernel
from geodis.commands.report import report
from geodis.commands.sample import sample
from geodis.commands.scores import scores
from geodis.commands.train import train
from geodis.commands.traverse import traverse

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
DEBUG = "--debug"

app = typer.Typer(
    help="Geometry-first disentanglement analysis of points, latents and images.",
    epilog="Every command has examples: `geodis report --help`. Exit codes: 0 done, 1 failed, "
    "2 bad input, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
# The help lists commands under these headings, in this order.
CONTENTS = {
    "Everything on one page": (report, demo),
    "Points": (inspect, factorise, sample),
    "Latents and known factors": (scores, distances),
    "Models": (learn_kernel, train, encode, traverse),
}
for heading, commands in CONTENTS.items():
    for command in commands:
        app.command(rich_help_panel=heading)(command)


def main() -> None:
    """Run the command line; what goes wrong ends it with one sentence and an exit code.

    2 is for input that cannot be used, 130 for an interrupt, 1 for anything else, and ``--debug``,
    anywhere on the line, shows where it happened.
    """
    arguments = [word for word in sys.argv[1:] if word != DEBUG]
    debug = len(arguments) < len(sys.argv) - 1
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
        print(f"geodis: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except Exception as error:
        if debug:
            raise
        text = " ".join(str(error).split())
        print(f"geodis: {type(error).__name__}: {text} ({DEBUG} shows where)", file=sys.stderr)
        sys.exit(FAILED)


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
