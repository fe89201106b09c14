"""The cloud of a page shows the points where they are."""

import numpy as np

import geodis as gd
from geodis.plots import Dots, Segments, point_cloud


def titles(cloud):
    return [axis.title for axis in cloud.axes]


def test_directions_of_a_factor_vanish_in_the_view_of_another():
    sample = gd.product_manifold("S^2 x S^2", 800, random_state=0)
    est = gd.GeoManCER(verbose=0).fit(sample.points)
    cloud = point_cloud(sample.points, est=est)
    view = cloud.views["directions of factor 0"]
    assert (cloud.x, cloud.y) == view  # seen at first
    own, other = (cloud.columns[f"factor {j}"][list(view)] for j in (0, 1))
    assert np.abs(other).max() < 0.1 < np.abs(own).max()
    lines = [mark for mark in cloud.figure().panels[0][0].marks if isinstance(mark, Segments)]
    lengths = [np.linalg.norm(np.ptp(line.ends, axis=1), axis=1).max() for line in lines]
    assert lengths[1] < 0.1 * lengths[0]


def test_many_labels_are_named_beside_the_scale():
    words = tuple(f"kind <{i}>" for i in range(12))
    factors = gd.Factors(np.arange(120.0)[:, None] % 12, ("kind",), {"kind": words})
    (panel,) = point_cloud(np.random.default_rng(0).normal(size=(120, 2)), factors).panels
    (dots,) = panel.marks
    assert panel.title == "kind" and dots.names == words
    assert dots.told["value"][:2] == ["kind <0>", "kind <1>"]


def test_the_cloud_shows_the_points_where_they_are():
    points = np.random.default_rng(0).normal(size=(50, 4))
    cloud = point_cloud(points)
    across, up = (titles(cloud).index(f"latent {j}") for j in (1, 3))
    (dots,) = cloud.figure(2, across, up).panels[0][0].marks
    centred = points - points.mean(axis=0)
    for places, column in ((dots.x, 1), (dots.y, 3)):
        np.testing.assert_allclose(np.asarray(places), centred[:, column], atol=1e-12)
    np.testing.assert_array_equal(dots.values, points[:, 2])  # coloured by latent 2


def test_few_values_have_a_colour_each_in_the_cloud_too():
    factors = gd.Factors(np.arange(40.0)[:, None] % 3, ("<hue>",))
    cloud = point_cloud(np.eye(40), factors)
    assert [panel.title for panel in cloud.panels] == ["<hue>"]
    marks = cloud.panels[0].marks
    assert [mark.label for mark in marks] == ["0", "1", "2"]
    assert [mark.x.rows[1] for mark in marks] == [3, 4, 5]


def test_a_page_has_the_labels_and_the_lines_of_paper():
    sample = gd.product_manifold("R^1 x R^1", 60, random_state=0)
    est = gd.GeoManCER(dim=2, n_factors=1, verbose=0).fit(sample.points)
    factors = gd.Factors(np.arange(60.0)[:, None] % 2, ("kind",))
    page = point_cloud(sample.points, factors, est).figure().panels[0][0]
    assert [type(mark) for mark in page.marks] == [Dots, Dots, Segments]
    dots = gd.plots.plot_points_by_factor(sample.points, factors)
    lines = gd.plots.plot_directions_by_factor(sample.points, est)
    drawn = [axis.get_legend_handles_labels()[1] for axis in (dots, lines)]
    assert [mark.label for mark in page.marks] == [*drawn[0], *drawn[1]]
