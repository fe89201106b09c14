import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.data.grids.squares import XYSquares
from geodis.kernels import LossKernel
from geodis.plots import plot_augmented_traversals, plot_kernels, plot_learning, save_figure


def test_kernels_are_drawn_as_they_are(tmp_path):
    axes = plot_kernels({"box": LossKernel.box(2), "bank": np.ones((3, 1, 5, 5))})
    first, second = axes.ravel()
    np.testing.assert_allclose(first.images[0].get_array(), 1 / 25)
    assert second.get_title() == "bank\nfirst of 3"
    peak = np.ones((21, 21))
    peak[10, 10] = 100.0
    assert plot_kernels({"peak": peak}).ravel()[0].images[0].get_clim() == (0.0, 1.0)
    save_figure(first, tmp_path / "kernels.png")
    assert (tmp_path / "kernels.png").stat().st_size > 1000
    with pytest.raises(InputError, match="at least one kernel; got none"):
        plot_kernels({})


def test_traversals_stand_beside_what_a_kernel_makes_of_them():
    grid = XYSquares(spacing=4, square_size=4, grid_size=4, image_size=16)
    axes = plot_augmented_traversals(grid, LossKernel.box(3), factors=["x_R", "y_G"])
    assert axes.shape == (2, 2)
    plain, blurred = (axis.images[0].get_array() for axis in axes[0])
    assert plain.shape == blurred.shape == (16, 4 * 18 - 2, 3)
    red = np.asarray(plain)[:, :16, 0]
    assert red.sum() == 16
    assert np.asarray(blurred)[:, :16, 0].max() == pytest.approx(1.0)
    assert (np.asarray(blurred)[:, :16, 0] > 0).sum() > 16


def test_learning_is_drawn_by_step():
    kernel = LossKernel.box(1)
    kernel.made = {"history": [(50, "pearson", 0.4), (100, "spearman", 0.6)], "pixel_loss": 0.2}
    axis = plot_learning({"r1": kernel})
    np.testing.assert_array_equal(axis.lines[0].get_xydata(), [[50, 0.4], [100, 0.6]])
    np.testing.assert_array_equal(axis.lines[1].get_ydata(), [0.2, 0.2])
    low, high = axis.get_ylim()
    assert -1 < low < 0.2 and 0.6 < high < 1
    heights = axis.transData.transform([(0, 0.9), (0, 0.99), (0, 0.999)])[:, 1]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1])  # opens towards 1
    with pytest.raises(InputError, match="got box without a history"):
        plot_learning({"box": LossKernel.box(1)})
