from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from geodis import product_manifold
from geodis.base.check import InputError
from geodis.manifold.geomancer import Evidence
from geodis.manifold.holonomy.eigenfields import PARALLEL_VARIATION
from geodis.manifold.holonomy.loops import Holonomy
from geodis.plots import (
    new_axis,
    plot_directions_by_factor,
    plot_eigenvalue_spectrum,
    plot_error_against_n,
    plot_factor_directions,
    plot_field_separation,
    plot_holonomy,
    plot_principal_spectrum,
    save_figure,
)


def evidence(values, variation, n_parallel, dims, doubts=()):
    return Evidence(
        sum(dims), np.array(values), np.array(variation), n_parallel, dims, 1 + n_parallel, doubts
    )


SPLIT = evidence([1e-4, 0.02, 0.025], [0.001, 0.3, 0.4], 1, (2, 2))
WHOLE = evidence([0.02, 0.021, 0.03], [0.12, 0.3, 0.4], 0, (2,), ("field 1 varies by 0.12",))


def truth(spec, n=300, **options):
    """Points and what a perfect fit would say of them."""
    sample = product_manifold(spec, n, random_state=0, **options)
    est = SimpleNamespace(
        axes_=np.concatenate(sample.tangents, axis=1),
        factor_dims_=np.array(sample.factor_dims),
        n_factors_=sample.n_factors,
        subspace=lambda factor: sample.tangents[factor],
    )
    return sample.points, est


def lines(axis):
    """Ends of the lines of each factor, one array of shape (lines, 2, 2) a factor."""
    return [
        np.array(item.get_segments())
        for item in axis.collections
        if hasattr(item, "get_segments") and len(item.get_segments())
    ]


def lengths(ends):
    return np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)


def legend(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_principal_spectrum_bars_are_the_fractions():
    axis = plot_principal_spectrum(np.array([0.5, 0.3, 0.2]), dim=2)
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches], [50, 30, 20])
    assert legend(axis) == ["intrinsic dimension 2"]


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
    axis = plot_eigenvalue_spectrum(SimpleNamespace(evidence_=[SPLIT, WHOLE]))
    assert axis.get_title(loc="left") == "1 parallel field: dimension 4 into 2 + 2"
    axis = plot_eigenvalue_spectrum(SimpleNamespace(evidence_=[WHOLE]))
    assert axis.get_title(loc="left") == "no parallel fields: dimension 2 is one factor"
    assert axis.get_legend() is None


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
    assert "no field was computed" in draw(nothing).texts[0].get_text()


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


def test_in_a_factors_own_directions_other_factors_vanish():
    points, est = truth("S^2 x SO(3)", rotate=True, pad=3)
    for view in (0, 1):
        ends = lines(plot_factor_directions(points, est, view))
        assert [len(item) for item in ends] == [200 * 2, 200 * 3]
        assert lengths(ends[1 - view]).max() < 1e-9 < 0.5 * lengths(ends[view]).max()


def test_lines_lie_at_points_and_have_one_length_where_all_is_seen():
    points, est = truth("R^1 x R^1", n=50)
    axis = plot_factor_directions(points, est, n_shown=10)
    first, second = lines(axis)
    shown = axis.collections[0].get_offsets()
    for ends in (first, second):
        distances = np.linalg.norm(ends.mean(axis=1)[:, None] - shown[None], axis=2)
        assert len(ends) == 10 and distances.min(axis=1).max() < 1e-12
        np.testing.assert_allclose(lengths(ends), lengths(ends)[0])
    assert np.ptp(first[..., 1], axis=1).max() < 1e-12  # the first factor runs along x
    assert np.ptp(second[..., 0], axis=1).max() < 1e-12


def test_points_without_axes_are_left_out():
    points, est = truth("S^2", n=60)
    est.axes_ = np.where(np.arange(60)[:, None, None] < 20, np.nan, est.axes_)
    assert len(plot_factor_directions(points, est).collections[0].get_offsets()) == 40


@pytest.mark.parametrize(
    ("view", "title"),
    [
        (None, "3 principal axes"),
        (1, "directions of factor 1 (100 % of their length)"),
        (np.eye(2, 6), "projection"),
    ],
)
def test_the_view_is_named(view, title):
    points, est = truth("S^2 x S^2")
    assert plot_factor_directions(points, est, view).get_title(loc="left").startswith(title)


def test_points_and_views_of_other_shapes_are_refused():
    points, est = truth("S^2 x S^2", n=50)
    with pytest.raises(InputError, match="those of the fit"):
        plot_factor_directions(points[:-1], est)
    with pytest.raises(InputError, match="view must have shape"):
        plot_factor_directions(points, est, np.eye(4))


def test_every_factor_has_a_panel_and_three_columns_have_one():
    points, est = truth("S^1 x S^1 x S^1 x S^1")
    assert len(plot_directions_by_factor(points, est).figure.axes) == 4
    points, est = truth("S^2")
    assert len(plot_directions_by_factor(points, est).figure.axes) == 1


def test_holonomy_curves_are_shares_of_loops():
    angles = np.radians([[0.0, 90.0], [0.0, 30.0], [0.0, 60.0], [0.0, 120.0]])
    axis = plot_holonomy(Holonomy(angles, np.zeros(4), np.array([4, 5, 6, 5])), (2, 3))
    np.testing.assert_allclose(axis.lines[1].get_xdata(), [0, 30, 60, 90, 120, 180])
    np.testing.assert_allclose(axis.lines[1].get_ydata(), [0, 25, 50, 75, 100, 100])
    assert legend(axis) == [
        "factor 0 (dimension 2): median 0°",
        "factor 1 (dimension 3): median 75°",
    ]


def test_errors_are_joined_by_their_medians_and_wrong_factors_crossed():
    rows = [
        {"manifold": "a", "n": n, "error": error, "right": right}
        for n, error, right in [
            (100, 1.5, False),
            (200, 0.1, True),
            (200, 0.3, True),
            (200, 0.2, False),
        ]
    ]
    axis = plot_error_against_n([*rows, {"manifold": "b", "n": 200, "error": 0.5, "right": True}])
    a, b, crosses, _ = axis.lines
    np.testing.assert_allclose(a.get_xydata(), [[100, 1.5], [200, 0.2]])
    np.testing.assert_allclose(b.get_xydata(), [[200, 0.5]])
    np.testing.assert_allclose(crosses.get_xydata(), [[100, 1.5]])
    assert legend(axis) == ["a", "b", "wrong factors"]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["100", "200"]
