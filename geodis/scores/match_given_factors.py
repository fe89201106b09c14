"""Given factors beside found ones: which is which, how well, and along which coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.scores.groups import FactorBlock, varying_blocks
from geodis.scores.predictive.block_r2 import block_r2

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


# Held-out shares of variance below which a map says nothing of a factor.
NOTHING = 0.1


@dataclass(frozen=True)
class MatchedFactor:
    """What the maps of a fit say of one given factor.

    Attributes
    ----------
    given : str
    found : int
        The factor whose map tells it best; -1 where none tells it.
    kind : str
        The name of the found factor, such as "sphere"; empty without one.
    told : float
        Share of its variance that smooth functions of that map's coordinates predict, on held-out
        rows.
    elsewhere : float
        The same of the best other map: near zero where the factor is in one found factor alone.
    linear : float
        The same by a linear map of the coordinates.
    coordinate : str
        The coordinate that goes with it most, by the names of `get_feature_names_out`.
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
        """One line for people."""
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
    """Match every given factor to the found one whose map tells it best.

    Several given factors may be told by one map: azimuth and height are both on a sphere. How
    well all fit one to one is the score `block_r2` with ``groups=est``.

    Parameters
    ----------
    est : GeoManCER
        Fitted to the rows of the factors.
    factors : array-like of shape (n, f), or Factors
        Of any kind: `Factors.groups` says which columns are one factor.
    random_state : int, Generator or None
        Draws the rows that are held out.

    Returns
    -------
    tuple of MatchedFactor
        One for every factor that varies, in their order.

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
    ask = {"groups": est, "random_state": random_state}
    smooth = block_r2(latents, factors, method="kernel", **ask).matrix
    linear = block_r2(latents, factors, **ask).matrix
    assert smooth is not None and linear is not None
    known = np.logical_and.reduce([np.isfinite(own).all(axis=1) for own in maps])
    names = est.get_feature_names_out()
    starts = np.cumsum([0, *(own.shape[1] for own in maps)])
    matches = []
    for g in varying.kept:
        told = np.fmax(smooth[:, g], linear[:, g])
        best = int(np.argmax(told))
        others = np.delete(told, best)
        along = _explained(blocks[g], maps[best], known)
        most = int(np.argmax(along))
        clear = told[best] > NOTHING
        matches.append(
            MatchedFactor(
                blocks[g].name,
                best if clear else -1,
                est.names_[best] if clear else "",
                float(told[best]),
                float(others.max()) if len(others) else 0.0,
                float(linear[best, g]),
                str(names[starts[best] + most]) if clear else "",
                float(along[most]),
            )
        )
    return tuple(matches)


def _explained(block: FactorBlock, coordinates: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Share of every coordinate's variance that the factor explains linearly, shape (r,)."""
    values, own = block.values[known], coordinates[known]
    own = own - own.mean(axis=0)
    values = values - values.mean(axis=0)
    fitted = values @ np.linalg.lstsq(values, own, rcond=None)[0]
    total = np.maximum((own**2).sum(axis=0), np.finfo(float).tiny)
    return (fitted**2).sum(axis=0) / total
