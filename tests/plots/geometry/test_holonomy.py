import numpy as np

from geodis.manifold.holonomy.connection import Holonomy
from geodis.plots import plot_holonomy


def test_holonomy_curves_are_shares_of_loops():
    angles = np.radians([[0.0, 90.0], [0.0, 30.0], [0.0, 60.0], [0.0, 120.0]])
    axis = plot_holonomy(Holonomy(angles, np.zeros(4), np.array([4, 5, 6, 5])), (2, 3))
    np.testing.assert_allclose(axis.lines[1].get_xdata(), [0, 30, 60, 90, 120, 180])
    np.testing.assert_allclose(axis.lines[1].get_ydata(), [0, 25, 50, 75, 100, 100])
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        "factor 0 (dimension 2): median 0°",
        "factor 1 (dimension 3): median 75°",
    ]
