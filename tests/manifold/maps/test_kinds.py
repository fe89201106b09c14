"""What every kind of map must answer, and that each view that a map may choose can be drawn."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.maps.factor_map import FactorData, MapView, UnrolledFactor
from geodis.manifold.maps.map_kinds import KINDS
from geodis.manifold.maps.samples import coarse_sample
from geodis.plots.geometry.factor_view import VIEWS


@pytest.fixture(scope="module")
def data():
    """A circle with its unrolled coordinate."""
    sample = gd.product_manifold("S^1", 400, rotate=False, random_state=0)
    points, axes = sample.points, sample.tangents[0]
    rows, angle = np.arange(400), np.arctan2(points[:, 1], points[:, 0])[:, None]
    angle *= np.sign((axes[0] @ [-points[0, 1], points[0, 0]])[0])
    unrolled = UnrolledFactor(angle, ((rows, np.array([[2 * np.pi]])),))
    samples = [(rows, coarse_sample(points, rows, axes))]
    return FactorData(points, points, axes, unrolled, 0.0, samples)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_answers(kind, data):
    own = kind(data) or kind(replace(data, unrolled=None))
    a, b = np.random.default_rng(0).integers(400, size=(2, 50))
    true = np.arccos(np.clip((data.points[a] * data.points[b]).sum(axis=1), -1, 1))
    np.testing.assert_allclose(own.distances(a, b), true, atol=0.02)
    np.testing.assert_allclose(own.at(data.places[a], data.axes[a]), own.coordinates[a], atol=1e-9)
    rows, frames = own.tangents()
    assert frames.shape == (len(rows), own.n_coordinates, own.dim)
    assert own.view("circle") == "circle" and own.topology(True).name == "circle"
    assert (own.periods is None) == (own.unrolled() is None)
    piece, start, end = own.pieces[own.piece[a[0]]], own.coordinates[a[0]], own.coordinates[b[0]]
    position, frame = piece.project(
        start, piece.frame_at(data.places[a[0]], data.axes[a[0]], start)
    )
    way = piece.log(position, frame, end)
    np.testing.assert_allclose(way.positions[-1], end, atol=0.01)
    assert way.lengths[-1] == pytest.approx(true[0], abs=0.02)


def test_every_view_is_drawn():
    assert set(VIEWS) == set(get_args(MapView))
