"""Options that commands share, and how they say what they wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from geodis.base.write import to_jsonable

FileArgument = Annotated[
    str,
    typer.Argument(
        help="Points, one row each: .npy, .npz:key, .csv, .tsv, .parquet, .safetensors:key, "
        ".pt:key, .h5:path or .h5ad:path.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]


def say(text: str, content: dict[str, Any], as_json: bool) -> None:
    """Print a sentence for people, or the same for machines."""
    print(json.dumps(to_jsonable(content), indent=2) if as_json else text)


def list_files(title: str, files: dict[Path, str]) -> None:
    """Say what was made and where."""
    print(f"\n{title}:")
    width = max(len(str(path)) for path in files)
    for path, meaning in files.items():
        print(f"  {path!s:<{width}}  {meaning}")
