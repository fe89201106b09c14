from types import SimpleNamespace

import numpy as np
import pytest

from geodis import product_manifold
from geodis.base.check import InputError
from geodis.plots import plot_directions_by_factor, plot_factor_directions


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
