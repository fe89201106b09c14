"""`geodis sample`: draw points from a product of manifolds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from geodis.base.check import InputError
from geodis.base.text import counted
from geodis.commands.shared.options import CommonOptions, argument, option
from geodis.commands.shared.output import output_file, say


@dataclass(frozen=True)
class SampleOptions:
    """What is drawn."""

    spec: str = argument('A product of manifolds, such as "S^2 x SO(3)".')
    out: Path = option(..., "File to write the points to (.npy).")
    n: int = option(5000, "Number of points.", "--n", min=1)
    rotate: bool = option(False, "Rotate the ambient space at random.")
    noise: float = option(0.0, "Standard deviation of the noise.", min=0)
    pad: int = option(0, "Number of zero columns to add.", min=0)


def sample_command(given: SampleOptions, common: CommonOptions) -> None:
    """Draw points from a product of manifolds, to try things on.

    Example: `geodis sample "S^2 x SO(3)" --n 5000 --out points.npy`
    """
    from geodis.data.manifolds.products import product_manifold

    out, spec = given.out, given.spec
    if out.suffix != ".npy":
        raise InputError(f"--out must end in .npy; got {out}.")
    folder = output_file(out, "the points")
    points = product_manifold(
        spec,
        given.n,
        rotate=given.rotate,
        noise=given.noise,
        pad=given.pad,
        random_state=common.seed,
    ).points
    with folder:
        folder.write_array(out.name, points)
    n, columns = points.shape
    values = {"out": str(out), "spec": spec, "n": n, "columns": columns, "seed": common.seed}
    made = f"{counted(n, 'point')} of {spec} in {counted(columns, 'column')}"
    say(f"{out}: {made}", values, common.as_json)
