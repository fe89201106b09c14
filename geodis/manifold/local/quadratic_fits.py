"""Weighted least squares of values on 1, t_a and t_a t_b in many neighbourhoods.

All local quadratic fits of the package are computed here, by normal equations, with coordinates in
units of the neighbourhood's radius. Small systems are solved by `quadratic_kernels`, large systems
by batched matrix products of numpy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodis.manifold.linalg import TINY, largest_eigenvectors, polar_rows
from geodis.manifold.local.quadratic_kernels import (
    RIDGE,
    fill_coefficients,
    fill_neighborhoods,
    fill_operators,
    fit_in_place,
)

# Largest number of entries of normal equations that fit in the nearest cache: 32 kB.
SMALL_SYSTEM = 2**12
# The number of neighbours is padded to a multiple of this with zero weights, for whole vectors.
VECTOR = 8
# If there are more than this many columns per neighbour, principal directions come from the Gram
# matrix of the neighbours.
WIDE = 1.5
# Iterations of a fit of frames.
FIT_ROUNDS = 2


def tangent_terms(dim: int) -> int:
    """Number of unknowns of a quadratic fit in `dim` coordinates: 1 + k + k (k + 1) / 2.

    Examples
    --------
    >>> tangent_terms(4)
    15
    """
    return 1 + dim + dim * (dim + 1) // 2


def quadratic_pairs(
    dim: int, factor_dims: tuple[int, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the index pairs a <= b of the quadratic terms, within each factor if dims are given.

    Examples
    --------
    >>> len(quadratic_pairs(10)[0]), len(quadratic_pairs(10, (2, 2, 2, 2, 2))[0])
    (55, 15)
    """
    first, second = np.triu_indices(dim)
    if factor_dims is None:
        return first, second
    group = np.repeat(np.arange(len(factor_dims)), factor_dims)
    within = group[first] == group[second]
    return first[within], second[within]


def quadratic_terms(coordinates: np.ndarray) -> np.ndarray:
    """Compute the terms 1, t_a and t_a t_b (a <= b) of coordinates (..., k), shape (..., p).

    Examples
    --------
    >>> quadratic_terms(np.array([2.0, 3.0]))
    array([1., 2., 3., 4., 6., 9.])
    """
    k = coordinates.shape[-1]
    terms = np.empty((*coordinates.shape[:-1], tangent_terms(k)))
    terms[..., 0] = 1.0
    terms[..., 1 : 1 + k] = coordinates
    start = 1 + k
    for a in range(k):
        stop = start + k - a
        np.multiply(coordinates[..., a:], coordinates[..., a, None], out=terms[..., start:stop])
        start = stop
    return terms


def gaussian_weights(distances: np.ndarray) -> np.ndarray:
    """Weights exp(-2 d^2 / d_max^2) of neighbours at distances d, shape (b, nt)."""
    return np.exp(-2.0 * (distances / distances[:, -1:]) ** 2)


def is_small_fit(terms: int, d: int) -> bool:
    """Whether compiled fits are faster than batched products for this many terms and columns d.

    Examples
    --------
    >>> is_small_fit(15, 6), is_small_fit(15, 1000)
    (True, False)
    """
    return terms * (terms + d) <= SMALL_SYSTEM


def quadratic_operators(
    coordinates: np.ndarray, weights: np.ndarray, *, linear: bool = False
) -> np.ndarray:
    """Compute the operators from values at the neighbours to coefficients of quadratic fits.

    With the terms X of the neighbours' coordinates (see `quadratic_terms`) and their weights W,
    ``H = (X^T W X)^{-1} X^T W``: the fit of values Y has the coefficients ``H Y`` and predicts
    ``X H Y``. If every value has independent noise of variance s^2, the coefficients have the
    covariance ``s^2 H H^T``.

    Parameters
    ----------
    coordinates : ndarray of shape (b, nt, k)
    weights : ndarray of shape (b, nt)
        Not negative.
    linear : bool
        Omit the quadratic terms.

    Returns
    -------
    ndarray of shape (b, p, nt)

    Examples
    --------
    >>> t = np.linspace(-1, 1, 9)[None, :, None]
    >>> values = 3 - t[0] + 5 * t[0] ** 2
    >>> (quadratic_operators(t, np.ones((1, 9)))[0] @ values).round(6).ravel().tolist()
    [3.0, -1.0, 5.0]
    """
    b, count, k = coordinates.shape
    pairs = quadratic_pairs(0 if linear else k)
    terms = 1 + k + len(pairs[0])
    if is_small_fit(terms, 0):
        operators = np.empty((b, terms, count))
        coordinates, weights = (
            np.ascontiguousarray(values, dtype=float) for values in (coordinates, weights)
        )
        fill_operators(coordinates, weights, *pairs, operators)
        return operators
    root = np.sqrt(weights)[:, None]
    rows, radius = _weighted_terms(np.swapaxes(coordinates, 1, 2), root, pairs)
    operators = np.linalg.inv(_normal_equations(rows)) @ (rows * root)
    return _in_units_of(operators, radius, k)


