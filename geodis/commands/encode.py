"""`geodis encode`: latents of a trained model, for everything else that geodis does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from geodis.base.check import InputError
from geodis.base.write import whole_file
from geodis.commands.shared.options import CommonOptions, DeviceOption
from geodis.commands.shared.output import output_file, say
from geodis.commands.shared.runs import RunArgument, data_of, open_model


def encode_command(
    *,
    run: RunArgument,
    out: Annotated[Path, typer.Option(help="Where to write: .npz.")],
    images: Annotated[
        str | None, typer.Option(help="Other images than those of the training.")
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", min=1, help="Images, drawn at random.", show_default="all"),
    ] = None,
    device: DeviceOption = "auto",
    common: CommonOptions,
) -> None:
    """Write latents, with log-variances, and the factors and indices of images of a grid.

    Beside the factors stand their names, and whether they are labels, ordered, numbers or cyclic.

    Examples: `geodis encode run --out latents.npz`, then
    `geodis scores latents.npz:latents --factors latents.npz:factors`
    """
    import numpy as np

    from geodis.base.check import check_random_state
    from geodis.data.files.beside import arrays_of_factors
    from geodis.data.files.load import load_array
    from geodis.data.grids.grid import FactorGrid
    from geodis.models import encode

    if out.suffix != ".npz":
        raise InputError(f"--out must end in .npz; got {out}.")
    folder = output_file(out)
    model = open_model(run, device)
    rows = data_of(run, common.quiet) if images is None else load_array(images)
    index = np.arange(len(rows))
    if n is not None and n < len(rows):
        index = np.sort(check_random_state(common.seed).choice(len(rows), n, replace=False))
    grid = rows if isinstance(rows, FactorGrid) else None
    if len(index) < len(rows):
        rows = rows.images(index, "auto") if isinstance(rows, FactorGrid) else rows[index]
    latents, log_variances = encode(model, rows, log_variances=True, verbose=common.verbose)
    arrays = {"latents": latents, "index": index}
    if np.isfinite(log_variances).all():
        arrays["log_variances"] = log_variances
    if grid is not None:
        arrays |= arrays_of_factors(replace(grid.known_factors(index), values=grid.factors(index)))
    with folder, whole_file(folder.path(out.name, "the latents")) as temporary:
        np.savez(temporary, **arrays)
    parts = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    shapes = {name: array.shape for name, array in arrays.items()}
    say(f"{out}: {parts}", {"out": str(out), "arrays": shapes}, common.as_json)
