"""`geodis sample`: draw points from a product of manifolds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geodis.base.check import InputError
from geodis.base.text import counted
from geodis.base.write import whole_file
from geodis.commands.shared.options import CommonOptions
from geodis.commands.shared.output import output_file, say


def sample_command(
    *,
    spec: Annotated[str, typer.Argument(help='A product of manifolds, such as "S^2 x SO(3)".')],
    out: Annotated[Path, typer.Option(help="Where to write the points (.npy).")],
    n: Annotated[int, typer.Option("--n", min=1, help="Number of points.")] = 5000,
    rotate: Annotated[bool, typer.Option(help="Rotate the ambient space at random.")] = False,
    noise: Annotated[float, typer.Option(min=0, help="Standard deviation of noise.")] = 0.0,
    pad: Annotated[int, typer.Option(min=0, help="Zero columns to add.")] = 0,
    common: CommonOptions,
) -> None:
    """Draw points from a product of manifolds, to try things on.

    Example: `geodis sample "S^2 x SO(3)" --n 5000 --out points.npy`
    """
    import numpy as np

    from geodis.data.manifolds.products import product_manifold

    if out.suffix != ".npy":
        raise InputError(f"--out must end in .npy; got {out}.")
    folder = output_file(out)
    drawn = product_manifold(spec, n, rotate=rotate, noise=noise, pad=pad, random_state=common.seed)
    with folder, whole_file(folder.path(out.name, "the points")) as temporary:
        np.save(temporary, drawn.points)
    n, columns = drawn.points.shape
    values = {"out": str(out), "spec": spec, "n": n, "columns": columns, "seed": common.seed}
    made = f"{counted(n, 'point')} of {spec} in {counted(columns, 'column')}"
    say(f"{out}: {made}", values, common.as_json)
