"""Figures are without windows, and below the cell of a notebook that made them."""

import matplotlib
from matplotlib import pyplot

from geodis.plots import new_axis, style
from geodis.plots.style import forget_figure, new_axes


def test_scripts_leave_pyplot_alone():
    new_axis()
    new_axes(2, 1, 3.0, 3.0)
    assert pyplot.get_fignums() == []


def test_a_notebook_that_draws_below_cells_is_given_the_figure(monkeypatch):
    monkeypatch.setattr(style, "in_notebook", lambda: True)
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "agg")
    new_axis()
    assert pyplot.get_fignums() == []  # nothing would show it
    monkeypatch.setattr(style, "_drawn_below_cells", lambda: True)
    axis = new_axis(3.0, 2.0)
    axes = new_axes(1, 2, 4.0, 2.0)
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert figures == [axis.figure, axes[0, 0].figure]
    assert axis.figure.get_size_inches().tolist() == [3.0, 2.0]
    new_axes(1, 2, 4.0, 2.0, axis.figure)  # on a figure that is there
    forget_figure(axis.figure)
    assert len(pyplot.get_fignums()) == 1
    pyplot.close("all")
