"""`geodis walk`: move along one factor of some points while the others stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geodis.base.check import InputError
from geodis.commands.factorise import FactoriseOptions, fit_and_note
from geodis.commands.shared.data_source import load_points
from geodis.commands.shared.options import CommonOptions, DeviceOption, FileArgument, option
from geodis.commands.shared.output import OutputFolder, say

if TYPE_CHECKING:
    import numpy as np

FILES = {
    "walk.png": "what changes along the walk",
    "points.npy": "the positions, as points: (steps, columns)",
    "walk.json": "lengths, nearest rows and their distances",
}
# What is known of a walk beside its points.
FOUND = ("asked", "stopped", "reason", "lengths", "nearest", "gap", "spacing")


@dataclass(frozen=True, kw_only=True)
class WalkOptions:
    """Where the walk leads."""

    file: FileArgument
    factor: int = option(..., "Factor to move along.", min=0)
    start: int = option(0, "Row to start from.", min=0)
    to: int | None = option(None, "Row to reach, in this factor.", min=0, show_default="none")
    direction: int | None = option(
        None,
        "Axis of the factor at the start.",
        min=0,
        show_default="the first, where there is room",
    )
    length: float | None = option(
        None, "Length, in the units of the points.", show_default="to the farthest point"
    )
    steps: int = option(16, "Number of positions, including start and end.", min=2)
    out: Path = option(..., "Folder for the picture, the points and the numbers.")


@dataclass(frozen=True)
class ShownOptions:
    """What represents the positions of a walk."""

    images: str | None = option(
        None, "Images of the same rows (n, h, w, c): the nearest ones are shown."
    )
    model: Path | None = option(
        None, "Folder that `geodis train` wrote, if the points are its latents."
    )
    device: DeviceOption = "auto"


def walk_command(
    given: WalkOptions, shown: ShownOptions, fit: FactoriseOptions, common: CommonOptions
) -> None:
    """Move along one factor while the others stay, and draw what changes.

    Examples: `geodis walk codes.npy --factor 0 --images images.npy --out walk`, `geodis walk
    z.npy --factor 1 --start 5 --to 80 --model run --out walk`
    """
    from geodis import plots

    folder = OutputFolder(given.out, FILES)
    points = load_points(given.file)
    pictures = _images_of(shown, points)
    decoder = None if shown.model is None else _decoder(shown.model, shown.device)
    est, notes = fit_and_note(points, fit, common)
    walk = est.walk(
        given.start,
        given.factor,
        to=given.to,
        direction=given.direction,
        length=given.length,
        steps=given.steps,
    )
    if decoder is not None:
        decoded = walk.decode(decoder)
        pictures = decoded if decoded.ndim == 4 else None  # else no image
    values = {
        "file": given.file,
        "factor": given.factor,
        "factor_dims": est.factor_dims_,
        "start": given.start,
        "to": given.to,
        "direction": given.direction,
        **{name: getattr(walk, name) for name in FOUND},
        "uncertain": est.uncertain_,
        "doubts": est.doubts_,
        "doubt_codes": [doubt.code for doubt in est.doubts_],
        "warnings": notes,
        "settings": est.get_params(),
    }
    say(walk, values, common.as_json)
    with folder:
        folder.save_figure("walk.png", plots.plot_walk(walk, pictures))
        folder.write_array("points.npy", walk.points)
        folder.write_json("walk.json", values)
    folder.list_files(common.as_json)


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
    """The decoder of --model, which is opened before the fit because that may take long."""
    from geodis.commands.shared.runs import open_model
    from geodis.models import decode

    model = open_model(run, device)
    return lambda latents: decode(model, latents)
