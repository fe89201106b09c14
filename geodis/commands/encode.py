"""`geodis encode`: latents of a trained model, for everything else that geodis does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from geodis.base.check import InputError
from geodis.base.write import whole_file
from geodis.commands.shared.options import CommonOptions, DeviceOption, option
from geodis.commands.shared.output import output_file, say
from geodis.commands.shared.runs import RunArgument, data_of, images_at, open_model, sampled_rows


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

    from geodis.data.files.beside import arrays_of_factors
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
