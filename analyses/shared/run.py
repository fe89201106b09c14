"""The command line that analyses share: a preset, a folder, and what was made there."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from geodis.base import InputError


def main_of(
    description: str | None,
    presets: Mapping[str, Any],
    out: Path,
    run: Callable[..., bool],
    arguments: Sequence[str] | None = None,
    options: Callable[[argparse.ArgumentParser], None] | None = None,
    preset_of_out: str | None = None,
) -> int:
    """Run a preset of an analysis from its command line.

    Parameters
    ----------
    description : str
        Docstring of the analysis, whose first line is shown.
    presets : mapping of str
    out : Path
        Folder to write to, unless the command line names another.
    run : callable (preset, out, **options) -> bool
        Gets the name of the preset; returns whether everything was run.
    arguments : sequence of str, optional
        The command line's unless given.
    options : callable, optional
        Adds options of its own to the parser; `run` gets them by name.
    preset_of_out : str, optional
        The preset whose results stand in `out` itself; those of others stand in a folder of `out`
        with the preset's name. By default all stand in `out`.

    Returns
    -------
    int
        Exit code: 0, 2 for input that cannot be used, 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(description=(description or "").split("\n", 1)[0])
    parser.add_argument("--preset", choices=tuple(presets), default="quick")
    parser.add_argument("--out", type=Path, help=f"folder of the results ({out.name})")
    if options is not None:
        options(parser)
    chosen = vars(parser.parse_args(arguments))
    preset = chosen.pop("preset")
    own = preset_of_out in (None, preset)
    folder: Path = chosen.pop("out") or (out if own else out / preset)
    begun = time.perf_counter()
    try:
        complete = run(preset, folder, **chosen)
    except InputError as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; what is finished is written", file=sys.stderr)
        complete = False
    print(f"\n{time.perf_counter() - begun:.0f} seconds. Made in {folder}:")
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        print(f"  {path.name}")
    return 0 if complete else 130
