"""`geodis traverse`: a picture of what every latent does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from geodis.commands.shared.options import CommonOptions, DeviceOption, option
from geodis.commands.shared.output import output_file, say
from geodis.commands.shared.runs import RunArgument, data_of, images_at, open_model

# Images from which the range of each latent is estimated.
MEASURED = 2000


@dataclass(frozen=True)
class TraverseOptions:
    """What is drawn."""

    run: RunArgument
    out: Path | None = option(None, "Picture.", show_default="traversals.png in the folder")
    index: int = option(0, "Image to start from.", min=0)
    steps: int = option(9, "Number of columns.", min=2)
    reach: float = option(
        2.0, "Standard deviations of the latent's means, in both directions.", min=0
    )
    device: DeviceOption = "auto"


def traverse_command(given: TraverseOptions, common: CommonOptions) -> None:
    """Draw what the decoder makes of one latent at a time, the most used latents first.

    Examples: `geodis traverse run`, `geodis traverse run --index 100 --out traversals.pdf`
    """
    import numpy as np

    from geodis import plots
    from geodis.base.check import check_int, check_random_state
    from geodis.base.text import counted
    from geodis.models import encode, traverse

    steps, reach = given.steps, given.reach
    model = open_model(given.run, given.device)
    picture = given.run / "traversals.png" if given.out is None else given.out
    folder = output_file(picture, "the picture")
    rows = data_of(given.run, common.quiet)
    check_int(given.index, "--index", high=len(rows) - 1)
    pick = check_random_state(common.seed).choice(
        len(rows), min(MEASURED, len(rows)), replace=False
    )
    sample, image = images_at(rows, pick), images_at(rows, [given.index])
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
        folder.save_figure(picture.name, axis)
    text = f"{picture}: {counted(len(traversals), 'latent')}, {counted(steps, 'step')} each"
    values = {"out": str(picture), "deviations": spread, "order": order, "steps": steps}
    say(text, values, common.as_json)
