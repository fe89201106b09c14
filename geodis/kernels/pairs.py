"""Pairs of images: ground-truth targets, and fast distances under linear kernels."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import scipy.fft
import scipy.sparse
from scipy.stats import rankdata

from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.distances.correlations import without_rounding
from geodis.kernels.augmented import transform_size
from geodis.kernels.learning_task import Symmetry
from geodis.kernels.soft_ranks import soft_rank
from geodis.kernels.torch_extra import torch

Phase = Literal["pearson", "spearman"]

# Strength of soft ranks in standard deviations of the distances. At 0.1 the rank of a pair is
# blended with the few per cent of pairs nearest to it, which is enough for a stable gradient; from
# 0.01 to 1 the learnt kernels agree to 0.0005.
SOFTNESS = 0.1


class Target:
    """Ground-truth distances of pairs, prepared for correlations with learnt distances.

    Parameters
    ----------
    distances : ndarray of shape (n,)

    Examples
    --------
    >>> target = Target(np.array([1.0, 2.0, 4.0]))
    >>> round(float(target.correlation(torch.tensor([2.0, 4.0, 8.0]), "pearson")), 6)
    1.0
    """

    def __init__(self, distances: np.ndarray) -> None:
        self.distances = distances
        ranks = rankdata(distances)
        self._unit = {"pearson": _unit(distances), "spearman": _unit(ranks)}

    def correlation(self, learnt: torch.Tensor, kind: Phase) -> torch.Tensor:
        """Compute Pearson's correlation, or Spearman's with soft ranks of `learnt` (6.1)."""
        if kind == "spearman":
            # A lower bound, so that equal distances give nan instead of an exception.
            strength = max(SOFTNESS * float(learnt.detach().std()), 1e-30)
            learnt = soft_rank(learnt, strength)
        centred = learnt - learnt.mean()
        return (centred * self._unit[kind].to(centred)).sum() / centred.norm()

    def exact(self, learnt: torch.Tensor) -> float:
        """Compute Spearman's correlation with averaged ties; 0 if all learnt distances are equal.

        Distances that differ only by rounding are ties.
        """
        distances = learnt.detach().cpu().numpy()
        if not np.isfinite(distances).all():
            return float("nan")
        ranks = rankdata(without_rounding(distances))
        if ranks.min() == ranks.max():
            return 0.0
        return float((_unit(ranks) * self._unit["spearman"]).sum())


def require_differences(pixel: torch.Tensor) -> None:
    """Require a pair of different images, given mean squared differences."""
    if float(pixel.max()) == 0:
        raise InputError("Every pair has equal images: no loss can tell them apart.")


def _unit(values: np.ndarray) -> torch.Tensor:
    centred = torch.from_numpy(values - values.mean())
    return centred / centred.norm()


# Distances of pairs under linear kernels
#
# h is linear, so that h * x - h * y = h * (x - y), and the distance of a pair is a quadratic form
# in h.
#
# `CorrelationPairs`, for full support: by Parseval |h * d|^2 = <|H|^2, |D|^2>, the sum over lags of
# the autocorrelation of h times that of d. Autocorrelations of the differences are computed once;
# lags beyond the image are zero, and lags that are equivalent for a symmetric kernel are summed.
# The distances of all pairs are then one matrix-vector product for any radius.
#
# `PlanePairs`, for "same": cropping at the edges prevents that, but channels of images ("planes")
# recur in many pairs. Each different plane p is convolved once, and the Gram matrix of the results
# gives all distances: |h * p - h * q|^2 = G_pp + G_qq - 2 G_pq.

# Most bytes of autocorrelations of all pairs, and pairs that are transformed in one call.
MAX_BYTES = 2**29
BATCH = 256
# Most different planes that are convolved in every step with support "same".
MAX_PLANES = 384


class LinearPairs(Protocol):
    """Pairs with distances under linear kernels of weights (k, c or 1, s, s)."""

    pixel: torch.Tensor  # mean squared difference of each pair, (n,)

    def energies(self, weights: torch.Tensor) -> torch.Tensor:
        """Compute the mean of (h * x - h * y)^2 over pixels, channels and kernels: (n,)."""


class CorrelationPairs:
    """Autocorrelations of the differences of n pairs, for kernels with full support.

    Parameters
    ----------
    grid : FactorGrid
    pairs : ndarray of int64, shape (n, 2)
    symmetry : {"d4", "flip", "none"}
        Symmetry of the kernels: the eight symmetries of the square, both flips, or none.
    per_channel : bool
        Whether kernels differ from channel to channel.

    Attributes
    ----------
    pixel : tensor of shape (n,)
    table : tensor of shape (n, c or 1, lags)
    """

    def __init__(
        self,
        grid: FactorGrid,
        pairs: np.ndarray,
        symmetry: Symmetry = "none",
        per_channel: bool = False,
    ) -> None:
        assert grid.image_shape is not None
        self.shape = grid.image_shape
        h, w, c = self.shape
        self.lags, fold = _lags(h, w, symmetry)
        period = [scipy.fft.next_fast_len(2 * length - 1, real=True) for length in (h, w)]
        inside = (np.arange(h)[:, None] % period[0], np.arange(1 - w, w)[None] % period[1])
        table = np.empty((len(pairs), c if per_channel else 1, fold.shape[1]), np.float32)
        pixel = np.empty(len(pairs), np.float32)
        for start in range(0, len(pairs), BATCH):
            rows = slice(start, start + BATCH)
            difference = _differences(grid, pairs[rows])
            pixel[rows] = np.square(difference).mean(axis=(1, 2, 3))
            spectrum = scipy.fft.rfft2(difference, s=period, workers=-1)
            power = spectrum.real**2 + spectrum.imag**2
            if not per_channel:
                power = power.sum(axis=1, keepdims=True)
            lagged = scipy.fft.irfft2(power, s=period, workers=-1)[..., inside[0], inside[1]]
            lead = lagged.shape[:2]
            table[rows] = (lagged.reshape(-1, fold.shape[0]) @ fold).reshape(*lead, -1)
        self.pixel, self.table = torch.from_numpy(pixel), torch.from_numpy(table)

    @staticmethod
    def affordable(grid: FactorGrid, symmetry: Symmetry, per_channel: bool) -> int:
        """Compute the number of pairs that fit into `MAX_BYTES`."""
        assert grid.image_shape is not None
        h, w, c = grid.image_shape
        lags = len(_lags(h, w, symmetry)[0][0])
        return MAX_BYTES // (4 * lags * (c if per_channel else 1))

    def energies(self, weights: torch.Tensor, rows: slice = slice(None)) -> torch.Tensor:
        """Compute the mean of (h * d)^2 over pixels, channels and kernels, for each pair: (n,)."""
        h, w, c = self.shape
        period = [
            transform_size(max(length, weights.shape[-1]), weights.shape[-1] // 2, full=True)
            for length in (h, w)
        ]
        power = torch.fft.rfft2(weights, s=period).abs().square().sum(0)
        correlation = torch.fft.irfft2(power, s=period)[:, self.lags[0], self.lags[1]]
        return torch.einsum("ncl,cl->n", self.table[rows], correlation) / (len(weights) * h * w * c)


class PlanePairs:
    """The different channels ("planes") of the images of n pairs, for support "same".

    Parameters
    ----------
    grid : FactorGrid
    pairs : ndarray of int64, shape (n, 2)
    radius : int
    per_channel : bool

    Attributes
    ----------
    pixel : tensor of shape (n,)
    planes : int
        Number of different planes.
    """

    def __init__(
        self, grid: FactorGrid, pairs: np.ndarray, radius: int, per_channel: bool = False
    ) -> None:
        assert grid.image_shape is not None
        h, w, c = self.shape = grid.image_shape
        index, place = np.unique(pairs, return_inverse=True)
        planes, number = different_planes(grid, index)
        self.channels = np.full(len(planes), 0)
        if per_channel:  # a plane in two channels has two kernels
            together = number + len(planes) * np.arange(c)
            used, number = np.unique(together, return_inverse=True)
            number = number.reshape(together.shape)
            self.channels, planes = used // len(planes), planes[used % len(planes)]
        self.planes = len(planes)
        self.number = torch.from_numpy(number[place.reshape(pairs.shape)])  # (n, 2, c)
        self._period = [transform_size(length, radius, full=False) for length in (h, w)]
        images = torch.from_numpy(planes)
        self._spectra = torch.fft.rfft2(images, s=self._period)
        flat = images.flatten(1).double()
        self.pixel = (self._between(flat @ flat.T) / (h * w * c)).float()

    def energies(self, weights: torch.Tensor) -> torch.Tensor:
        """Compute the mean of (h * x - h * y)^2 within the image, for each pair: (n,)."""
        h, w, c = self.shape
        radius = weights.shape[-1] // 2
        gram = torch.zeros(self.planes, self.planes)
        for kernel in torch.fft.rfft2(weights, s=self._period):  # (c or 1, ...): one of the bank
            maps = torch.fft.irfft2(self._spectra * kernel[self.channels], s=self._period)
            flat = maps[:, radius : radius + h, radius : radius + w].flatten(1)
            gram = gram + flat @ flat.T
        return self._between(gram) / (len(weights) * h * w * c)

    def _between(self, gram: torch.Tensor) -> torch.Tensor:
        a, b = self.number[:, 0], self.number[:, 1]
        own = gram.diagonal()
        return (own[a] + own[b] - 2 * gram[a, b]).sum(1)


def different_planes(grid: FactorGrid, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the different channels of images, float32 (p, h, w), and the index of each: (n, c)."""
    assert grid.image_shape is not None
    h, w, c = grid.image_shape
    known, numbers = np.empty((0, h * w), np.float32), np.empty((0,), np.int64)
    for start in range(
        0, len(index), BATCH
    ):  # in batches, because there are many images but few planes
        images = grid.images(index[start : start + BATCH], "float32").transpose(0, 3, 1, 2)
        rows = np.concatenate([known, images.reshape(-1, h * w)])
        as_bytes = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * h * w)))
        _, first, number = np.unique(as_bytes.ravel(), return_index=True, return_inverse=True)
        renumbered, fresh = np.split(number.ravel(), [len(known)])
        known, numbers = rows[first], np.concatenate([renumbered[numbers], fresh])
    return known.reshape(-1, h, w), numbers.reshape(-1, c)


