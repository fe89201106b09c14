"""`geodis walk`: move along one factor of some points while the others stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis.base.check import InputError
from geodis.base.write import whole_file, write_json
from geodis.commands.factorise import FactoriseOptions, fit_and_note
from geodis.commands.shared.data_source import load_points
from geodis.commands.shared.options import CommonOptions, DeviceOption, FileArgument
from geodis.commands.shared.output import OutputFolder, say

if TYPE_CHECKING:
    import numpy as np

    from geodis.manifold.walks.walk_results import Walk


NAMES = ("walk.png", "points.npy", "walk.json")


@dataclass(frozen=True)
class ShownOptions:
    """What stands for the places of a walk."""

    images: Annotated[
        str | None,
        typer.Option(help="Images of the same rows (n, h, w, c): the nearest ones are shown."),
    ] = None
    model: Annotated[
        Path | None,
        typer.Option(help="Folder that `geodis train` wrote, if the points are its latents."),
    ] = None
    device: DeviceOption = "auto"


def walk_command(
    *,
    file: FileArgument,
    factor: Annotated[int, typer.Option(min=0, help="Along which factor.")],
    start: Annotated[int, typer.Option(min=0, help="Row to start from.")] = 0,
    to: Annotated[
        int | None, typer.Option(min=0, help="Row to go to, in this factor.", show_default="none")
    ] = None,
    direction: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Axis of the factor at the start.",
            show_default="the first, where there is room",
        ),
    ] = None,
    length: Annotated[
        float | None,
        typer.Option(
            help="How far, in the units of the points.", show_default="as far as the farthest point"
        ),
    ] = None,
    steps: Annotated[int, typer.Option(min=2, help="Places, start and end included.")] = 16,
    shown: ShownOptions,
    chosen: FactoriseOptions,
    out: Annotated[Path, typer.Option(help="Folder for the picture, the points, the numbers.")],
    common: CommonOptions,
) -> None:
    """Move along one factor while the others stay, and draw what changes.

    Examples: `geodis walk codes.npy --factor 0 --images images.npy --out walk`, `geodis walk
    z.npy --factor 1 --start 5 --to 80 --model run --out walk`
    """
    folder = OutputFolder(out, NAMES)
    points = load_points(file)
    pictures = _images_of(shown, points)
    decoder = None if shown.model is None else _decoder(shown.model, shown.device)
    settings = chosen.settings() | {"random_state": common.seed, "verbose": int(common.verbose)}
    est, notes = fit_and_note(points, settings)
    walk = est.walk(start, factor, to=to, direction=direction, length=length, steps=steps)
    if decoder is not None:
        decoded = walk.decode(decoder)
        pictures = decoded if decoded.ndim == 4 else None  # else no image
    values = {
        "file": file,
        "factor": factor,
        "factor_dims": est.factor_dims_,
        "start": start,
        "to": to,
        "direction": direction,
        "asked": walk.asked,
        "stopped": walk.stopped,
        "reason": walk.reason,
        "lengths": walk.lengths,
        "nearest": walk.nearest,
        "gap": walk.gap,
        "spacing": walk.spacing,
        "uncertain": est.uncertain_,
        "doubts": est.doubts_,
        "doubt_codes": [doubt.code for doubt in est.doubts_],
        "warnings": notes,
        "settings": est.get_params(),
    }
    say(walk, values, common.as_json)
    with folder:
        write_walk(folder, walk, pictures, values)
    if not common.as_json:
        folder.list_files()


def write_walk(folder: OutputFolder, walk: Walk, pictures: Any, values: dict[str, Any]) -> None:
    """Write the picture, the points and the numbers, each file whole or not at all."""
    import numpy as np

    from geodis import plots

    drawn = "what changes along the walk"
    plots.save_figure(plots.plot_walk(walk, pictures), folder.path("walk.png", drawn))
    with whole_file(folder.path("points.npy", "the places, as points: (steps, columns)")) as path:
        np.save(path, walk.points)
    write_json(folder.path("walk.json", "lengths, nearest rows, how far these are"), values)


def _images_of(shown: ShownOptions, points: np.ndarray) -> np.ndarray | None:
    """The images of --images, one for every row."""
    from geodis.data.files.load import load_array

    if shown.images is None:
        return None
    if shown.model is not None:
        raise InputError("A walk is shown by --images or by --model; got both.")
    images = load_array(shown.images)
    drawn = images.ndim == 3 or (images.ndim == 4 and images.shape[3] in (1, 3))
    if not drawn or len(images) != len(points):
        raise InputError(
            f"--images must be an image (h, w), (h, w, 1) or (h, w, 3) for each of the "
            f"{len(points):,} rows; got shape {images.shape}."
        )
    return images


def _decoder(run: Path, device: str) -> Callable[[np.ndarray], np.ndarray]:
    """What the model of --model makes of points; opened before a fit that may take long."""
    from geodis.commands.shared.runs import open_model
    from geodis.models import decode

    model = open_model(run, device)
    return lambda latents: decode(model, latents)
