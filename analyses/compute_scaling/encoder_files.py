"""MIG of embeddings that users bring, beside table 1 of seed 004: CLIP's encoders on dSprites.

To fill the table, write one file of embeddings for every encoder, rows in the order of the factors:

    import clip, numpy as np, pandas as pd  # or any encoder of images
    import geodis as gd
    from analyses.compute_scaling.encode_pictures import encode_pictures

    grid = gd.published_grid("dsprites", "dsprites.npz")  # or gd.Sprites(binary=True)
    rows = np.random.default_rng(0).choice(len(grid), 20_000, replace=False)
    pd.DataFrame(grid.factors(rows), columns=grid.names).to_csv("factors.csv", index=False)
    for name in ("RN50", "ViT-B/16"):
        model, prepare = clip.load(name, device="cpu", jit=False)
        embeddings = encode_pictures(model.encode_image, grid, rows, prepare)
        np.save(f"{name.replace('/', '-')}.npy", embeddings)

and run

    python -m analyses.compute_scaling --factors factors.csv --embeddings RN50.npy ViT-B-16.npy

A file is put beside the row of its name; others stand in rows of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from geodis.base import InputError

# Table 1 of seed 004: parameters in millions, and MIG on dSprites.
PUBLISHED_ENCODERS = {
    "RN50": (102, 0.00441),
    "RN50x4": (178, 0.01763),
    "RN50x16": (291, 0.02616),
    "ViT-B/16": (150, 0.02350),
    "ViT-L/14": (428, 0.02550),
}
WIDTH = 512


@dataclass(frozen=True)
class EncoderRow:
    """A line of the table: an encoder, what was published, and what is found."""

    name: str
    parameters: float
    published: float
    found: float
    chance: float
    rows: int
    columns: int

    def cells(self) -> list[str]:
        """As cells of a table."""
        numbers = (self.published, self.found, self.chance)
        said = ["" if np.isnan(value) else f"{value:.5f}" for value in numbers]
        millions = "" if np.isnan(self.parameters) else f"{self.parameters:g} M"
        sizes = [f"{size:,}" if size else "" for size in (self.rows, self.columns)]
        return [self.name, millions, *said, *sizes]


HEADER = ("encoder", "parameters", "published MIG", "MIG here", "at chance", "rows", "columns")


def plain_name(name: str) -> str:
    """A name without what file systems do not take.

    Examples
    --------
    >>> plain_name("ViT-B/16") == plain_name("vit_b_16")
    True
    """
    return "".join(letter for letter in name.lower() if letter.isalnum())


def encoder_rows(embeddings: Mapping[str, Any], factors: Any) -> list[EncoderRow]:
    """MIG of embeddings beside the published table.

    Parameters
    ----------
    embeddings : mapping of str to array-like of shape (n, z), or path
        By the name of the encoder.
    factors : array-like of shape (n, f), FactorGrid, or path
        Of the same rows.

    Returns
    -------
    list of EncoderRow
        The published encoders first, those without a file too.

    Examples
    --------
    >>> factors = np.repeat(np.arange(4), 50)[:, None]
    >>> rows = encoder_rows({"vit_b_16": factors + np.zeros((200, 2))}, factors)
    >>> [row.name for row in rows if row.rows], rows[3].published
    (['ViT-B/16'], 0.0235)
    """
    if isinstance(factors, str | Path):
        factors = gd.load_factors(factors)
    waiting = {plain_name(name): name for name in embeddings}
    lines = []
    for name, (parameters, published) in PUBLISHED_ENCODERS.items():
        own = waiting.pop(plain_name(name), None)
        scored = _mig(embeddings[own], factors) if own is not None else NOTHING
        lines.append(EncoderRow(name, parameters, published, *scored))
    nan = float("nan")
    for name in waiting.values():
        lines.append(EncoderRow(name, nan, nan, *_mig(embeddings[name], factors)))
    return lines


NOTHING = (float("nan"), float("nan"), 0, 0)


def _mig(embedding: Any, factors: Any) -> tuple[float, float, int, int]:
    if isinstance(embedding, str | Path):
        embedding = gd.load_array(embedding)
    embedding = np.asarray(embedding)
    if embedding.ndim != 2:
        raise InputError(f"Embeddings must have shape (n, z); got shape {embedding.shape}.")
    table = gd.score_latents(embedding, factors, ["mig"], verbose=0, random_state=0)
    chance = float(table.frame.loc["mig", "chance"])
    return table.values_by_name["mig"], chance, *embedding.shape


def rows_of_files(files: Sequence[Path], factors: Path) -> list[EncoderRow]:
    """The table of files that are named as encoders are."""
    return encoder_rows({file.name.split(".")[0]: str(file) for file in files}, factors)


def controls(images: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Codes of images that nobody trained: what a number of table 1 is to be compared with.

    Parameters
    ----------
    images : ndarray of shape (n, h, w, c), in [0, 1]
    seed : int
        Of weights and noise.

    Returns
    -------
    dict of str to ndarray of shape (n, 512), or fewer columns
        Two random layers of 512 units, principal components of the pixels, and noise.
    """
    random = np.random.default_rng(seed)
    x = images.reshape(len(images), -1).astype(np.float64)
    x = x - x.mean(axis=0)
    first = random.standard_normal((x.shape[1], WIDTH)) / np.sqrt(x.shape[1])
    hidden = np.maximum(x @ first, 0)
    second = random.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH)
    _, vectors = np.linalg.eigh(x.T @ x)
    return {
        "untrained perceptron": np.maximum(hidden @ second, 0),
        "principal components of pixels": x @ vectors[:, ::-1][:, : min(50, x.shape[1])],
        "noise": random.standard_normal((len(x), WIDTH)),
    }
