import numpy as np
import pytest

from geodis.plots import new_axis, plot_principal_spectrum, save_figure


def test_spectrum_bars_are_the_fractions():
    axis = plot_principal_spectrum(np.array([0.5, 0.3, 0.2]), dim=2)
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches], [50, 30, 20])
    assert axis.get_legend().get_texts()[0].get_text() == "intrinsic dimension 2"


def test_a_given_axis_is_drawn_on():
    axis = new_axis()
    assert plot_principal_spectrum(np.ones(60) / 60, axis=axis) is axis
    assert len(axis.patches) == 50


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_figures_are_written_by_suffix(tmp_path, suffix):
    save_figure(plot_principal_spectrum(np.ones(2) / 2), tmp_path / f"figure.{suffix}")
    content = (tmp_path / f"figure.{suffix}").read_bytes()
    assert (b"PNG" if suffix == "png" else b"<svg") in content