def quadratic_coefficients(
    coordinates: np.ndarray, weights: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """Fit targets by weighted quadratics: the products of `quadratic_operators` with the targets.

    Faster than the operators if there are more neighbours than columns of the targets.

    Parameters
    ----------
    coordinates : ndarray of shape (b, nt, k)
    weights : ndarray of shape (b, nt)
        Not negative.
    targets : ndarray of shape (b, nt, r)

    Returns
    -------
    ndarray of shape (b, p, r)

    Examples
    --------
    >>> t = np.linspace(-1, 1, 9)[None, :, None]
    >>> quadratic_coefficients(t, np.ones((1, 9)), 3 - t + 5 * t**2).round(6).ravel().tolist()
    [3.0, -1.0, 5.0]
    """
    k, columns = coordinates.shape[2], targets.shape[2]
    pairs = quadratic_pairs(k)
    if is_small_fit(tangent_terms(k), columns):
        found = np.empty((len(targets), tangent_terms(k), columns))
        coordinates, weights, targets = (
            np.ascontiguousarray(values, dtype=float) for values in (coordinates, weights, targets)
        )
        fill_coefficients(coordinates, weights, targets, *pairs, found)
        return found
    root = np.sqrt(weights)[:, None]
    rows, radius = _weighted_terms(np.swapaxes(coordinates, 1, 2), root, pairs)
    found = np.linalg.solve(_normal_equations(rows), rows @ (targets * np.swapaxes(root, 1, 2)))
    return _in_units_of(found, radius, k)


@dataclass(frozen=True)
class FrameFits:
    """Tangent frames fitted at some points, and the neighbourhoods used for the fits."""

    frames: np.ndarray  # (b, k, d)
    residual: np.ndarray  # (b,)
    displacements: np.ndarray  # (b, d, nt)
    weights: np.ndarray  # (b, nt)


def fit_frames(
    points: np.ndarray,
    centres: np.ndarray,
    indices: np.ndarray,
    distances: np.ndarray,
    dim: int,
    pairs: tuple[np.ndarray, np.ndarray],
    start: np.ndarray | None,
) -> FrameFits:
    """Estimate tangent frames by quadratic fits of the displacements to the neighbours.

    In each of `FIT_ROUNDS` iterations the frame becomes the polar factor of the linear
    coefficients.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    centres : ndarray of shape (b, d)
    indices, distances : ndarray of shape (b, nt)
        Neighbours of the centres.
    dim : int
    pairs : tuple of ndarray
        The quadratic terms; see `quadratic_pairs`.
    start : ndarray of shape (b, k, d), optional
        Initial frames; weighted principal directions by default.
    """
    count, d = indices.shape[1], points.shape[1]
    if is_small_fit(1 + dim + len(pairs[0]), d) and d <= WIDE * count:
        loaded, roots, covariances = loaded_neighborhoods(points, centres, indices, distances)
        if start is None:
            start = np.linalg.eigh(covariances)[1][..., : -dim - 1 : -1].swapaxes(1, 2)
        frames = np.array(start, dtype=float, order="C")
        residual = fit_small(loaded, roots, frames, pairs, FIT_ROUNDS, count)
        return FrameFits(frames, residual, loaded[..., :count], roots[:, :count] ** 2)
    displacements = np.take(points, indices, axis=0)  # (b, nt, d)
    displacements -= centres[:, None]
    weights = gaussian_weights(distances)
    frame = principal_frame(displacements, weights, dim) if start is None else start
    for _ in range(FIT_ROUNDS):
        frame, residual = _fit_large(displacements, weights, frame, pairs)
    return FrameFits(frame, residual, displacements.swapaxes(1, 2), weights)


def principal_frame(displacements: np.ndarray, weights: np.ndarray | None, dim: int) -> np.ndarray:
    """Compute leading principal directions of each neighbourhood (b, nt, d), shape (b, k, d).

    Displacements are weighted and centred; without weights they are neither, as published.
    """
    count, d = displacements.shape[1:]
    weighted = centred = displacements
    if weights is not None:
        share = (weights / weights.sum(axis=1, keepdims=True))[..., None]
        weighted = share * displacements
        centred = displacements - weighted.sum(axis=1, keepdims=True)
    if d > WIDE * count:  # the Gram matrix of the neighbours has the same eigenvalues
        if weights is not None:
            centred *= np.sqrt(share)
        gram = centred @ np.swapaxes(centred, 1, 2)
        return polar_rows(np.swapaxes(largest_eigenvectors(gram, dim), 1, 2) @ centred)
    directions = np.linalg.eigh(np.swapaxes(weighted, 1, 2) @ centred)[1]
    return np.swapaxes(directions[..., : -dim - 1 : -1], 1, 2)


def _weighted_terms(
    coordinates: np.ndarray, root: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Compute root weights (b, 1, nt) times terms, (b, p, nt), and the radii (b, 1, 1).

    Coordinates are in units of the neighbourhood's radius: all terms are then of order one, and the
    system is well conditioned.
    """
    b, k, count = coordinates.shape
    longest = np.sqrt((coordinates**2).sum(axis=1).max(axis=1))[:, None, None]
    radius = np.maximum(longest, TINY)
    coordinates = coordinates / radius
    rows = np.empty((b, 1 + k + len(pairs[0]), count))
    rows[:, :1] = root
    linear = rows[:, 1 : 1 + k]
    np.multiply(coordinates, root, out=linear)
    for term, (first, second) in enumerate(zip(*pairs, strict=True), start=1 + k):
        np.multiply(linear[:, first], coordinates[:, second], out=rows[:, term])
    return rows, radius


def _normal_equations(rows: np.ndarray) -> np.ndarray:
    normal = rows @ np.swapaxes(rows, 1, 2)
    diagonal = np.arange(normal.shape[1])
    normal[:, diagonal, diagonal] += RIDGE * normal[:, diagonal, diagonal].mean(axis=1)[:, None]
    return normal


def _in_units_of(coefficients: np.ndarray, radius: np.ndarray, k: int) -> np.ndarray:
    """Convert coefficients (b, p, r) from units of the radius to those of the coordinates."""
    coefficients[:, 1 : 1 + k] /= radius
    coefficients[:, 1 + k :] /= radius**2
    return coefficients


def _fit_large(
    displacements: np.ndarray,
    weights: np.ndarray,
    frame: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Fit once by batched products: new frames (b, k, d) and root mean square residuals (b,)."""
    count, dim = displacements.shape[1], frame.shape[1]
    root = np.sqrt(weights)[:, None]  # (b, 1, nt)
    rows, _ = _weighted_terms(frame @ np.swapaxes(displacements, 1, 2), root, pairs)
    target = displacements * np.swapaxes(root, 1, 2)
    coefficients = np.linalg.solve(_normal_equations(rows), rows @ target)  # (b, p, d)
    target -= np.swapaxes(rows, 1, 2) @ coefficients
    squared = np.einsum("bnd,bnd->b", target, target)
    residual = np.sqrt(squared / (weights.sum(axis=1) * _freedom(rows.shape[1], count)))
    return polar_rows(coefficients[:, 1 : 1 + dim]), residual


def _freedom(terms: int, count: int) -> float:
    """Residual degrees of freedom per neighbour: each term uses up one neighbour."""
    return max(1.0 - terms / count, 1.0 / count)


def loaded_neighborhoods(
    points: np.ndarray, centres: np.ndarray, indices: np.ndarray, distances: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute displacements to the neighbours, roots of their weights, and weighted covariances.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    centres : ndarray of shape (b, d)
    indices : ndarray of int32, shape (b, nt)
    distances : ndarray of shape (b, nt)

    Returns
    -------
    displacements : ndarray of shape (b, d, nt')
        Padded with zeros from nt to nt', the next multiple of eight.
    roots : ndarray of shape (b, nt')
        Square roots of exp(-2 |x_j - x_i|^2 / max_j |x_j - x_i|^2); zero from nt on.
    covariances : ndarray of shape (b, d, d)
        About the weighted means.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [-1.0]])
    >>> near, far = np.array([[1, 2]], np.int32), np.ones((1, 2))
    >>> displacements, roots, covariances = loaded_neighborhoods(points, points[:1], near, far)
    >>> displacements[0, 0, :3], roots[0, :3].round(2), covariances
    (array([ 1., -1.,  0.]), array([0.37, 0.37, 0.  ]), array([[[1.]]]))
    """
    (b, count), d = indices.shape, points.shape[1]
    filled = VECTOR * -(-count // VECTOR)
    displacements, roots = np.zeros((b, d, filled)), np.zeros((b, filled))
    covariances = np.empty((b, d, d))
    # The same types and memory layout in all calls, so that the kernel is compiled once.
    indices = np.ascontiguousarray(indices, dtype=np.int32)
    points, centres, distances = map(np.ascontiguousarray, (points, centres, distances))
    fill_neighborhoods(points, centres, indices, distances, displacements, roots, covariances)
    return displacements, roots, covariances


def fit_small(
    displacements: np.ndarray,
    roots: np.ndarray,
    frames: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    rounds: int,
    count: int,
) -> np.ndarray:
    """Improve given frames (b, k, d) in place by some iterations.

    Returns
    -------
    ndarray of shape (b,)
        Root mean square residual of the last iteration.
    """
    residual = np.empty(len(frames))
    freedom = _freedom(1 + frames.shape[1] + len(pairs[0]), count)
    fit_in_place(displacements, roots, *pairs, rounds, freedom, frames, residual)
    return residual
