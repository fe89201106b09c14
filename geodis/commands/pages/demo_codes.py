"""Supervised codes of images: kernel ridge regression of their labels on components of pixels."""

from __future__ import annotations

import numpy as np

from geodis.data.scenes.turntable import TurntableSample

COMPONENTS = 60
# Width of the kernel in median distances, and the ridge: least errors on other images.
WIDTH, RIDGE = 2.0, 1e-6
SAMPLED, BLOCK = 500, 1000


def pixel_components(known: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The principal components of the pixels of some images, and the same of others."""
    from scipy.linalg import eigh

    flat = known.reshape(len(known), -1).astype(np.float32) / np.float32(255)
    mean = flat.mean(axis=0)
    flat -= mean
    n = len(flat)
    count = min(COMPONENTS, n - 1)
    # Of fewer images than pixels the inner products are the smaller matrix with these spectra.
    squares, own = eigh((flat @ flat.T).astype(float), subset_by_index=(n - count, n - 1))
    lengths = np.sqrt(np.maximum(squares[::-1], np.finfo(float).tiny))
    own = own[:, ::-1]
    axes = flat.T @ (own / lengths).astype(np.float32)
    rows = images.reshape(len(images), -1).astype(np.float32) / np.float32(255) - mean
    return own * lengths, (rows @ axes).astype(float)


def learnt_codes(
    known: TurntableSample, own: np.ndarray, new: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Codes (n, 5) of images by their components, fitted to the labels of other images.

    The labels of the known images, the cosine and sine of their true angle and the direction of
    their lamp, are regressed on; the columns are then mixed by a random rotation, so that no axis
    is a label.
    Ridge regression with a Gaussian kernel ``k(x, y) = exp(-|x - y|^2 / 2 w^2)``.

    Parameters
    ----------
    known : TurntableSample
    own, new : ndarray of shape (k, c), (n, c)
        Components of the known images, and of those that get codes.
    rng : Generator
    """
    from scipy.linalg import solve
    from scipy.spatial.distance import cdist, pdist
    from scipy.stats import special_ortho_group

    labels = np.column_stack([np.cos(known.angles), np.sin(known.angles), known.lights])
    scale = 2 * (WIDTH * np.median(pdist(own[:SAMPLED]))) ** 2
    gram = np.exp(-cdist(own, own, "sqeuclidean") / scale)
    gram[np.diag_indices_from(gram)] += RIDGE
    weights = solve(gram, labels, assume_a="pos")
    blocks = np.array_split(new, -(-len(new) // BLOCK))
    codes = [np.exp(-cdist(rows, own, "sqeuclidean") / scale) @ weights for rows in blocks]
    return np.vstack(codes) @ special_ortho_group.rvs(labels.shape[1], random_state=rng)
