"""What unrolling is compared with: other ways to coordinates, and how directions are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

import geodis as gd
from geodis.data.manifolds.flat_products import FlatSample

NEIGHBORS = 15  # of the rivals' graphs; Isomap and LTSA need more than their defaults of 5
GRADIENT_NEIGHBORS = 12

Method = Callable[[FlatSample, int], np.ndarray]


def _ica(values: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.decomposition import FastICA

    model = FastICA(values.shape[1], whiten="unit-variance", random_state=seed, max_iter=1000)
    return model.fit_transform(values)


def dim_of(sample: FlatSample) -> int:
    return sample.coordinates.shape[1]


def thinned(sample: FlatSample, most: int) -> FlatSample:
    """At most so many points of a sample, drawn at random."""
    n = len(sample.points)
    if n <= most:
        return sample
    rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    tangents = [t[rows] for t in sample.tangents]
    return replace(
        sample, points=sample.points[rows], coordinates=sample.coordinates[rows], tangents=tangents
    )


def ambient_ica(sample: FlatSample, seed: int) -> np.ndarray:
    return _ica(ambient_pca(sample, seed), seed)


def ambient_pca(sample: FlatSample, seed: int) -> np.ndarray:
    return gd.principal_components(sample.points).project(sample.points, dim_of(sample))


def isomap_ica(sample: FlatSample, seed: int) -> np.ndarray:
    from sklearn.manifold import Isomap

    return _ica(
        Isomap(n_neighbors=NEIGHBORS, n_components=dim_of(sample)).fit_transform(sample.points),
        seed,
    )


def ltsa_ica(sample: FlatSample, seed: int) -> np.ndarray:
    from sklearn.manifold import LocallyLinearEmbedding

    model = LocallyLinearEmbedding(
        n_neighbors=NEIGHBORS,
        n_components=dim_of(sample),
        method="ltsa",
        eigen_solver="dense",
        random_state=seed,
    )
    return _ica(model.fit_transform(sample.points), seed)


def umap_ica(sample: FlatSample, seed: int) -> np.ndarray:
    import umap

    model = umap.UMAP(n_neighbors=NEIGHBORS, n_components=dim_of(sample), random_state=seed)
    return _ica(model.fit_transform(sample.points), seed)


RIVALS: dict[str, Method] = {
    "FastICA, ambient": ambient_ica,
    "PCA, ambient": ambient_pca,
    "Isomap + ICA": isomap_ica,
    "LTSA + ICA": ltsa_ica,
    "UMAP + ICA": umap_ica,
}


def installed() -> dict[str, Method]:
    """The rivals that can be run here."""
    from importlib.util import find_spec

    return {k: v for k, v in RIVALS.items() if "UMAP" not in k or find_spec("umap") is not None}


def gradient_directions(coordinates: np.ndarray, sample: FlatSample) -> np.ndarray:
    """Unit gradients of coordinates (n, f) on the true tangent spaces, shape (n, f, d).

    Least squares of the differences to the nearest points on their displacements in the tangent
    space; differences across the seam of a closed direction are outliers, lowered by one round
    of reweighting.
    """
    # Directions of the latents of a model are not orthogonal between factors; their span is used.
    true = _orthonormal(np.concatenate(sample.tangents, axis=1))
    near = gd.nearest_neighbors(sample.points, GRADIENT_NEIGHBORS).indices
    t = np.einsum("nfd,nkd->nkf", true, sample.points[near] - sample.points[:, None])
    y = coordinates[near] - coordinates[:, None]  # (n, k, f)
    ridge = 1e-9 * (t**2).sum(axis=(1, 2))[:, None, None] * np.eye(t.shape[2])
    weights = np.ones(t.shape[:2])
    for _ in range(3):
        moved = np.swapaxes(t * weights[..., None], 1, 2)
        slope = np.linalg.solve(moved @ t + ridge, moved @ y)  # (n, f of the tangents, f)
        size = np.linalg.norm(y - t @ slope, axis=2)
        weights = 1 / (1 + (size / (2 * np.median(size, axis=1, keepdims=True) + 1e-300)) ** 2)
    rows = np.swapaxes(slope, 1, 2) @ true
    return rows / np.maximum(np.linalg.norm(rows, axis=2, keepdims=True), 1e-300)


def degrees(rows: np.ndarray, sample: FlatSample) -> float:
    """Mean largest angle to the true factors, rows given to factors by the best matching.

    The truth about dimensions is told to every method here: a factor gets as many rows as it
    has dimensions.
    """
    dims = sample.factor_dims
    there = np.isfinite(rows).all(axis=(1, 2))  # pieces that are not unrolled have no directions
    if not there.any():
        return np.nan
    rows, tangents = rows[there], [t[there] for t in sample.tangents]
    share = np.stack(
        [((rows @ np.swapaxes(t, 1, 2)) ** 2).sum(axis=2).mean(axis=0) for t in tangents], axis=1
    )  # (f, m)
    row, place = linear_sum_assignment(-np.repeat(share, dims, axis=1))
    owner = np.repeat(np.arange(len(dims)), dims)[place][np.argsort(row)]
    subspaces = [_orthonormal(rows[:, owner == j]) for j in range(len(dims))]
    return float(np.degrees(gd.subspace_angles(subspaces, tangents).mean()))


def _orthonormal(rows: np.ndarray) -> np.ndarray:
    return np.swapaxes(np.linalg.qr(np.swapaxes(rows, 1, 2))[0], 1, 2)


def rank_correlations(coordinates: np.ndarray, factors: np.ndarray) -> list[float]:
    """Absolute Spearman correlation of every factor with the coordinate that is matched to it."""
    there = np.isfinite(coordinates).all(axis=1)
    f = factors.shape[1]
    ranked = rankdata(np.hstack([coordinates[there], factors[there]]), axis=0)
    with np.errstate(invalid="ignore"):  # a constant has no correlation: zero
        correlations = np.abs(np.nan_to_num(np.corrcoef(ranked.T)))[:-f, -f:]
    row, column = linear_sum_assignment(-correlations)
    ranks = np.zeros(f)
    ranks[column] = correlations[row, column]
    return ranks.tolist()


def turns_of_factors(frames: np.ndarray, sample: FlatSample) -> list[float]:
    """Mean angle in degrees between the direction of every factor and the one it mostly has.

    Read in a parallel frame (n, f, d). Zero where a factor is a coordinate of the unrolling; no
    rotation of the coordinates comes nearer to the factor than this. Factors of dimension one.
    """
    turns = []
    for tangent in sample.tangents:
        seen = np.einsum("nfd,nd->nf", frames, tangent[:, 0])
        seen = seen[np.isfinite(seen).all(axis=1)]
        seen /= np.maximum(np.linalg.norm(seen, axis=1, keepdims=True), 1e-300)
        most = np.linalg.eigh(seen.T @ seen)[1][:, -1]
        turns.append(float(np.degrees(np.arccos(np.minimum(np.abs(seen @ most), 1))).mean()))
    return turns
