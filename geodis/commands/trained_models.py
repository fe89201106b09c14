"""`geodis encode` and `geodis traverse`: latents of a trained model, and pictures of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis.base.check import InputError
from geodis.base.write import whole_file
from geodis.commands.options import CommonOptions, DeviceOption, open_data, option, source_of
from geodis.commands.output import output_file, say

if TYPE_CHECKING:
    import numpy as np

    from geodis.data.grids.grid import FactorGrid
    from geodis.models import Model


# Shared functions: open a run with its data and settings.

RunArgument = Annotated[
    Path, typer.Argument(help="Folder that `geodis train` wrote.", show_default=False)
]


def data_of(run: Path, quiet: bool) -> FactorGrid | np.ndarray:
    """Open the data on which a run was trained."""
    from geodis.models.saving import read_config

    given = read_config(run).get("data")
    if given is None:
        raise InputError(f"{run} must say what it was trained on; got nothing: give --images.")
    return open_data(source_of(given), quiet)


def sampled_rows(n: int, most: int | None, seed: int) -> np.ndarray:
    """Draw at most `most` of n row numbers at random, in order."""
    import numpy as np

    from geodis.base.check import check_random_state

    if most is None or n <= most:
        return np.arange(n)
    return np.sort(check_random_state(seed).choice(n, most, replace=False))


def images_at(rows: FactorGrid | np.ndarray, index: Any) -> np.ndarray:
    """Return some images of a grid, or rows of an array."""
    from geodis.data.grids.grid import FactorGrid

    return rows.images(index, "auto") if isinstance(rows, FactorGrid) else rows[index]


def open_model(run: Path, device: str = "auto") -> Model:
    """Load the model of a run onto its device."""
    from geodis.models import load_model
    from geodis.models.training.step import choose_device

    chosen: Any = device  # may be "cuda:1", which choose_device accepts
    return load_model(run).to(choose_device(chosen))


def settings_of(pairs: list[str] | None) -> dict[str, Any]:
    """Parse settings written as name=value."""
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set takes name=value, such as beta=4; got {pair}.")
        settings[name.replace("-", "_")] = _value(text)
    return settings


def _value(text: str) -> bool | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class EncodeOptions:
    """What is encoded, and by which model."""

    run: RunArgument
    out: Path = option(..., "File to write to (.npz).")
    images: str | None = option(None, "Images other than those of the training.")
    n: int | None = option(
        None, "Number of images, drawn at random.", "--n", min=1, show_default="all"
    )
    device: DeviceOption = "auto"


def encode_command(given: EncodeOptions, common: CommonOptions) -> None:
    """Write latents and log-variances, and for images of a grid their factors and indices.

    The file also holds the names of the factors and their kinds (labels, ordered, numbers, cyclic).

    Examples: `geodis encode run --out latents.npz`, then
    `geodis scores latents.npz:latents --factors latents.npz:factors`
    """
    import numpy as np

    from geodis.data.files.formats import arrays_of_factors
    from geodis.data.files.load import load_array
    from geodis.data.grids.grid import FactorGrid
    from geodis.models import encode

    out = given.out
    if out.suffix != ".npz":
        raise InputError(f"--out must end in .npz; got {out}.")
    folder = output_file(out, "the latents")
    model = open_model(given.run, given.device)
    rows = data_of(given.run, common.quiet) if given.images is None else load_array(given.images)
    index = sampled_rows(len(rows), given.n, common.seed)
    seen = rows if len(index) == len(rows) else images_at(rows, index)
    latents, log_variances = encode(model, seen, log_variances=True, verbose=common.verbose)
    arrays = {"latents": latents, "index": index}
    if np.isfinite(log_variances).all():
        arrays["log_variances"] = log_variances
    if isinstance(rows, FactorGrid):
        arrays |= arrays_of_factors(replace(rows.known_factors(index), values=rows.factors(index)))
    with folder, whole_file(folder.path(out.name)) as temporary:
        np.savez(temporary, **arrays)
    parts = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    shapes = {name: array.shape for name, array in arrays.items()}
    say(f"{out}: {parts}", {"out": str(out), "arrays": shapes}, common.as_json)


# `geodis traverse`

# Number of images from which the range of each latent is estimated.
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
    """Decode one latent at a time, the latents with the largest spread first.

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
