"""Flat factors -> whether their shortest loops go around in two of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodis.manifold.flat.differences import Edges
from geodis.manifold.flat.flat_graph import unrolled_with_periods
from geodis.manifold.local.graph import neighbor_graph

# Of the square of a loop's length, what may lie outside one factor: it leans by 13 degrees.
LEANING = 0.05


@dataclass(frozen=True)
class CoupledPeriods:
    """The shortest loop of a flat part that leans most.

    Attributes
    ----------
    share : float
        Of the square of its length, what lies outside the factor that it mostly goes along: zero
        where every loop goes around in one factor, a quarter or more on a torus whose loops
        are 60 degrees apart.
    pair : tuple of int or None
        The two factors that it mostly goes along, the smaller number first; None where there are
        no loops.
    """

    share: float = 0.0
    pair: tuple[int, int] | None = None

    @property
    def there(self) -> bool:
        """Whether factors are coupled by their periods."""
        return self.share > LEANING


def coupled_periods(
    places: np.ndarray, axes: Sequence[np.ndarray], factors: Sequence[int], edges: Edges
) -> CoupledPeriods:
    """Unroll flat factors together, and compare their periods with their directions.

    A flat torus has parallel directions in every orientation, and lengths along one never depend
    on the place along another; but it is a product of circles only along its periods, where these
    are at right angles.

    Parameters
    ----------
    places : ndarray of shape (c, d)
    axes : sequence of ndarray of shape (c, k_j, d)
        Of the flat factors.
    factors : sequence of int
        Their numbers.
    edges : Edges
        Between the places.

    Returns
    -------
    CoupledPeriods

    Examples
    --------
    >>> from geodis.manifold.flat.differences import edges_of
    >>> angle = np.random.default_rng(0).uniform(0, 2 * np.pi, (2, 900))
    >>> torus = np.stack([*np.cos(angle), *np.sin(angle)], axis=1)
    >>> first, second = np.zeros((2, 900, 1, 4))
    >>> first[:, 0, ::2] = np.stack([-np.sin(angle[0]), np.cos(angle[0])], axis=1)
    >>> second[:, 0, 1::2] = np.stack([-np.sin(angle[1]), np.cos(angle[1])], axis=1)
    >>> edges = edges_of(neighbor_graph(torus, 12))
    >>> coupled_periods(torus, [first, second], [0, 1], edges).there
    False
    >>> slanted = [(first + second) / 2**0.5, (first - second) / 2**0.5]
    >>> coupled_periods(torus, slanted, [0, 1], edges).there
    True
    """
    graph = neighbor_graph(graph=edges.symmetric(np.ones(len(edges))))
    if graph.n_pieces > 1:
        return CoupledPeriods()
    periods = unrolled_with_periods(places, np.concatenate(list(axes), axis=1), graph)
    found = CoupledPeriods()
    for vector in periods.vectors:
        along = np.einsum("a,cad->cd", vector, periods.unrolling.frames)
        parts = [((own @ along[..., None]) ** 2).sum(axis=(1, 2)).mean() for own in axes]
        shares = np.array(parts) / sum(parts)
        first, second = np.argsort(-shares)[:2]
        pair = sorted((factors[first], factors[second]))
        if found.pair is None or 1 - shares[first] > found.share:
            found = CoupledPeriods(float(1 - shares[first]), (pair[0], pair[1]))
    return found
