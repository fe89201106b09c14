"""Options that commands share, and how they say what they wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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


def list_files(title: str, files: dict[Path, str]) -> None:
    """Say what was made and where."""
    print(f"\n{title}:")
    width = max(len(str(path)) for path in files)
    for path, meaning in files.items():
        print(f"  {path!s:<{width}}  {meaning}")