def _differences(grid: FactorGrid, pairs: np.ndarray) -> np.ndarray:
    """Compute differences of pairs of images, float32 (n, c, h, w); draw each image once."""
    index, place = np.unique(pairs, return_inverse=True)
    images = grid.images(index, "float32").transpose(0, 3, 1, 2)
    left, right = place.reshape(pairs.shape).T
    return images[left] - images[right]


def _lags(
    h: int, w: int, symmetry: Symmetry
) -> tuple[tuple[torch.Tensor, torch.Tensor], scipy.sparse.csr_array]:
    """Find classes of equivalent lags, and the matrix that sums lags over these classes.

    Autocorrelations are even, so that the lags i >= 0 are enough. The matrix maps these, (h, 2 w -
    1) flattened, to the classes of lags under the symmetry.
    """
    i, j = np.meshgrid(np.arange(h), np.arange(1 - w, w), indexing="ij")
    if symmetry == "d4" and h == w:
        key = np.maximum(i, np.abs(j)) * w + np.minimum(i, np.abs(j))
    elif symmetry in ("d4", "flip"):
        key = i * w + np.abs(j)
    else:
        key = np.where(i > 0, i * (2 * w) + j, np.abs(j))
    # Rows i > 0 count for -i too; row 0 has both signs of j.
    times = np.where(i > 0, 2.0, 1.0).ravel()
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    group = group.ravel()
    fold = scipy.sparse.csr_array(
        (times.astype(np.float32), (np.arange(len(group)), group)), shape=(len(group), len(first))
    )
    lags = tuple(torch.from_numpy(axis.ravel()[first]) for axis in (i, j))
    return (lags[0], lags[1]), fold
