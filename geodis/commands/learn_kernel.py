"""`geodis learn-kernel`: learn the loss that makes a model see the right distances."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis.base.check import InputError
from geodis.commands.shared.data_source import DataSource, open_data
from geodis.commands.shared.options import CommonOptions, option
from geodis.commands.shared.output import output_file, say

if TYPE_CHECKING:
    from geodis.data.grids.grid import FactorGrid
    from geodis.kernels import FeatureLoss, LossKernel


@dataclass(frozen=True)
class KernelFile:
    """Where the loss is written."""

    out: Path = option(..., "File of the learnt loss, .safetensors.")


@dataclass(frozen=True)
class LearntLossOptions:
    """What is learnt."""

    radius: int = option(31, "The kernel has 2 radius + 1 pixels.", min=0)
    features: str | None = option(
        None,
        "Learn a small network instead, such as 16,32,32: number of maps after each layer.",
        show_default="a kernel",
    )
    only: list[str] | None = option(None, "A factor that counts; repeatable.")
    as_numbers: bool = option(
        False, "Treat labels and cyclic factors as numbers, as published.", "--as-numbers"
    )
    kernels: int = option(1, "Number of kernels that are used together.", min=1)
    support: str = option("auto", "full, or same: cut to the image; auto depends on the radius.")
    symmetry: str = option("d4", "Of the kernel: d4, flip or none.")
    signed: bool = option(False, "Allow negative weights.", "--signed")


@dataclass(frozen=True)
class LearningOptions:
    """How it is learnt."""

    by: str = option("random", "Pairs: random, factor or differing.")
    steps: int | None = option(None, "Maximum number of steps.", min=1)
    alpha: float = option(1.0, "Weight of the augmented term.", min=0)
    adversarial: bool = option(
        False, "Learn distances that contradict the factors.", "--adversarial"
    )
    checkpoint: Path | None = option(None, "File of the training state; read if it exists.")


def learn_kernel_command(
    file: KernelFile,
    source: DataSource,
    learnt: LearntLossOptions,
    learning: LearningOptions,
    common: CommonOptions,
) -> None:
    """Learn a reconstruction loss whose distances follow the ground-truth factors.

    Examples: `geodis learn-kernel --data xysquares --radius 31 --out kernel.safetensors`, then
    `geodis distances --data xysquares --loss kernel.safetensors`
    """
    from geodis.data.grids.grid import FactorGrid
    from geodis.kernels import LossKernel, save_kernel
    from geodis.plots import plot_kernels

    out = file.out
    if out.suffix != ".safetensors":
        raise InputError(f"--out must end in .safetensors; got {out}.")
    settings, picture = out.with_suffix(".json").name, out.with_suffix(".png").name
    beside = {settings: "how it was made"}
    if learnt.features is None:
        beside[picture] = "the kernel"
    folder = output_file(out, "the learnt loss", beside)
    grid = open_data(source, common.quiet)
    if not isinstance(grid, FactorGrid):
        raise InputError("--images need --factors, one row an image; got none.")
    loss = learn_loss(grid, learnt, learning, common)
    with folder:
        save_kernel(loss, folder.path(out.name))
        folder.path(settings)  # which is written with it
        if isinstance(loss, LossKernel):
            folder.save_figure(picture, plot_kernels({loss.name: loss}).ravel()[0])
    made = loss.made
    sentence = (
        f"{loss.name}: rank correlation with the ground truth {made['held_out']:.4f} on "
        f"held-out pairs ({learning.by}), {made['pixel_loss']:.4f} without it; "
        f"{made['steps']} steps, {sum(made['seconds'].values()):.0f} s"
    )
    say(sentence, made, common.as_json)
    folder.list_files(common.as_json)


def learn_loss(
    grid: FactorGrid, learnt: LearntLossOptions, learning: LearningOptions, common: CommonOptions
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
