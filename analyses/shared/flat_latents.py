"""Latents of small autoencoders with known factors, for the analysis of flat factors.

Nothing makes the latents of an autoencoder isometric to its factors, and the prior of a VAE makes
them look like one Gaussian: what an unrolling says of such latents is measured, not assumed.
Training takes minutes; latents are kept beside the results and are not computed again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from geodis.base import whole_file
from geodis.data.manifolds.flat_products import FlatSample

HEART, UPRIGHT = 2, 0


@dataclass(frozen=True)
class LatentCase:
    """What is trained on what."""

    data: str
    model: str
    loss: str = "pixels"  # or "kernel", learnt on the same images, or "distances" of labels
    steps: int = 1200


SPRITES, SQUARE, SQUARES = "Sprites", "one square", "two squares"
LATENT_CASES: dict[str, LatentCase] = {
    "Sprites, AE": LatentCase(SPRITES, "AE"),
    "Sprites, VAE": LatentCase(SPRITES, "VAE"),
    "XYSquares, one square, pixels": LatentCase(SQUARE, "BetaVAE", steps=800),
    "XYSquares, one square, learnt kernel": LatentCase(SQUARE, "BetaVAE", "kernel", steps=800),
    "XYSquares, two squares, learnt kernel": LatentCase(SQUARES, "BetaVAE", "kernel"),
    "Sprites, distances learnt": LatentCase(SPRITES, "MetricEncoder", "distances", steps=600),
}
# Beta-VAEs work on standardised data with means over pixels and latents, as those of
# `vae_distances`: under a light divergence the posterior follows the distances of the loss.
BETA = {"pixels": 0.000316, "kernel": 0.01}
RADIUS, KERNEL_STEPS = 15, 300


def data_of(name: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Images, levels of their factors (n, f) in the order of a full grid, and names.

    Sprites: a heart, upright, in 6 sizes at 32 x 32 places. One square of XYSquares: of 4 pixels,
    at all 29 x 29 places of the image. Two squares: of 4 pixels, at 8 x 8 places each, 4 pixels
    apart, so that no two places overlap.
    """
    if name == SPRITES:
        sprites = gd.Sprites(32)
        sizes = (sprites.sizes[1], *sprites.sizes[3:])
        scale, x, y = np.indices(sizes).reshape(3, -1)
        fixed = [np.full_like(x, HEART), np.full_like(x, UPRIGHT)]
        index = sprites.index(np.column_stack([fixed[0], scale, fixed[1], x, y]))
        return sprites.images(index), np.column_stack([scale, x, y]), ("scale", "x", "y")
    options: dict[str, Any] = {"spacing": 1, "grid_size": 29, "n_squares": 1}
    if name == SQUARES:
        options = {"spacing": 4, "grid_size": 8, "n_squares": 2}
    squares = gd.XYSquares(square_size=4, image_size=32, **options)
    index = np.arange(len(squares))
    return squares.images(index), squares.factors(index), squares.names


