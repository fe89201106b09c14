"""The cloud of a page shows the points where they are."""

import numpy as np

import geodis as gd
from geodis.plots import point_cloud
from geodis.plots.figure.labels import label


def test_directions_of_a_factor_vanish_in_the_view_of_another():
    sample = gd.product_manifold("S^2 x S^2", 800, random_state=0)
    est = gd.GeoManCER(verbose=0).fit(sample.points)
    data = point_cloud(sample.points, est=est).data
    view = next(view for view in data["views"] if view["name"] == "directions of factor 0")
    own, other = (np.array(line["ends"], float)[[view["x"], view["y"]]] for line in data["lines"])
    assert np.abs(other).max() < 0.1 < np.abs(own).max()
    assert len(data["points"]) == len(data["axes"]) == len(own) or len(own) == 2


def test_many_labels_are_named_beside_the_scale():
    words = np.array([f"kind <{i}>" for i in range(12)])
    factors = gd.Factors(np.arange(120.0)[:, None] % 12, ("kind",), {"kind": tuple(words)})
    cloud = point_cloud(np.random.default_rng(0).normal(size=(120, 2)), factors)
    (color,) = (c for c in cloud.data["colors"] if c["name"] == "kind")
    assert color["names"] == [label(word) for word in words] and "labels" not in color


def test_the_cloud_shows_the_points_where_they_are():
    points = np.random.default_rng(0).normal(size=(50, 4))
    data = point_cloud(points).data
    latent = [axis["name"] for axis in data["axes"]].index("latent 1")
    values = points[:, 1]
    np.testing.assert_allclose(data["points"][latent], values - values.mean(), atol=1e-3)


def test_few_values_have_a_colour_each_in_the_cloud_too():
    factors = gd.Factors(np.arange(40.0)[:, None] % 3, ("<hue>",))
    (color,) = point_cloud(np.eye(40), factors).data["colors"]
    assert color["name"] == "&lt;hue&gt;" and color["labels"] == ["0", "1", "2"]
    assert set(color["values"]) == {0, 1, 2}
