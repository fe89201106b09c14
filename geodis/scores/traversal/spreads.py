"""Spread of latents over traversals, along the axes and along the best line, and their ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int
from geodis.distances.correlations import geometric_mean
from geodis.scores.score import Score
from geodis.scores.traversal.traversed import CHUNK, Traversed


def axis_variances(latents: np.ndarray) -> np.ndarray:
    """Variance of every latent over each traversal, n - 1 in the denominator.

    Parameters
    ----------
    latents : ndarray of float64, shape (t, s, z)
        t traversals of s points.

    Returns
    -------
    ndarray of shape (t, z)
    """
    centred = _centred(latents)
    return np.einsum("tsz,tsz->tz", centred, centred) / max(latents.shape[1] - 1, 1)


def linear_variances(latents: np.ndarray) -> np.ndarray:
    """Variances along the principal directions of each traversal, largest first, shape (t, z)."""
    t, s, z = latents.shape
    variances = np.zeros((t, z))
    rows = max(1, CHUNK // (s * z + min(s, z) ** 2))
    for start in range(0, t, rows):
        centred = _centred(latents[start : start + rows])
        # The s x s products of points have the same non-zero eigenvalues as the covariance.
        wide = s < z
        products = (
            centred @ centred.transpose(0, 2, 1) if wide else (centred.transpose(0, 2, 1) @ centred)
        )
        values = np.linalg.eigvalsh(products)[:, ::-1]
        # Zeros come back as rounding of either sign, which a root would make visible.
        values[values < values[:, :1] * (np.finfo(float).eps * max(s, z))] = 0
        variances[start : start + rows, : values.shape[1]] = values / max(s - 1, 1)
    return variances


def largest_share(
    spreads: np.ndarray, top: int | None = None, normalise: bool = True
) -> np.ndarray:
    """Share of the largest spread in the sum, ``max_k s_k / sum_k s_k`` (4.4, 4.7).

    Where nothing moves, no direction is preferred: all shares are equal.

    Parameters
    ----------
    spreads : ndarray of shape (t, z)
    top : int, optional
        Keep only the largest spreads; 2 makes the ratio independent of the number of latents.
    normalise : bool
        Map the range [1/z, 1] to [0, 1] (4.5, 4.8). A single latent has the share 1 if it moves.

    Returns
    -------
    ndarray of shape (t,)
    """
    if top is not None and top < spreads.shape[1]:
        spreads = np.sort(spreads, axis=1)[:, -top:]
    n = spreads.shape[1]
    total = spreads.sum(axis=1)
    moves = total > 0
    share = np.full(len(spreads), 1 / n)
    share[moves] = spreads.max(axis=1)[moves] / total[moves]
    if not normalise:
        return share
    if n == 1:
        return moves.astype(float)
    return np.clip((share - 1 / n) / (1 - 1 / n), 0.0, 1.0)


def widths_and_lengths(
    latents: np.ndarray, width_norm: int, length_norm: int
) -> tuple[np.ndarray, np.ndarray]:
    """Largest distance within each traversal, and length of its way without the largest step.

    Steps close the circle, so that a factor without ends, such as an angle, may start anywhere:
    of the s steps the s - 1 shortest count.

    Parameters
    ----------
    latents : ndarray of shape (t, s, z)
        Points in order of the factor.

    Returns
    -------
    widths, lengths : ndarray of shape (t,)
    """
    t, s, z = latents.shape
    widths = np.zeros(t)
    rows = max(1, CHUNK // (s * z))
    for shift in range(1, s):  # points against points so many steps on: a few large arrays
        for start in range(0, t, rows):
            part = latents[start : start + rows]
            far = _norm(part[:, shift:] - part[:, :-shift], width_norm).max(axis=1)
            np.maximum(widths[start : start + rows], far, out=widths[start : start + rows])
    steps = _norm(latents - np.roll(latents, -1, axis=1), length_norm)
    return widths, steps.sum(axis=1) - steps.max(axis=1)


def _centred(latents: np.ndarray) -> np.ndarray:
    # Against the first point before the mean, so that what stands still is exactly zero.
    moved = latents - latents[:, :1]
    return moved - moved.mean(axis=1, keepdims=True)


def _norm(steps: np.ndarray, order: int) -> np.ndarray:
    if order == 1:
        return np.abs(steps).sum(axis=-1)
    return np.sqrt(np.einsum("...z,...z->...", steps, steps))


SpreadKind = Literal["variance", "std"]


def spreads_of(
    parts: list[np.ndarray], variances: Callable[[np.ndarray], np.ndarray], spread: SpreadKind
) -> np.ndarray:
    """Spreads (t, z) of all traversals, up to one common factor."""
    check_choice(spread, "spread", get_args(SpreadKind))
    values = np.concatenate([variances(part) for part in in_range(parts)[0]])
    return np.sqrt(values) if spread == "std" else values


def in_range(parts: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """Moves of latents over a common scale, and that scale.

    Squares of very large or very small moves leave the range of floats; the scale is a power of
    two, so that nothing is rounded.
    """
    largest = max((float(np.abs(part).max(initial=0.0)) for part in parts), default=0.0)
    scale = float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0
    return [part / scale for part in parts], scale


def shares_of(spreads: np.ndarray, top: int | None, normalise: bool = True) -> np.ndarray:
    """Ratio of every traversal."""
    if top is not None:
        check_int(top, "top", low=2)
    return largest_share(spreads, top, normalise)


def traversal_score(
    name: str,
    source: Traversed,
    per_factor: np.ndarray,
    *,
    value: float | None = None,
    matrix: np.ndarray | None = None,
    details: Mapping[str, Any] | None = None,
    note: str = "",
) -> Score:
    """A score of traversals: by default the geometric mean over factors."""
    return Score(
        name,
        geometric_mean(per_factor[source.used]) if value is None else value,
        per_factor=per_factor,
        matrix=matrix,
        details={**(details or {}), "n_traversals": source.counts},
        note=" ".join(filter(None, [source.note, note])),
        factor_names=source.names,
    )


def ratio_or_zero(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide, and give 0 where there is nothing to divide by."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)
