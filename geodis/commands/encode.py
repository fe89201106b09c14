"""`geodis encode`: latents of a trained model, for everything else that geodis does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geodis.base.check import InputError
from geodis.base.write import whole_file
from geodis.commands._models import RunArgument, data_of, open_model
from geodis.commands._shared import AsJson, Quiet, Seed, say


def encode(
    run: RunArgument,
    out: Annotated[Path, typer.Option(help="Where to write: .npz.")],
    images: Annotated[
        str | None, typer.Option(help="Other images than those of the training.")
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", min=1, help="Images, drawn at random.", show_default="all"),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write latents, with log-variances, and the factors and indices of images of a grid.

    Examples: `geodis encode run --out latents.npz`, then
    `geodis scores latents.npz:latents --factors latents.npz:factors`
    """
    import numpy as np

    from geodis.base.check import check_random_state
    from geodis.data.files.load import FACTOR_NAMES, load_array
    from geodis.data.grids.grid import FactorGrid
    from geodis.models import encode as encode_images

    if out.suffix != ".npz":
        raise InputError(f"--out must end in .npz; {out} came.")
    model = open_model(run, device)
    rows = data_of(run, quiet) if images is None else load_array(images)
    index = np.arange(len(rows))
    if n is not None and n < len(rows):
        index = np.sort(check_random_state(seed).choice(len(rows), n, replace=False))
    grid = rows if isinstance(rows, FactorGrid) else None
    if len(index) < len(rows):
        rows = rows[index] if grid is None else grid.images(index, "auto")
    latents, log_variances = encode_images(model, rows, log_variances=True, verbose=not quiet)
    content = {"latents": latents, "index": index}
    if np.isfinite(log_variances).all():
        content["log_variances"] = log_variances
    if grid is not None:
        content["factors"] = grid.factors(index)
        content[FACTOR_NAMES] = np.array(grid.names)
    with whole_file(out) as temporary:
        np.savez(temporary, **content)
    parts = ", ".join(f"{name} {array.shape}" for name, array in content.items())
    shapes = {name: array.shape for name, array in content.items()}
    say(f"{out}: {parts}", {"out": str(out), "arrays": shapes}, as_json)
