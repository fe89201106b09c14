"""`geodis learn-kernel`: learn the loss that makes a model see the right distances."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis.base.check import InputError
from geodis.commands.shared.data_source import DataSource, open_data
from geodis.commands.shared.options import CommonOptions
from geodis.commands.shared.output import output_file, say

if TYPE_CHECKING:
    from geodis.data.grids.grid import FactorGrid
    from geodis.kernels import FeatureLoss, LossKernel


@dataclass(frozen=True)
class WhatIsLearnt:
    """What is learnt."""

    radius: Annotated[int, typer.Option(min=0, help="The kernel has 2 radius + 1 pixels.")] = 31
    features: Annotated[
        str | None,
        typer.Option(
            help="Learn a small network instead, such as 16,32,32: maps after each layer.",
            show_default="a kernel",
        ),
    ] = None
    only: Annotated[
        list[str] | None, typer.Option(help="A factor that counts; may be repeated.")
    ] = None
    as_numbers: Annotated[
        bool,
        typer.Option("--as-numbers", help="Take labels and circles as numbers too, as published."),
    ] = False
    kernels: Annotated[int, typer.Option(min=1, help="Kernels that are used together.")] = 1
    support: Annotated[
        str, typer.Option(help="full, or same: cut to the image; auto by radius.")
    ] = "auto"
    symmetry: Annotated[str, typer.Option(help="Of the kernel: d4, flip or none.")] = "d4"
    signed: Annotated[bool, typer.Option("--signed", help="Allow negative weights.")] = False


@dataclass(frozen=True)
class HowItIsLearnt:
    """How it is learnt."""

    by: Annotated[str, typer.Option(help="Pairs: random, factor or differing.")] = "random"
    steps: Annotated[int | None, typer.Option(min=1, help="Most steps.")] = None
    alpha: Annotated[float, typer.Option(min=0, help="Weight of the augmented term.")] = 1.0
    adversarial: Annotated[
        bool, typer.Option("--adversarial", help="Learn distances that contradict the factors.")
    ] = False
    checkpoint: Annotated[
        Path | None, typer.Option(help="Written as it goes on; read if it is there.")
    ] = None


def learn_kernel_command(
    *,
    out: Annotated[Path, typer.Option(help="File of the learnt loss, .safetensors.")],
    source: DataSource,
    learnt: WhatIsLearnt,
    learning: HowItIsLearnt,
    common: CommonOptions,
) -> None:
    """Learn a reconstruction loss whose distances follow the ground-truth factors.

    Examples: `geodis learn-kernel --data xysquares --radius 31 --out kernel.safetensors`, then
    `geodis distances --data xysquares --loss kernel.safetensors`
    """
    from geodis.data.grids.grid import FactorGrid
    from geodis.kernels import LossKernel, save_kernel
    from geodis.plots import plot_kernels, save_figure

    if out.suffix != ".safetensors":
        raise InputError(f"--out must end in .safetensors; got {out}.")
    others = [out.with_suffix(".json").name]
    if learnt.features is None:
        others.append(out.with_suffix(".png").name)
    folder = output_file(out, *others)
    grid = open_data(source, common.quiet)
    if not isinstance(grid, FactorGrid):
        raise InputError("--images need --factors, one row an image; got none.")
    loss = learn_loss(grid, learnt, learning, common)
    with folder:
        save_kernel(loss, folder.path(out.name, "the learnt loss"))
        folder.path(out.with_suffix(".json").name, "how it was made")  # which is written with it
        if isinstance(loss, LossKernel):
            picture = folder.path(out.with_suffix(".png").name, "the kernel")
            save_figure(plot_kernels({loss.name: loss}).ravel()[0], picture)
    made = loss.made
    sentence = (
        f"{loss.name}: rank correlation with the ground truth {made['held_out']:.4f} on "
        f"held-out pairs ({learning.by}), {made['pixel_loss']:.4f} without it; "
        f"{made['steps']} steps, {sum(made['seconds'].values()):.0f} s"
    )
    say(sentence, made, common.as_json)
    if not common.as_json:
        folder.list_files()


def learn_loss(
    grid: FactorGrid, learnt: WhatIsLearnt, learning: HowItIsLearnt, common: CommonOptions
) -> LossKernel | FeatureLoss:
    """A learnt kernel, or a learnt network where --features asks for one."""
    from geodis.kernels import FeatureOptions, KernelOptions, learn_features, learn_kernel

    choices: dict[str, Any] = {
        "only": learnt.only,
        "kinds": "numbers" if learnt.as_numbers else None,
        "by": learning.by,
        "alpha": learning.alpha,
        "adversarial": learning.adversarial,
    }
    settings: dict[str, Any] = {
        "checkpoint": learning.checkpoint,
        "random_state": common.seed,
        "verbose": int(common.verbose),
    }
    if learning.steps is not None:
        settings["steps"] = learning.steps
    if learnt.features is not None:
        features = FeatureOptions(**choices)
        return learn_features(grid, _widths(learnt.features), options=features, **settings)
    choices |= {
        "kernels": learnt.kernels,
        "support": learnt.support,
        "symmetry": learnt.symmetry,
        "nonnegative": not learnt.signed,
    }
    return learn_kernel(grid, learnt.radius, options=KernelOptions(**choices), **settings)


def _widths(text: str) -> list[int]:
    try:
        return [int(width) for width in text.split(",")]
    except ValueError:
        raise InputError(
            f"--features must be whole numbers such as 16,32,32; got {text}."
        ) from None
