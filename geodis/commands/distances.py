"""`geodis distances` and `geodis learn-kernel`: compare distances, and learn a loss from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis import __version__
from geodis.base.check import InputError
from geodis.commands.options import (
    CommonOptions,
    DataSource,
    as_variant,
    factors_of,
    named_grid,
    open_data,
    option,
    refuse_options_of_data,
)
from geodis.commands.output import OutputFolder, output_file, say

if TYPE_CHECKING:
    from geodis.data.grids.grid import FactorGrid
    from geodis.distances import LossLike
    from geodis.kernels import FeatureLoss, LossKernel


MATRIX_TRAVERSALS = 128
FILES = {
    "distances.json": "every number of the tables, with settings, seed and versions",
    "distances.txt": "the tables",
    "correlations.png": "agreement between kinds of distances, by factor",
    "matrices.png": "average distances along every factor",
    "distribution.png": "cumulative distribution of perceived distances",
}


@dataclass(frozen=True)
class DistanceOptions:
    """Which distances are compared, and over which pairs."""

    latents: str | None = option(None, "Latents of the same rows, or of every index of --data.")
    loss: str = option("mse", "mse, mae, bce, box:31, gaussian:31, or a learnt kernel.safetensors.")
    pairs: int = option(50_000, "Approximate number of pairs per factor.", min=2)
    scaled: bool = option(False, "Scale factors to [0, 1] in the ground truth.", "--scaled")
    self_pairs: bool = option(
        False, "Include pairs of a point with itself, as published tables do.", "--self-pairs"
    )
    confidence: float | None = option(
        None, "Level of bootstrap intervals, such as 0.95.", show_default="none"
    )
    out: Path | None = option(None, "Folder for JSON, tables and figures.")


@dataclass(frozen=True)
class Compared:
    """A grid, the latents of its points, if any, and the loss on its images."""

    grid: FactorGrid
    code: Any
    loss: LossLike


def distances_command(source: DataSource, chosen: DistanceOptions, common: CommonOptions) -> None:
    """Compare distances of ground-truth factors, images (as a loss sees them) and latents.

    Examples: `geodis distances --data xysquares --spacing 8 --out out`,
    `geodis distances --images X.npy --factors F.csv --latents Z.npy --loss box:31`
    """
    folder = None if chosen.out is None else OutputFolder(chosen.out, FILES)
    compared = open_compared(source, chosen, common.quiet)
    results, refused = compare_given(compared, chosen, common)
    texts = [str(compared.grid), *map(str, results.values()), *refused.values()]
    tables: dict[str, Any] = {name: result.to_dict() for name, result in results.items()}
    tables |= {name: {"refused": problem} for name, problem in refused.items()}
    if compared.code is not None:
        tables["ratios"], lines = _ratios(compared, common.seed)
        texts.append("\n".join(lines))
    values = {
        "data": source.data or source.images or source.factors,
        "latents": chosen.latents,
        "loss": chosen.loss,
        "seed": common.seed,
        "geodis": __version__,
        **tables,
    }
    text = "\n\n".join(texts)
    say(text, values, common.as_json)
    if folder is not None:
        with folder:
            folder.write_json("distances.json", values)
            folder.write_text("distances.txt", text)
            draw_distances(folder, compared, results, common)
        folder.list_files(common.as_json)


def compare_given(
    compared: Compared, chosen: DistanceOptions, common: CommonOptions
) -> tuple[dict[str, Any], dict[str, str]]:
    """Compute the tables of distances by name, and the reasons why others are missing."""
    from geodis.distances import distance_correlations, factor_importance, overlap

    grid, loss = compared.grid, compared.loss
    options = common.settings()
    results: dict[str, Any] = {
        "correlations": distance_correlations(
            grid,
            compared.code,
            loss,
            n_pairs=chosen.pairs,
            scaled=chosen.scaled,
            self_pairs=chosen.self_pairs,
            confidence=chosen.confidence,
            **options,
        )
    }
    refused: dict[str, str] = {}
    if grid.image_shape is not None:
        results["importance"] = factor_importance(grid, loss, n_pairs=chosen.pairs, **options)
        try:
            results["overlap"] = overlap(grid, loss, n_pairs=chosen.pairs // 2, **options)
        except InputError as problem:  # no traversal has three values; the other tables remain
            refused["overlap"] = str(problem)
    return results, refused


def draw_distances(
    folder: OutputFolder, compared: Compared, results: dict[str, Any], common: CommonOptions
) -> None:
    """Draw the tables, as far as there are images and factors with few values."""
    from geodis import plots
    from geodis.distances import traversal_matrices

    matrices = traversal_matrices(
        compared.grid,
        compared.code,
        compared.loss,
        n_traversals=MATRIX_TRAVERSALS,
        **common.settings(),
    )
    axis = plots.plot_distance_correlations(results["correlations"])
    folder.save_figure("correlations.png", axis)
    if any(matrices.values()):
        folder.save_figure("matrices.png", plots.plot_traversal_matrices(matrices))
    if "importance" in results:
        axis = plots.plot_distance_distribution(results["importance"])
        folder.save_figure("distribution.png", axis)


def open_compared(source: DataSource, chosen: DistanceOptions, quiet: bool) -> Compared:
    """Open the grid, the latents in the order of its index, and the loss."""
    from geodis.data.files.load import load_array
    from geodis.distances import code_of_rows, resolve_loss
    from geodis.kernels import load_kernel

    latents, loss = chosen.latents, chosen.loss
    grid: Any = as_variant(_open_grid(source, latents, quiet), source)
    code = None if latents is None else code_of_rows(grid, load_array(latents))
    is_learnt = loss.endswith(".safetensors")
    return Compared(grid, code, load_kernel(loss) if is_learnt else resolve_loss(loss))


def _open_grid(source: DataSource, latents: str | None, quiet: bool) -> FactorGrid:
    from geodis.data.files.load import load_array
    from geodis.data.grids.grid import FactorGrid

    data, images, factors = source.data, source.images, source.factors
    if data is not None and images is not None:
        raise InputError("--images go with --factors; got them with --data, which brings its own.")
    if (data is None) == (factors is None):
        alone = [f"--{name}" for name, value in (("images", images), ("latents", latents)) if value]
        given = "both" if data else f"only {' and '.join(alone)}" if alone else "none"
        raise InputError(
            "geodis distances needs --data, or --factors with --images, --latents or both; "
            f"got {given}."
        )
    if data is not None:
        return named_grid(source, quiet)
    refuse_options_of_data(source, "--factors")
    if images is None and latents is None:
        raise InputError("--factors need --images, --latents or both; got neither.")
    pictures = None if images is None else load_array(images)
    return FactorGrid.from_arrays(pictures, factors_of(source))


def _ratios(compared: Compared, seed: int) -> tuple[dict[str, Any], list[str]]:
    """Compute ratios of latents along traversals, which the tables of distances do not include."""
    from geodis.scores.registry import choose_scores

    ratios: dict[str, Any] = {}
    lines = ["Ratios of the latents along traversals"]
    for entry in choose_scores("ratios"):
        if not (entry.takes_grid and entry.has_option("n_traversals")):
            continue
        options = {"random_state": seed} if entry.random else {}
        try:
            score = entry.compute(compared.code, compared.grid, **options)
        except entry.refusals as problem:  # too few traversals; the distances remain
            ratios[entry.name] = {"refused": str(problem)}
            lines.append(f"{entry.name}: {problem}")
            continue
        ratios[entry.name] = score.to_dict()
        lines.append(str(score))
    return ratios, lines


# `geodis learn-kernel`


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
        raise InputError("--images need --factors, one row per image; got none.")
    loss = learn_loss(grid, learnt, learning, common)
    with folder:
        save_kernel(loss, folder.path(out.name))
        folder.path(settings)  # written by save_kernel
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
    """Learn a kernel, or a network if --features is given."""
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
