from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.collections import PathCollection

import geodis as gd
from geodis.base.check import InputError
from geodis.manifold.holonomy.eigenfields import PARALLEL_VARIATION
from geodis.manifold.split_result import Evidence
from geodis.plots import (
    eigenvalue_spectrum_figure,
    figure_svg,
    new_axis,
    plot_eigenvalue_spectrum,
    plot_field_separation,
    plot_principal_spectrum,
    principal_spectrum_figure,
    save_figure,
)


def evidence(values, variation, n_parallel, dims, doubts=()):
    return Evidence(
        sum(dims), np.array(values), np.array(variation), n_parallel, dims, 1 + n_parallel, doubts
    )


SPLIT = evidence([1e-4, 0.02, 0.025], [0.001, 0.3, 0.4], 1, (2, 2))
WHOLE = evidence([0.02, 0.021, 0.03], [0.12, 0.3, 0.4], 0, (2,), ("field 1 varies by 0.12",))


def legend(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_the_edge_of_the_noise_is_a_band_on_a_logarithmic_scale():
    axis = plot_principal_spectrum(np.array([0.5, 0.3, 0.1, 0.1]), dim=2, edge=0.15)
    assert axis.get_yscale() == "log"
    assert axis.patches[0].get_extents().transformed(axis.transData.inverted()).y1 == pytest.approx(
        15
    )
    assert "isotropic noise" in [text.get_text() for text in axis.texts]


def test_principal_spectrum_bars_are_the_fractions():
    axis = plot_principal_spectrum(np.array([0.5, 0.3, 0.2]), dim=2)
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches], [50, 30, 20])
    assert "about 2 dimensions" in axis.get_title(loc="left")


def test_a_given_axis_is_drawn_on():
    axis = new_axis()
    assert plot_principal_spectrum(np.ones(60) / 60, axis=axis) is axis
    assert len(axis.patches) == 50
    assert plot_eigenvalue_spectrum([0.1, 0.2], axis=axis) is axis
    assert plot_field_separation([SPLIT], axis) is axis


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_figures_are_written_by_suffix(tmp_path, suffix):
    save_figure(plot_principal_spectrum(np.ones(2) / 2), tmp_path / f"figure.{suffix}")
    content = (tmp_path / f"figure.{suffix}").read_bytes()
    assert (b"PNG" if suffix == "png" else b"<svg") in content


def test_eigenvalues_are_parted_at_the_parallel_fields():
    axis = plot_eigenvalue_spectrum(
        [0.001, 0.002, 0.05, 0.06], 2, variation=np.array([0, 0.01, 0.3, 0.4])
    )
    parallel, others = (item.get_offsets() for item in axis.collections[:2])
    np.testing.assert_allclose(parallel, [[1, 0.001], [2, 0.002]])
    np.testing.assert_allclose(others, [[3, 0.05], [4, 0.06]])
    texts = [text.get_text() for text in axis.texts]
    assert "gap: 25 times" in texts  # 0.05 / 0.002
    assert [text for text in texts if text.startswith("0.")] == ["0.00", "0.01", "0.30", "0.40"]


def test_an_estimator_brings_its_evidence():
    axis = plot_eigenvalue_spectrum(SimpleNamespace(evidence_=[SPLIT, WHOLE], factor_dims_=[2, 2]))
    assert axis.get_title(loc="left") == "1 parallel field: dimension 4 into 2 + 2"
    axis = plot_eigenvalue_spectrum(SimpleNamespace(evidence_=[WHOLE], factor_dims_=[2]))
    assert axis.get_title(loc="left") == "no parallel fields: dimension 2 is one factor"
    assert axis.get_legend() is None


@pytest.mark.parametrize("spec", ["S^1 x S^1", "S^2 x S^1 x S^1", "S^2 x S^2", "S^3"])
def test_the_title_has_the_factors_that_are_reported(spec):
    points = gd.product_manifold(spec, 1500, random_state=0).points
    est = gd.GeoManCER(verbose=0, random_state=0).fit(points)
    dims = " + ".join(map(str, est.factor_dims_))
    title = eigenvalue_spectrum_figure(est).panels[0][0].title
    said = f"into {dims}" if est.n_factors_ > 1 else "is one factor"
    assert f"dimension {est.dim_} {said}" in title
    # The fields leave the flat part whole; the title must not stop there.
    whole = tuple(est.evidence_[0].factor_dims) == tuple(est.factor_dims_)
    assert ("by these fields alone" in title) == (not whole)


def test_eigenvalues_that_round_to_zero_can_be_drawn(tmp_path):
    save_figure(plot_eigenvalue_spectrum([-1e-9, 0.0, 0.1], 2), tmp_path / "spectrum.png")
    tiny = evidence([-1e-9, 0.0, 0.0], [0.0, 0.0, 0.0], 3, (2,))
    save_figure(plot_field_separation([tiny]), tmp_path / "separation.png")


def test_more_parallel_fields_than_fields_are_refused():
    with pytest.raises(InputError, match="n_parallel"):
        plot_eigenvalue_spectrum([0.1, 0.2], 3)


@pytest.mark.parametrize(
    ("draw", "nothing"),
    [(plot_eigenvalue_spectrum, SimpleNamespace(evidence_=[])), (plot_field_separation, [])],
)
def test_without_fields_the_figure_says_so(draw, nothing):
    assert "no fields were computed" in draw(nothing).texts[0].get_text()


def test_separation_draws_both_thresholds_and_each_level():
    axis = plot_field_separation([SPLIT, WHOLE])
    upright, level = axis.lines
    assert set(upright.get_xdata()) == {PARALLEL_VARIATION}
    assert set(level.get_ydata()) == {0.5}  # as in `count_parallel`
    assert legend(axis) == ["dimension 4 into 2 + 2", "dimension 2 is one factor (uncertain)"]


def test_separation_makes_the_deciding_fields_large():
    axis = plot_field_separation([SPLIT])
    small, large = (item for item in axis.collections if isinstance(item, PathCollection))
    np.testing.assert_allclose(np.asarray(large.get_offsets()), [[0.001, 0.004], [0.3, 0.8]])
    np.testing.assert_allclose(np.asarray(small.get_offsets()), [[0.4, 1.0]])
    assert large.get_sizes()[0] > small.get_sizes()[0]


def test_a_page_has_the_same_fields_and_the_same_gap():
    fit = SimpleNamespace(evidence_=[SPLIT, WHOLE], factor_dims_=[2, 2])
    figure = eigenvalue_spectrum_figure(fit)
    panel = figure.panels[0][0]
    parallel, others, gap = panel.marks
    assert (list(parallel.x), list(parallel.y)) == ([1], [1e-4]) and list(others.y) == [0.02, 0.025]
    assert others.told == {"varies": [0.3, 0.4]} and parallel.color == "accent" and panel.y.log
    assert gap.text == "gap: 200 times" and gap.text in figure_svg(figure)
    assert figure.about == "3 eigenvalues, 1 of them of parallel fields"


def test_a_floor_of_noise_is_a_band_below_what_is_kept():
    figure = principal_spectrum_figure(np.array([0.6, 0.2, 0.1, 0.1]), dim=1, edge=0.12)
    dots, band = figure.panels[0][0].marks
    assert band.high == pytest.approx(12)
    assert [height > band.high for height in dots.y] == [True, True, False, False]
    assert all(height > band.low > 0 for height in dots.y)