def train_latents(case: LatentCase, seed: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Latents (n, z) of all images, and how much of the images' variance they explain.

    A metric encoder learns from labels in steps of the factors, and reconstructs nothing.
    """
    from geodis import models

    images, levels, _ = data_of(case.data)
    shape = (images.shape[3], *images.shape[1:3])
    options: dict[str, Any] = {"batch_size": 128, "random_state": seed, "verbose": 0}
    model: Any
    if case.model == "MetricEncoder":
        largest = levels.max(axis=0)
        labels = (2 * levels - largest) / largest.max()
        model = models.MetricEncoder(shape, 12, random_state=seed)
        models.train(model, (images, labels.astype(np.float32)), case.steps, **options)
        return models.encode(model, images).astype(np.float32), {"explained": None}
    if case.model == "BetaVAE":
        loss: Any = "mse" if case.loss == "pixels" else learnt_loss(images, levels, seed)
        model = models.BetaVAE(
            shape,
            9,
            loss=loss,
            normalise="mean",
            beta=BETA[case.loss],
            standardise=models.channel_moments(images),
            random_state=seed,
        )
    else:
        model = {"AE": models.AE, "VAE": models.VAE}[case.model](shape, 10, random_state=seed)
    models.train(model, images, case.steps, **options)
    error = float(((models.reconstruct(model, images[::7]) - images[::7] / 255.0) ** 2).mean())
    explained = 1 - error / float((images / 255.0).var(axis=0).mean())
    return models.encode(model, images).astype(np.float32), {"explained": explained}


def learnt_loss(images: np.ndarray, levels: np.ndarray, seed: int) -> Any:
    """A kernel learnt on the images, its augmented part as large as a box's.

    Ranks leave the scale of a kernel open, and a model needs one.
    """
    from geodis.kernels import LossKernel, learn_kernel

    learnt = learn_kernel(
        images, radius=RADIUS, factors=levels, steps=KERNEL_STEPS, random_state=seed, verbose=0
    )
    x, y = np.random.default_rng(0).choice(images, (2, 256)) / np.float32(255)
    pixels = float(((x - y) ** 2).mean())
    shares = [float(loss(x, y).mean()) / pixels - 1 for loss in (LossKernel.box(RADIUS), learnt)]
    learnt.alpha *= shares[0] / shares[1]
    return learnt


def latent_sample(name: str, folder: Path, seed: int = 0) -> tuple[FlatSample, dict[str, Any]]:
    """Latents that were kept in the folder, or else train them and keep them; what is known."""
    case = LATENT_CASES[name]
    path = folder / f"{name.replace(',', '').replace(' ', '_')}.npz"
    wanted = {**asdict(case), "seed": seed}
    try:
        with np.load(path, allow_pickle=False) as kept:
            latents, told = kept["latents"], json.loads(str(kept["about"]))
    except FileNotFoundError:
        told = {}
    if {key: told.get(key) for key in wanted} != wanted:
        latents, measured = train_latents(case, seed)
        told = {**wanted, **measured}
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, latents=latents, about=json.dumps(told))
    sample = as_sample(name, latents, data_of(case.data)[1])
    return sample, {**told, "skewness": skewness_of(sample), "auto": automatic_dimension(sample)}


def names_of(name: str) -> tuple[str, ...]:
    """Names of the factors of a case."""
    return data_of(LATENT_CASES[name].data)[2]


def automatic_dimension(sample: FlatSample) -> int:
    """What GeoManCER would take where it is not told."""
    return gd.intrinsic_dimension(sample.points, random_state=0).dim


def as_sample(name: str, latents: np.ndarray, levels: np.ndarray) -> FlatSample:
    """Latents as a sample with known directions: differences along the factors, of unit length.

    Unlike those of the other samples, the directions of two factors need not be orthogonal.
    """
    sizes = tuple(levels.max(axis=0) + 1)
    points = np.asarray(latents, dtype=float)
    whole = points.reshape(*sizes, -1)
    tangents = []
    for axis in range(len(sizes)):
        slope = np.gradient(whole, axis=axis).reshape(len(points), 1, -1)
        length = np.linalg.norm(slope, axis=2, keepdims=True)
        tangents.append(slope / np.maximum(length, 1e-300))
    return FlatSample(points, levels.astype(float), tangents, 1.0, name)


def skewness_of(sample: FlatSample) -> float:
    """Degrees by which the directions of two factors fail to be orthogonal, on average."""
    rows = np.concatenate(sample.tangents, axis=1)
    cosines = np.abs(rows @ np.swapaxes(rows, 1, 2)).mean(axis=0)
    above = np.triu_indices(len(cosines), 1)
    return float(np.degrees(np.arcsin(cosines[above].mean())))


def latent_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tables of directions and ranks, and what GeoManCER said, in Markdown."""
    if not rows:
        return []
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cases = list(dict.fromkeys(row["case"] for row in rows))
    first = {row["case"]: row for row in reversed(rows)}
    known = {(row["case"], row["method"]): row for row in rows}
    lines = ["", "## Latents of autoencoders", "", *(__doc__ or "").split("\n\n")[1:2], ""]
    lines += [
        "Told the dimension, one seed. Degrees are to the directions in which the latents move "
        "with a factor (differences through the encoder), which are not orthogonal as those of "
        "an unrolling are: 'askew' is by how many degrees. Nor are they parallel: 'turns' is the "
        "mean angle between the directions of a factor and the one it mostly has, in the parallel "
        "frame. Below it no rotation can come: where it is large, the factor is no coordinate of "
        "an isometric unrolling, however well it is encoded.",
        "",
        "| latents | variance explained | dimension found where not told | askew | turns | "
        f"{' | '.join(methods)} |",
        "|---" * (len(methods) + 5) + "|",
    ]
    for case in cases:
        told = first[case]
        turns = ", ".join(f"{turn:.0f}" for turn in told.get("turns", [])) or "not unrolled"
        explained = "" if told["explained"] is None else f"{told['explained']:.0%}"
        cells = [
            f"{known[case, method]['error']:.1f}" if (case, method) in known else ""
            for method in methods
        ]
        lines.append(
            f"| {case} | {explained} | {told['auto']} of {len(told['names'])} | "
            f"{told['skewness']:.0f} | {turns} | {' | '.join(cells)} |"
        )
    ranked = [
        method for method in methods if any("ranks" in known.get((c, method), {}) for c in cases)
    ]
    lines += ["", "Rank correlation of every factor with the coordinate that is matched to it:", ""]
    lines += [f"| latents | factors | {' | '.join(ranked)} |", "|---" * (len(ranked) + 2) + "|"]
    for case in cases:
        cells = [
            ", ".join(f"{rank:.2f}" for rank in known.get((case, method), {}).get("ranks", []))
            for method in ranked
        ]
        lines.append(f"| {case} | {', '.join(first[case]['names'])} | {' | '.join(cells)} |")
    lines.append("")
    for case in cases:
        own = known[case, "GeoManCER"]
        lines.append(f"- {case}: {' + '.join(map(str, own['found']))}. {own['said']}")
    return lines
