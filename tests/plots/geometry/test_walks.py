"""Figures of walks show what was walked."""

import numpy as np
import pytest

from geodis import plots
from geodis.base.check import InputError
from geodis.manifold.maps.walk_results import Walk


def walk(stopped=None):
    lengths = np.linspace(0, 1, 5)
    points = np.outer(lengths, np.arange(9.0))
    gap = np.array([0.0, 0.1, 0.1, 0.1, 4.0])
    nearest = np.array([0, 0, 3, 4, 6])
    return Walk(1, points, lengths, points, nearest, gap, np.ones(5), stopped, 2.0, 7)


def test_a_strip_has_an_image_for_every_place():
    images = np.random.default_rng(0).random((5, 4, 6, 1))
    axis = plots.plot_walk(walk(), images)
    assert len(axis.images) == 5
    shown = np.asarray(axis.images[2].get_array())[..., 0] / 255
    np.testing.assert_allclose(shown, images[2, ..., 0], atol=1 / 255)
    assert [text.get_text() for text in axis.get_xticklabels()] == [
        "0", "0.25", "0.5", "0.75", "1*",
    ]  # fmt: skip
    assert axis.get_xlabel() == "length along factor 1"


def test_of_the_images_of_all_points_the_nearest_are_shown():
    images = (np.arange(7)[:, None, None, None] * np.full((1, 3, 3, 3), 30)).astype(np.uint8)
    shown = [
        float(np.asarray(one.get_array()).max()) for one in plots.plot_walk(walk(), images).images
    ]
    np.testing.assert_allclose(shown, np.array([0, 0, 3, 4, 6]) * 30)


def test_without_images_the_columns_that_move_most_are_lines():
    axis = plots.plot_walk(walk(stopped=1.1))
    labels = [line.get_label() for line in axis.lines]
    assert labels[:7] == ["2", "3", "4", "5", "6", "7", "8"]
    np.testing.assert_allclose(axis.lines[0].get_ydata(), walk().points[:, 2])
    assert axis.lines[7].get_xdata()[0] == 1.1
    assert axis.get_title(loc="left").startswith("The walk left the data after 1.1 of 2")


def test_images_of_something_else_are_refused():
    with pytest.raises(
        InputError, match=r"of the 5 positions or of the 7 .*; got shape \(6, 2, 2\)"
    ):
        plots.plot_walk(walk(), np.zeros((6, 2, 2)))
    with pytest.raises(InputError, match=r"of shape \(h, w\), .*; got shape \(5, 2\)"):
        plots.plot_walk(walk(), np.zeros((5, 2)))


def test_numbers_from_0_to_255_are_bytes():
    images = np.full((5, 3, 3), 128)
    (first, *_) = plots.plot_walk(walk(), images).images
    assert (np.asarray(first.get_array()) == 128).all()
    with pytest.raises(InputError, match=r"\[0, 1\] or from 0 to 255; got up to 1000"):
        plots.plot_walk(walk(), np.full((5, 3, 3), 1000))
    with pytest.raises(InputError, match=r"walk must be a result of GeoManCER.walk; got 5"):
        plots.plot_walk(5)
