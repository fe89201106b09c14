"""`geodis learn-kernel`: learn the loss that makes a model see the right distances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from geodis.base.check import InputError
from geodis.base.write import to_jsonable
from geodis.commands._data import open_data
from geodis.commands._shared import AsJson, Quiet, Seed, list_files


def learn_kernel(
    out: Annotated[Path, typer.Option(help="File of the learnt loss, .safetensors.")],
    data: Annotated[
        str | None,
        typer.Option(help="xysquares, xyobject, sprites; with --path dsprites, shapes3d, ..."),
    ] = None,
    spacing: Annotated[int | None, typer.Option(min=1, help="Of xysquares.")] = None,
    path: Annotated[Path | None, typer.Option(help="File of a published data set.")] = None,
    images: Annotated[str | None, typer.Option(help="Images (n, h, w, c) of your own.")] = None,
    factors: Annotated[str | None, typer.Option(help="Factors of the same rows.")] = None,
    radius: Annotated[int, typer.Option(min=0, help="The kernel has 2 radius + 1 pixels.")] = 31,
    features: Annotated[
        str | None,
        typer.Option(
            help="Learn a small network instead, such as 16,32,32: maps after each layer.",
            show_default="a kernel",
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="A factor that counts; may be repeated.")
    ] = None,
    kernels: Annotated[int, typer.Option(min=1, help="Kernels that are used together.")] = 1,
    support: Annotated[
        str, typer.Option(help="full, or same: cut to the image; auto by radius.")
    ] = "auto",
    symmetry: Annotated[str, typer.Option(help="Of the kernel: d4, flip or none.")] = "d4",
    signed: Annotated[bool, typer.Option("--signed", help="Allow negative weights.")] = False,
    by: Annotated[str, typer.Option(help="Pairs: random, factor or differing.")] = "random",
    steps: Annotated[int | None, typer.Option(min=1, help="Most steps.")] = None,
    alpha: Annotated[float, typer.Option(min=0, help="Weight of the augmented term.")] = 1.0,
    adversarial: Annotated[
        bool, typer.Option("--adversarial", help="Learn distances that contradict the factors.")
    ] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Written as it goes on; read if it is there.")
    ] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Learn a reconstruction loss whose distances follow the ground-truth factors.

    Examples: `geodis learn-kernel --data xysquares --radius 31 --out kernel.safetensors`, then
    `geodis distances --data xysquares --loss kernel.safetensors`
    """
    from geodis.data.grids.grid import FactorGrid
    from geodis.kernels.learning.learn_features import learn_features
    from geodis.kernels.learning.learn_kernel import learn_kernel as learn
    from geodis.kernels.losses.storage import save_kernel
    from geodis.plots import plot_kernels, save_figure

    if out.suffix != ".safetensors":
        raise InputError(f"--out must end in .safetensors; {out} came.")
    source = {
        "data": data,
        "spacing": spacing,
        "path": path,
        "images": images,
        "factors": factors,
    }
    grid = open_data(source, quiet)
    if not isinstance(grid, FactorGrid):
        raise InputError("--images need --factors, one row an image; none came.")
    options: dict[str, Any] = {
        "only": only,
        "by": by,
        "alpha": alpha,
        "adversarial": adversarial,
        "checkpoint": checkpoint,
        "random_state": seed,
        "verbose": int(not quiet),
        **({} if steps is None else {"steps": steps}),
    }
    written = {out: "the learnt loss", out.with_suffix(".json"): "how it was made"}
    loss: Any
    if features is not None:
        loss = learn_features(grid, _widths(features), **options)
    else:
        loss = learn(
            grid,
            radius,
            kernels=kernels,
            support=support,
            symmetry=symmetry,
            nonnegative=not signed,
            **options,
        )
        picture = out.with_suffix(".png")
        save_figure(plot_kernels({loss.name: loss}).ravel()[0], picture)
        written[picture] = "the kernel"
    save_kernel(loss, out)
    if as_json:
        print(json.dumps(to_jsonable(loss.made), indent=2))
        return
    print(
        f"{loss.name}: rank correlation with the ground truth {loss.made['held_out']:.4f} on "
        f"held-out pairs ({by}), {loss.made['pixel_loss']:.4f} without it; "
        f"{loss.made['steps']} steps, {sum(loss.made['seconds'].values()):.0f} s"
    )
    list_files("Written", written)


def _widths(text: str) -> list[int]:
    try:
        return [int(width) for width in text.split(",")]
    except ValueError:
        raise InputError(
            f"--features must be whole numbers such as 16,32,32; {text} came."
        ) from None
