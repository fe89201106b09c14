"""Second fundamental forms -> the curvature inside a factor: mean, spread, sign, what it tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from geodis.manifold.local.batched_fits import quadratic_pairs
from geodis.manifold.topology.local_fits import LocalFits

CurvatureSign = Literal["flat", "positive", "negative", "mixed"]

# In units of one over the volume to the power 2 / k (a sphere has 4 pi in two dimensions): below,
# nothing is seen in the mean, and in the spread.
FLAT_MEAN, FLAT_SPREAD = 0.8, 2.2
# Fits bend what is flat a little, in proportion to how it lies in space: below these parts of the
# mean square of the second fundamental form nothing is seen either.
PART_OF_MEAN, PART_OF_SPREAD = 0.06, 0.1
# The spread over the mean below which a curvature has one sign, or is the same all over; above the
# last it is certainly not the same.
ONE_SIGN, ROUND, NOT_ROUND = 0.8, 0.25, 0.4
# Share of the largest and smallest values that are cut off.
TAIL = 0.02


@dataclass(frozen=True)
class ScalarCurvature:
    """Sectional curvature, the mean over planes at every place.

    Attributes
    ----------
    mean, spread : float
        Mean and standard deviation over the volume; noise is taken out of both.
    sign : {"flat", "positive", "negative", "mixed"}
    even : bool or None
        Whether it is the same everywhere; None where that cannot be told.
    one_sided : float or None
        Dimension 3 and 4: size of the Ricci tensor without its trace over the scalar curvature,
        squared: 0 where no direction is another, 1/6 for S^2 x S^1.
    weyl : float or None
        Dimension 4: size of the Weyl tensor over the scalar curvature, squared: 0 for S^4, 1/6
        for CP^2, 1/3 for S^2 x S^2.
    euler : float or None
        Closed surfaces: the integral of the curvature over 2 pi, which is the Euler number.
    """

    mean: float
    spread: float
    sign: CurvatureSign
    even: bool | None
    one_sided: float | None = None
    weyl: float | None = None
    euler: float | None = None

    def __str__(self) -> str:
        """In words."""
        evenly = {True: ", the same all over", False: ", not the same all over", None: ""}[
            self.even
        ]
        text = f"{self.sign} curvature{evenly}: {self.mean:.3g}, spread {self.spread:.2g}"
        if self.euler is not None:
            text += f"; its integral gives the Euler number {self.euler:.2f}"
        return text


def scalar_curvature(
    fits: LocalFits, volumes: np.ndarray, inside: np.ndarray, *, closed: bool, flat: bool = False
) -> ScalarCurvature:
    r"""Curvature by the Gauss equation, at the places whose neighbourhood is whole.

    With h the second fundamental form, ``K = (|tr h|^2 - |h|^2) / (k (k - 1))``. Errors of h
    with covariance C add ``(r - k) tr(Q C)`` to it and ``4 sum h Q C Q h + 2 (r - k) tr(Q C Q C)``
    to its variance, for Q the quadratic form of K in each normal direction; both are taken out.
    """
    dim = fits.dim
    if flat:
        return ScalarCurvature(0.0, 0.0, "flat", True, euler=0.0 if dim == 2 and closed else None)
    codim = fits.places.shape[1] - dim
    form = _quadratic(dim)
    first, second = quadratic_pairs(dim)
    entries = fits.forms[inside][:, first, second]  # (c, p, r)
    pulled = form @ fits.form_errors[inside]
    noise = codim * np.trace(pulled, axis1=1, axis2=2)
    along = np.einsum("pq,cqr->cpr", form, entries)
    values = (entries * along).sum(axis=(1, 2)) - noise
    variance = 4 * np.einsum(
        "cpr,cpq,cqr->c", along, fits.form_errors[inside], along, optimize=True
    ) + 2 * codim * np.einsum("cpq,cqp->c", pulled, pulled)
    weights = volumes[inside] / volumes[inside].sum()
    low, high = np.quantile(values, [TAIL, 1 - TAIL])
    clipped = np.clip(values, low, high)
    mean = float(clipped @ weights)
    scatter = float((clipped - mean) ** 2 @ weights)
    spread = float(np.sqrt(max(scatter - float(variance @ weights), 0.0)))
    unit = float(volumes.sum()) ** (2 / dim)
    bending = float((fits.forms[inside] ** 2).sum(axis=(1, 2, 3)) @ weights) / dim
    flat = (abs(mean) * unit < FLAT_MEAN and spread * unit < FLAT_SPREAD) or (
        abs(mean) < PART_OF_MEAN * bending and spread < PART_OF_SPREAD * bending
    )
    return ScalarCurvature(
        mean,
        spread,
        "flat" if flat else _sign(mean, spread),
        True if flat else _even(mean, spread),
        *_shape_of_tensor(fits.forms[inside], weights),
        float(values @ weights * volumes.sum() / (2 * np.pi)) if dim == 2 and closed else None,
    )


def _quadratic(dim: int) -> np.ndarray:
    """K as a quadratic form of the entries a <= b of a second fundamental form."""
    first, second = quadratic_pairs(dim)
    same = (first == second).astype(float)
    return (np.outer(same, same) - np.diag(2 - same)) / (dim * (dim - 1))


def _sign(mean: float, spread: float) -> CurvatureSign:
    if spread > ONE_SIGN * abs(mean):
        return "mixed"
    return "positive" if mean > 0 else "negative"


def _even(mean: float, spread: float) -> bool | None:
    ratio = spread / max(abs(mean), 1e-300)
    return True if ratio < ROUND else (False if ratio > NOT_ROUND else None)


def _shape_of_tensor(forms: np.ndarray, weights: np.ndarray) -> tuple[float | None, float | None]:
    """Means of ``|Ric|^2 - scal^2 / k`` and ``|Riem|^2 - 2 |Ric|^2 + scal^2 / 3``, over scal^2."""
    dim = forms.shape[1]
    if dim < 3:
        return None, None
    gram = np.einsum("nacx,nbdx->nabcd", forms, forms, optimize=True)
    tensor = gram - np.swapaxes(gram, 3, 4)
    ricci = np.einsum("nabcb->nac", tensor)
    scalar = np.einsum("naa->n", ricci) ** 2
    whole = max(float(scalar @ weights), 1e-300)
    ricci_size = (ricci**2).sum(axis=(1, 2))
    one_sided = float((ricci_size - scalar / dim) @ weights / whole)
    if dim < 4:
        return one_sided, None
    size = (tensor**2).sum(axis=(1, 2, 3, 4)) - 2 * ricci_size + scalar / 3
    return one_sided, float(size @ weights / whole)
