"""`geodis demo`: the main job on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geodis._write import whole_file
from geodis.commands._shared import Seed, list_files
from geodis.commands.factorise import (
    FACTORISE_FILES,
    factorisation_summary,
    fit_and_note,
    write_factorisation,
)
from geodis.commands.inspect import INSPECT_FILES, inspect

DEMO_SPEC = "S^2 x SO(3)"
DEMO_POINTS = 5000
DEMO_PAD = 8


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    seed: Seed = 0,
) -> None:
    """Run the main job on built-in data and say what it made and where."""
    import numpy as np

    from geodis.data.manifolds import product_manifold
    from geodis.manifold.evaluate import subspace_angles

    drawn = product_manifold(DEMO_SPEC, DEMO_POINTS, rotate=True, pad=DEMO_PAD, random_state=seed)
    points, file = drawn.points, out / "points.npy"
    with whole_file(file) as temporary:
        np.save(temporary, points)
    print(f"{len(points):,} points of {DEMO_SPEC}, rotated into {points.shape[1]} columns.\n")
    inspect(str(file), out=out, seed=seed)
    print()
    est, notes = fit_and_note(points, {"random_state": seed})
    print(est.summary())
    write_factorisation(out, points, est, {"file": str(file), **factorisation_summary(est, notes)})
    found = [est.subspace(factor) for factor in range(est.n_factors_)]
    angle = np.degrees(subspace_angles(found, drawn.tangents).mean())
    print(
        f"\nThe directions found lie {angle:.2f} degrees from the true tangent spaces of "
        f"{' and '.join(drawn.names)}, on average (90: wrong factors)."
    )
    texts = {"points.npy": "the points", **INSPECT_FILES, **FACTORISE_FILES}
    list_files("Made", {out / name: text for name, text in texts.items()})
