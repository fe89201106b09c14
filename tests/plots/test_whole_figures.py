"""Figures of several panels on a figure that the caller has."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import geodis as gd
from geodis import plots
from geodis.base.check import InputError


@pytest.fixture(scope="module")
def est():
    points = gd.product_manifold("S^2 x S^1", 700, random_state=0).points
    return gd.GeoManCER(verbose=0, random_state=0).fit(points), points


def test_panels_stand_on_the_part_that_was_given(est, tmp_path):
    fitted, points = est
    whole = Figure(figsize=(8, 9), layout="constrained")
    upper, middle, lower = whole.subfigures(3)
    steps = np.abs(np.subtract.outer(range(4), range(4)))
    axis = plots.plot_maps(fitted, figure=upper)
    plots.plot_directions_by_factor(points, fitted, figure=middle)
    plots.plot_traversal_matrices({"ground truth": {"x": steps, "y": steps}}, figure=lower)
    assert axis.figure is upper and [len(part.axes) for part in whole.subfigs] == [2, 2, 2]
    plots.save_figure(axis, tmp_path / "all.png")
    assert (tmp_path / "all.png").stat().st_size > 10_000


def test_every_function_of_several_panels_takes_a_figure():
    x = np.random.default_rng(0).uniform(size=(50, 2))
    history = [{"step": 1, "loss": 1.0, "kl": 2.0}, {"step": 2, "loss": 0.5, "kl": 1.0}]
    drawn = {
        "plot_flat_coordinates": (x, x),
        "plot_points_by_factor": (x, x),
        "plot_kernels": ({"a": np.ones((3, 3)), "b": np.eye(3)},),
        "plot_training": (history,),
    }
    for name, arguments in drawn.items():
        whole = Figure()  # without a layout of its own
        getattr(plots, name)(*arguments, figure=whole)
        panels = [one for one in whole.axes if one.get_label() != "<colorbar>"]
        assert len(panels) == 2, name


def test_an_axis_is_no_figure(est):
    with pytest.raises(InputError, match="figure must be a matplotlib Figure or SubFigure; got"):
        plots.plot_maps(est[0], figure=Figure().add_subplot())
