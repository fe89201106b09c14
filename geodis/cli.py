"""The command line: arguments -> the functions of the library, one file a command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from geodis import __version__
from geodis._check import InputError, MissingExtraError
from geodis.commands.demo import demo
from geodis.commands.distances import distances
from geodis.commands.factorise import factorise
from geodis.commands.inspect import inspect
from geodis.commands.sample import sample
from geodis.commands.scores import scores

app = typer.Typer(
    help="Geometry-first disentanglement analysis of points, latents and images.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (inspect, factorise, sample, distances, scores, demo):
    app.command()(command)


def main() -> None:
    """Run the command line; bad input ends it with one sentence and exit code 2."""
    try:
        app()
    except (InputError, MissingExtraError) as error:
        print(f"geodis: {error}", file=sys.stderr)
        sys.exit(2)


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
) -> None:
    pass
