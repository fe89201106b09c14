"""Matching of given factors with the factors found by a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.scores.groups import FactorBlock, varying_blocks
from geodis.scores.predictive.block_r2 import block_r2

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


# Held-out R^2 below which a map does not encode a factor.
MIN_R2 = 0.1


@dataclass(frozen=True)
class MatchedFactor:
    """The found factor that best predicts a given factor.

    Attributes
    ----------
    given : str
    found : int
        Number of the found factor whose map predicts it best; -1 if none does.
    kind : str
        The name of the found factor, such as "sphere"; empty if there is none.
    told : float
        R^2 on held-out rows of a kernel regression on the coordinates of that map, or of a linear
        one if that is higher.
    elsewhere : float
        The same for the best other map: near zero if a single found factor encodes the given one.
    linear : float
        Held-out R^2 of a linear regression on the coordinates.
    coordinate : str
        The coordinate that correlates most with the factor, named as in `get_feature_names_out`.
    along : float
        Share of that coordinate's variance that the given factor explains linearly.
    """

    given: str
    found: int
    kind: str
    told: float
    elsewhere: float
    linear: float
    coordinate: str
    along: float

    def __str__(self) -> str:
        """Summarise the match in one line."""
        if self.found < 0:
            return f"{self.given}: in no factor that was found (R^2 {self.told:.2f} at best)"
        kind = f", {self.kind}" if self.kind != "unknown" else ""
        return (
            f"{self.given}: factor {self.found}{kind}, R^2 {self.told:.3f} "
            f"(elsewhere {self.elsewhere:.2f}), most along {self.coordinate} ({self.along:.2f})"
        )


def match_given_factors(
    est: GeoManCER, factors: Any, *, random_state: Any = 0
) -> tuple[MatchedFactor, ...]:
    """Match every given factor to the found factor whose map predicts it best.

    One map may match several given factors: azimuth and height are both coordinates of a sphere.
    For a score of a one-to-one matching use `block_r2` with ``groups=est``.

    Parameters
    ----------
    est : GeoManCER
        Fitted to the rows of the factors.
    factors : array-like of shape (n, f), or Factors
        Of any kind. The columns of each of `Factors.groups` form one factor.
    random_state : int, Generator or None
        Draws the held-out rows.

    Returns
    -------
    tuple of MatchedFactor
        One for every factor that varies, in the given order.

    Examples
    --------
    >>> import geodis as gd
    >>> sample = gd.product_manifold("S^2 x S^1", 600, random_state=0)
    >>> est = gd.GeoManCER(verbose=0).fit(sample.points)
    >>> height = gd.as_factors({"height": sample.points[:, 2]})
    >>> one, = match_given_factors(est, height)
    >>> one.found, one.kind, one.told > 0.99, one.coordinate
    (0, 'sphere', True, 'factor0_sphere_z')
    """
    if not hasattr(est, "coordinates"):
        raise InputError(f"est must be a fitted GeoManCER; got {est!r}.")
    maps = [one.coordinates for one in est.maps_]
    latents = est.points_
    blocks, varying = varying_blocks(factors, len(latents))
    options = {"groups": est, "random_state": random_state}
    smooth = block_r2(latents, factors, method="kernel", **options).matrix
    linear = block_r2(latents, factors, **options).matrix
    assert smooth is not None and linear is not None
    known = np.logical_and.reduce([np.isfinite(own).all(axis=1) for own in maps])
    names = est.get_feature_names_out()
    starts = np.cumsum([0, *(own.shape[1] for own in maps)])
    matches = []
    for g in varying.kept:
        r2 = np.fmax(smooth[:, g], linear[:, g])
        best = int(np.argmax(r2))
        others = np.delete(r2, best)
        along = _explained(blocks[g], maps[best], known)
        most = int(np.argmax(along))
        clear = r2[best] > MIN_R2
        matches.append(
            MatchedFactor(
                blocks[g].name,
                best if clear else -1,
                est.names_[best] if clear else "",
                float(r2[best]),
                float(others.max()) if len(others) else 0.0,
                float(linear[best, g]),
                str(names[starts[best] + most]) if clear else "",
                float(along[most]),
            )
        )
    return tuple(matches)


def _explained(block: FactorBlock, coordinates: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the share of each coordinate's variance that the factor explains, shape (r,)."""
    values, own = block.values[known], coordinates[known]
    own = own - own.mean(axis=0)
    values = values - values.mean(axis=0)
    fitted = values @ np.linalg.lstsq(values, own, rcond=None)[0]
    total = np.maximum((own**2).sum(axis=0), np.finfo(float).tiny)
    return (fitted**2).sum(axis=0) / total
