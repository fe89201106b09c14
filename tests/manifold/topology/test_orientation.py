"""Handedness of frames carried around loops."""

import numpy as np
import pytest

from geodis import product_manifold
from geodis.manifold.flat.differences import Edges
from geodis.manifold.topology.betti import PlaceGraph, place_graph
from geodis.manifold.topology.boundary import handedness
from geodis.manifold.topology.scalar_curvature import local_fits


@pytest.mark.parametrize("seed", range(3))
def test_a_loop_that_hangs_on_a_few_edges_is_none(seed: int) -> None:
    """A Moebius band cut across but for a few edges, as short cuts join two turns of a roll."""
    rng = np.random.default_rng(seed)
    points = product_manifold("Moebius(1.5, .5)", 1500, random_state=seed).points
    fits = local_fits(points, 2, None, rng)
    whole = place_graph(fits)
    assert handedness(fits.frames, whole, rng).orientable is False

    angle = np.arctan2(points[whole.rows, 1], points[whole.rows, 0])
    across = np.abs(angle[whole.edges.i] - angle[whole.edges.j]) > np.pi
    assert across.sum() > 80
    kept = ~across
    kept[np.flatnonzero(across)[:6]] = True
    edges = Edges(whole.edges.i[kept], whole.edges.j[kept], whole.edges.n)
    bridged = PlaceGraph(whole.rows, edges, whole.lengths[kept])
    assert handedness(fits.frames, bridged, rng).orientable is not False
