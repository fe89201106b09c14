"""Distances between points of a grid, by index: ground truth, perceived and latent."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from geodis.base.check import InputError, check_choice, check_points
from geodis.base.rounding import rounding_of
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.latents import latents_of
from geodis.data.grids.observed import ObservedGrid
from geodis.distances.factor_distances import FactorKinds, ground_truth, kinds_of_each
from geodis.distances.images.image_losses import Loss, LossLike, resolve_loss
from geodis.distances.pairwise import BUDGET, LATENT_KINDS, LatentKind, latent
from geodis.distances.tied import rounding_of_latent

DistanceSource = Literal["ground truth", "perceived", "latent"]
GROUND_TRUTH: Final = "ground truth"
PERCEIVED: Final = "perceived"
LATENT: Final = "latent"
SOURCES: tuple[DistanceSource, ...] = (GROUND_TRUTH, PERCEIVED, LATENT)

LATENT_BATCH = 2**16


class GridDistances:
    """Distances between points of a grid by every source there is.

    Parameters
    ----------
    grid : FactorGrid
    code : array-like of shape (len(grid), z), or callable, optional
        Latents by index, or an encoder of images; without it there are no latent distances.
    loss : name, callable or None
        For perceived distances; None leaves them out, as does a grid without images.
    kind : str
        Kind of latent distances, as for `latent`.
    scaled : bool
        Scale every factor to [0, 1] in ground-truth distances (5.11).
    kinds : str or sequence of str, optional
        Of the factors in ground-truth distances, as for `ground_truth`; by default those of the
        grid. "numbers" takes all as published tables do.

    Attributes
    ----------
    sources : tuple of str
        Which of "ground truth", "perceived" and "latent" there are.

    Examples
    --------
    >>> grid = FactorGrid((3, 3))
    >>> distances = GridDistances(grid, code=grid.factors(range(9)) * 2.0)
    >>> distances.sources
    ('ground truth', 'latent')
    >>> distances.between([0, 0], [1, 8], "latent")
    array([2., 8.])
    """

    def __init__(
        self,
        grid: FactorGrid,
        code: Any = None,
        loss: LossLike | None = "mse",
        *,
        kind: LatentKind = "l1",
        scaled: bool = False,
        kinds: FactorKinds | None = None,
    ) -> None:
        if not isinstance(grid, FactorGrid):
            raise InputError(
                f"grid must be a FactorGrid, such as FactorGrid.from_arrays(images, factors); "
                f"got {type(grid).__name__}."
            )
        self.grid, self.scaled = grid, scaled
        self.kinds = kinds_of_each(grid.kinds if kinds is None else kinds, len(grid.sizes))
        self.kind = check_choice(kind, "kind", LATENT_KINDS)
        self.loss = None if loss is None or grid.image_shape is None else resolve_loss(loss)
        self._latents = None if code is None else latents_of(grid, code)
        self._rounding = np.zeros(1)
        there = (True, self.loss is not None, code is not None)
        self.sources = tuple(name for name, has in zip(SOURCES, there, strict=True) if has)

    @property
    def symmetric(self) -> bool:
        """Whether the points of a pair may change places in every source."""
        return (self.loss is None or self.loss.symmetric) and self.kind != "kl"

    def between(self, a: Any, b: Any, source: DistanceSource) -> np.ndarray:
        """Distances (n,) between indices a and b (n,) by a source."""
        check_choice(source, "source", self.sources)
        a, b = self.grid.check_index(a), self.grid.check_index(b)
        if source == GROUND_TRUTH:
            return ground_truth(
                self.grid.factors(a),
                self.grid.factors(b),
                np.array(self.grid.sizes) if self.scaled else None,
                kinds=self.kinds,
                periods=np.array(self.grid.periods),
            )
        if source == PERCEIVED:
            assert self.loss is not None
            return _perceived_between(self.grid, a, b, self.loss)
        return self._latent(a, b)

    def rounding(self, source: DistanceSource) -> float:
        """How far two equal distances may be apart, beside the precision of their dtype.

        Of latents: by the dtype and the size of those that `between` has seen so far.
        """
        check_choice(source, "source", self.sources)
        return rounding_of_latent(self._rounding, self.kind) if source == LATENT else 0.0

    def _latent(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        assert self._latents is not None
        if not len(a):
            return np.zeros(0)
        batches = []
        for start in range(0, len(a), LATENT_BATCH):
            rows = slice(start, start + LATENT_BATCH)
            index, place = np.unique(np.concatenate([a[rows], b[rows]]), return_inverse=True)
            latents = self._latents(index)
            self._rounding = np.maximum(self._rounding, rounding_of(latents))
            left, right = np.split(place.reshape(-1), 2)
            batches.append(latent(latents[left], latents[right], self.kind))
        return np.concatenate(batches)


def code_of_rows(grid: FactorGrid, latents: Any) -> np.ndarray:
    """Put latents, in order of the arrays a grid was made from, in order of its index.

    A complete grid has its own order, whatever the order of the rows that it was made from.

    Parameters
    ----------
    grid : FactorGrid
        Made by `FactorGrid.from_arrays`; any other grid has the order of its index already.
    latents : array-like of shape (n, z)

    Returns
    -------
    ndarray of shape (n, z)

    Examples
    --------
    >>> grid = FactorGrid.from_arrays(None, [[2], [0], [1]])
    >>> code_of_rows(grid, [[20.0], [0.0], [10.0]]).ravel()
    array([ 0., 10., 20.])
    """
    rows = check_points(latents, name="latents", min_points=1, dtype=None)
    if len(rows) != len(grid):
        raise InputError(
            f"latents must have a row for each of {len(grid)} points; got {len(rows)}."
        )
    return rows[grid.row_order] if isinstance(grid, ObservedGrid) and grid.complete else rows


def perceived_between(grid: FactorGrid, a: Any, b: Any, loss: LossLike = "mse") -> np.ndarray:
    """Perceived distances between images of a grid, by index, in flat memory.

    Every image is drawn once a batch, however many pairs it is in: keep pairs that share images
    together.

    Parameters
    ----------
    grid : FactorGrid
    a, b : array-like of int, shape (n,)
    loss
        As for `perceived`.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> images = np.array([0, 51, 255], np.uint8).reshape(3, 1, 1)
    >>> grid = FactorGrid.from_arrays(images, [[0], [1], [2]])
    >>> perceived_between(grid, [0, 0], [1, 2])
    array([0.04, 1.  ])
    """
    a, b = grid.check_index(a), grid.check_index(b)
    if len(a) != len(b):
        raise InputError(f"a and b must be as long as each other; got {len(a)} and {len(b)}.")
    if grid.image_shape is None:
        raise InputError("Perceived distances need images; got a grid of factors alone.")
    return _perceived_between(grid, a, b, resolve_loss(loss))


def _perceived_between(grid: FactorGrid, a: np.ndarray, b: np.ndarray, loss: Loss) -> np.ndarray:
    assert grid.image_shape is not None
    if not len(a):
        return np.zeros(0)
    most = max(64, BUDGET // (loss.footprint * int(np.prod(grid.image_shape))))
    batches = []
    start = 0
    while start < len(a):
        stop = _end_of_batch(a, b, start, most)
        rows = slice(start, stop)
        index, place = np.unique(np.concatenate([a[rows], b[rows]]), return_inverse=True)
        images = loss.prepare(grid.images(index, "auto"))  # floats are not rounded to bytes
        left, right = np.split(place.reshape(-1), 2)
        batches.append(loss.between(images, images, left, right))
        start = stop
    return np.concatenate(batches)


def _end_of_batch(a: np.ndarray, b: np.ndarray, start: int, most: int) -> int:
    """The end of a batch of pairs with about `most` different images."""
    stop = start + most // 2  # however different these are, they are not more
    while stop < len(a) and stop - start < 64 * most:
        longer = min(len(a), start + 2 * (stop - start))
        if len(np.unique(np.concatenate([a[start:longer], b[start:longer]]))) > most:
            break
        stop = longer
    return min(stop, len(a))
