"""`geodis traverse`: a picture of what every latent does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geodis.commands.shared.options import CommonOptions, DeviceOption
from geodis.commands.shared.output import output_file, say
from geodis.commands.shared.runs import RunArgument, data_of, open_model

# Images that say how far each latent goes.
MEASURED = 2000


def traverse_command(
    *,
    run: RunArgument,
    out: Annotated[
        Path | None, typer.Option(help="Picture.", show_default="traversals.png in the folder")
    ] = None,
    index: Annotated[int, typer.Option(min=0, help="Image to start from.")] = 0,
    steps: Annotated[int, typer.Option(min=2, help="Columns.")] = 9,
    reach: Annotated[
        float, typer.Option(min=0, help="Standard deviations of the latent's means, each way.")
    ] = 2.0,
    device: DeviceOption = "auto",
    common: CommonOptions,
) -> None:
    """Draw what the decoder makes of one latent at a time, the most used latents first.

    Examples: `geodis traverse run`, `geodis traverse run --index 100 --out traversals.pdf`
    """
    import numpy as np

    from geodis import plots
    from geodis.base.check import check_int, check_random_state
    from geodis.base.text import counted
    from geodis.data.grids.grid import FactorGrid
    from geodis.models import encode, traverse

    model = open_model(run, device)
    picture = run / "traversals.png" if out is None else out
    folder = output_file(picture)
    rows = data_of(run, common.quiet)
    check_int(index, "--index", high=len(rows) - 1)
    pick = check_random_state(common.seed).choice(
        len(rows), min(MEASURED, len(rows)), replace=False
    )
    sample, image = (
        rows.images(at, "auto") if isinstance(rows, FactorGrid) else rows[at]
        for at in (pick, [index])
    )
    latents = encode(model, sample, verbose=common.verbose)
    spread = latents.std(axis=0)
    traversals = traverse(
        model, image[0], steps=steps, reach=reach * spread, centre=latents.mean(axis=0)
    )
    order = np.argsort(-spread)
    reaches = np.linspace(-reach, reach, steps)
    names = [f"z {i}  ({spread[i]:.2g})" for i in order]
    axis = plots.plot_traversals(traversals[order], names=names, values=reaches)
    axis.set_title(
        f"{type(model).__name__}: latents by standard deviation", loc="left", fontsize=10
    )
    axis.set_xlabel("standard deviations from the mean")
    with folder:
        plots.save_figure(axis, folder.path(picture.name, "the picture"))
    text = f"{picture}: {counted(len(traversals), 'latent')}, {counted(steps, 'step')} each"
    values = {"out": str(picture), "deviations": spread, "order": order, "steps": steps}
    say(text, values, common.as_json)
