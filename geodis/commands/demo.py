"""`geodis demo`: reports on built-in data, of a manifold and of a small model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis.base.write import whole_file
from geodis.commands.report import report_files
from geodis.commands.shared.options import CommonOptions
from geodis.commands.shared.output import list_files

if TYPE_CHECKING:
    from geodis.data.manifolds.products import ManifoldSample
    from geodis.report.results import Report

DEMO_SPEC = "S^2 x SO(3)"
DEMO_POINTS = 5000
DEMO_PAD = 8
# Small enough for seconds: 768 images of a square that moves, grows and brightens.
DEMO_IMAGES: dict[str, Any] = {
    "spacing": 1,
    "min_size": 5,
    "max_size": 9,
    "palette": "greys",
    "rgb": False,
    "image_size": 16,
}
DEMO_STEPS = 2000
DEMO_LATENTS = 6


def demo_command(
    *,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    common: CommonOptions,
) -> None:
    """Write reports on built-in data: a manifold of known factors, and latents of a small model.

    Examples: `geodis demo`, `geodis demo --out somewhere --seed 1`
    """
    from geodis.data.manifolds.products import product_manifold

    def tell(text: str) -> None:
        if not common.as_json:
            print(text, flush=True)

    seed, quiet = common.seed, common.quiet

    drawn = product_manifold(DEMO_SPEC, DEMO_POINTS, rotate=True, pad=DEMO_PAD, random_state=seed)
    points = drawn.points
    n, columns = points.shape
    tell(f"{n:,} points of {DEMO_SPEC}, rotated into {columns} columns:")
    title = f"{DEMO_SPEC} in {columns} columns"
    first = _report_on("points", points, out / "manifold", title, seed, quiet)
    angle = _angle(first, drawn)
    tell(f"  {first.summary[0]}\n  {angle}\n")
    latents, grid = train_small_model(seed, quiet)
    tell(f"Latents of a small model (AdaTVAE) of {len(grid)} images of a square:")
    title = "Latents of a small model"
    second = _report_on("latents", latents, out / "latents", title, seed, quiet, grid)
    sentences = [first.summary[0], *second.summary[1:]]
    for sentence in sentences[1:]:
        tell(f"  {sentence}")
    files = {**report_files(first), **report_files(second)}
    if common.as_json:
        made = {str(path): meaning for path, meaning in files.items()}
        print(json.dumps({"summary": sentences, "accuracy": angle, "made": made}, indent=2))
        return
    list_files("Made", files)


def _report_on(
    name: str, latents: Any, out: Path, title: str, seed: int, quiet: bool, grid: Any = None
) -> Report:
    """Write the arrays as a user would have them, and the report on them."""
    import numpy as np

    from geodis.data.files.beside import arrays_of_factors
    from geodis.report.build import report

    arrays = {name: latents}
    factors = images = None
    if grid is not None:
        index = np.arange(len(grid))
        factors = grid.known_factors(index)
        images = grid.images(index)
        arrays |= {"images": images}
        with whole_file(out / "factors.npz") as temporary:
            known: dict[str, Any] = arrays_of_factors(factors)
            np.savez(temporary, **known)
    for key, array in arrays.items():
        with whole_file(out / f"{key}.npy") as temporary:
            np.save(temporary, array)
    sources = {"latents": str(out / f"{name}.npy")}
    if grid is not None:
        sources |= {"factors": f"{out / 'factors.npz'}:factors", "images": str(out / "images.npy")}
    return report(
        latents,
        factors,
        images,
        out=out,
        title=title,
        sources=sources,
        verbose=not quiet,
        random_state=seed,
    )


def _angle(report: Report, drawn: ManifoldSample) -> str:
    """How far the directions are from the true ones, in a sentence."""
    import numpy as np

    from geodis.manifold.angles import subspace_angles

    est = report.manifold
    if est is None:
        return f"No directions were found: {report.parts['manifold'].failure}"
    directions = [est.subspace(factor) for factor in range(est.n_factors_)]
    angle = np.degrees(subspace_angles(directions, drawn.tangents).mean())
    return (
        f"The directions found lie {angle:.2f} degrees from the true tangent spaces of "
        f"{' and '.join(drawn.names)}, on average (90: wrong factors)."
    )


def train_small_model(seed: int, quiet: bool) -> tuple[Any, Any]:
    """Latents of every image of a small grid, by a model trained for seconds; and the grid."""
    from geodis import models
    from geodis.base.check import require
    from geodis.data.grids.squares import XYObject

    torch = require("torch", extra="torch", purpose="The model of the demo")
    grid = XYObject(**DEMO_IMAGES)
    model = models.AdaTVAE(grid, latents=DEMO_LATENTS, network="vector", random_state=seed)
    # Layers this small gain nothing from a second thread, and wait for it where others work too.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        models.train(
            model,
            grid,
            steps=DEMO_STEPS,
            batch_size=64,
            device="cpu",
            random_state=seed,
            verbose=not quiet,
        )
    finally:
        torch.set_num_threads(threads)
    return models.encode(model, grid), grid
