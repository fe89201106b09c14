"""Figures of flat factors show what they are given."""

import numpy as np
import pandas as pd
import pytest

from geodis import plots
from geodis.base.check import InputError
from geodis.manifold import independent_rotation


def test_one_panel_a_factor_coloured_by_it():
    x = np.random.default_rng(0).uniform(size=(80, 2))
    axes = plots.plot_flat_coordinates(x, np.column_stack([x, x[:, 0]]), ["a", "b", "c"])
    assert len(axes) == 3 and [axis.get_title(loc="left")[-1] for axis in axes] == ["a", "b", "c"]
    np.testing.assert_allclose(axes[1].collections[0].get_array(), x[:, 1])
    np.testing.assert_allclose(axes[0].collections[0].get_offsets(), x)
    # The coordinate that follows the factor stands across.
    np.testing.assert_allclose(axes[1].collections[0].get_offsets(), x[:, ::-1])


def test_one_coordinate_stands_against_the_factor():
    x = np.arange(30.0)[:, None]
    axis = plots.plot_flat_coordinates(2 * x, x, ["time"])[0]
    np.testing.assert_allclose(axis.collections[0].get_offsets(), np.hstack([2 * x, x]))
    assert axis.get_ylabel() == "time"


def test_factors_keep_their_names_and_labels_are_drawn():
    x = np.random.default_rng(0).uniform(size=(20, 2))
    frame = pd.DataFrame({"size": x[:, 0], "shape": ["dot", "box"] * 10})
    axes = plots.plot_flat_coordinates(x, frame)
    assert [axis.get_title(loc="left") for axis in axes] == ["colour: size", "colour: shape"]
    np.testing.assert_array_equal(axes[1].collections[0].get_array(), [1, 0] * 10)


def test_many_points_are_thinned():
    x = np.random.default_rng(0).uniform(size=(20_000, 2))
    assert len(plots.plot_flat_coordinates(x, x)[0].collections[0].get_offsets()) == 5000


def test_contrasts_say_their_groups_and_which_is_believed(tmp_path):
    rotation = independent_rotation(np.random.default_rng(0).uniform(size=(600, 2)))
    axis = plots.plot_contrast_angles(rotation)
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        result.name for result in rotation.contrasts
    ]
    colors = [patch.get_facecolor() for patch in axis.patches]
    chosen = [result.name for result in rotation.contrasts].index(rotation.contrast)
    assert colors.count(colors[chosen]) == 1
    plots.save_figure(axis, tmp_path / "contrasts.png")
    alone = independent_rotation(np.arange(10.0)[:, None])
    assert "no contrast" in plots.plot_contrast_angles(alone).texts[0].get_text()


def test_messages():
    with pytest.raises(InputError, match="a row for each of 5 points; got 4"):
        plots.plot_flat_coordinates(np.zeros((5, 2)), np.zeros((4, 1)))
