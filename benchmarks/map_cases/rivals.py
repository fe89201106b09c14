"""Other ways from points to coordinates of factors, each with the settings that it is tried with.

A rival is told how many true coordinates there are in all and by factor. Most return columns that
belong to no factor; `judge.best_columns` then splits them as the truth would like best.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.map_cases.cases import MapSample
from benchmarks.map_cases.eigenfunctions import factorised

NEIGHBORS = 20
Columns = np.ndarray | list[np.ndarray]  # unassigned, or groups of them


@dataclass(frozen=True)
class Rival:
    """A method with the settings of which the best one counts, by the truth."""

    name: str
    settings: tuple[Callable[[MapSample, int], Columns], ...]


def independent(columns: np.ndarray, seed: int) -> np.ndarray:
    """FastICA of all columns."""
    from sklearn.decomposition import FastICA

    ica = FastICA(columns.shape[1], whiten="unit-variance", random_state=seed, max_iter=1000)
    return ica.fit_transform(columns)


def ambient_ica(sample: MapSample, seed: int) -> np.ndarray:
    from sklearn.decomposition import PCA

    most = min(sum(sample.widths), sample.points.shape[1])
    return independent(PCA(most, random_state=seed).fit_transform(sample.points), seed)


def isomap_ica(sample: MapSample, seed: int) -> np.ndarray:
    """Twice as many columns were worse on every product that was tried."""
    from sklearn.manifold import Isomap

    model = Isomap(n_neighbors=NEIGHBORS, n_components=sum(sample.widths))
    return independent(model.fit_transform(sample.points), seed)


def eigenmaps_ica(sample: MapSample, seed: int, times: int = 1) -> np.ndarray:
    from sklearn.manifold import SpectralEmbedding

    model = SpectralEmbedding(
        times * sum(sample.widths),
        n_neighbors=NEIGHBORS,
        affinity="nearest_neighbors",
        random_state=seed,
    )
    return independent(model.fit_transform(sample.points), seed)


def product_learning(
    sample: MapSample, seed: int, n_functions: int = 60, similarity: float = 0.7
) -> list[np.ndarray]:
    m = len(sample.factors)
    return factorised(sample.points, n_functions, similarity=similarity, n_factors=m, seed=seed)


def circular(sample: MapSample, seed: int, share: float = 0.5) -> np.ndarray:
    """Cosine and sine of a circular coordinate for every loop that stands out, at most three."""
    from dreimac import CircularCoords

    coords = CircularCoords(sample.points, n_landmarks=300, prime=41)
    return loop_columns(coords, len(sample.points), share)


def loop_columns(coords: Any, n: int, share: float, loops: int = 3) -> np.ndarray:
    """Cosine and sine along every loop that dreimac finds: (n, 2 for each), at most so many."""
    columns = [np.zeros((n, 0))]
    for loop in range(loops):
        try:
            angle = coords.get_coordinates(perc=share, cocycle_idx=loop)
        except Exception as problem:  # it has no class of its own for a bar that is too short
            if "too short" in str(problem) or isinstance(problem, IndexError):
                break
            raise
        columns.append(np.column_stack([np.cos(angle), np.sin(angle)]))
    return np.hstack(columns)


def vae(sample: MapSample, seed: int, beta: float = 0.03, steps: int = 1500) -> np.ndarray:
    """Means of the latents, as many as true coordinates, and their independent components.

    Of beta = .003, .01, .03, .06, .1, .3 and 1, on points as they are or standardised, .03 on
    points as they are did best on S^2 x S^2, clean and wound.
    """
    from geodis import models

    points, latents = sample.points.astype(np.float32), sum(sample.widths)
    model = models.BetaVAE((points.shape[1],), latents, beta=beta, random_state=seed)
    models.train(model, points, steps, batch_size=256, random_state=seed, verbose=0)
    codes = models.encode(model, points).astype(float)
    return np.hstack([codes, independent(codes, seed)])


def diffusion_geometry(folder: Path, sample: MapSample, seed: int, times: int = 1) -> np.ndarray:
    """FastICA of the first eigenfunctions of diffusion geometry's own Laplacian (Jones 2024)."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    module: Any = importlib.import_module("DiffusionGeometry")
    from scipy.spatial import cKDTree

    # Twice its bandwidth is the distance of the neighbour that the other graphs reach.
    reach = np.median(cKDTree(sample.points).query(sample.points, NEIGHBORS + 1)[0][:, -1])
    functions = module.Del0(sample.points, reach / 2, times * sum(sample.widths) + 1)[0]
    return independent(functions[1:].T, seed)


def rivals(diffusion: Path | None = None) -> tuple[list[Rival], dict[str, str]]:
    """Rivals that can be run here, and why the others cannot."""
    both = (1, 2)
    found = [
        Rival("FastICA of the points", (ambient_ica,)),
        Rival("Isomap + FastICA", (isomap_ica,)),
        Rival(
            "Laplacian eigenmaps + FastICA", tuple(partial(eigenmaps_ica, times=t) for t in both)
        ),
        Rival(
            "product manifold learning",
            tuple(
                partial(product_learning, n_functions=q, similarity=s)
                for q in (40, 100)
                for s in (0.5, 0.7)
            ),
        ),
    ]
    missing = {}
    if find_spec("torch") is not None:
        found.append(Rival("beta-VAE", (vae,)))
    else:
        missing["beta-VAE"] = "torch is not installed"
    if find_spec("dreimac") is not None:
        shares = (0.3, 0.7)
        found.append(
            Rival("circular coordinates", tuple(partial(circular, share=s) for s in shares))
        )
    else:
        missing["circular coordinates"] = "dreimac is not installed"
    if diffusion is not None:
        parts = tuple(partial(diffusion_geometry, diffusion, times=t) for t in both)
        found.append(Rival("diffusion geometry + FastICA", parts))
    else:
        missing["diffusion geometry"] = (
            "its code is no package, and has no licence to copy it by; "
            "--diffusion-geometry FOLDER takes a clone"
        )
    return found, missing
