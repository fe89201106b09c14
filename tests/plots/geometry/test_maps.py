"""Pictures of the maps of a fit."""

import warnings

import numpy as np
import pytest
from matplotlib.colors import to_hex

import geodis as gd
from geodis.base.check import InputError
from geodis.plots import maps_figure, plot_maps

N = 700


@pytest.fixture(scope="module")
def est():
    points = gd.product_manifold("S^2 x S^1", N, random_state=0).points
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return gd.GeoManCER(3, n_factors=2, verbose=0, random_state=0).fit(points)


def test_every_factor_is_drawn_as_what_it_is(est):
    globe, circle = maps_figure(est).views
    assert globe.hides and globe.turns and not circle.turns
    assert np.abs(np.linalg.norm(globe.places, axis=1) - 1).mean() < 0.05
    lengths = np.linalg.norm(circle.places, axis=1)
    np.testing.assert_allclose(lengths, 0.92, rtol=0.05)
    assert globe.title.startswith("Factor 0: ") and circle.title.startswith("Factor 1: ")


def test_places_are_those_of_the_coordinates(est):
    figure = maps_figure(est, n_shown=50)
    rows = [int(text.removeprefix("row ")) for text in figure.told]
    own = est.coordinates(1)[rows]
    places = figure.views[1].places[:, :2]
    np.testing.assert_allclose(
        np.linalg.norm(places[0] - places, axis=1) / 0.92,
        np.linalg.norm(own[0] - own, axis=1) / np.linalg.norm(own, axis=1).mean(),
        atol=0.02,
    )


def test_colours_are_of_the_own_place_or_of_one_factor(est):
    own, first, second = maps_figure(est).colorings
    assert list(own.of_view(0)) == list(first.of_view(0)) == list(first.of_view(1))
    assert list(own.of_view(1)) == list(second.of_view(0)) != list(own.of_view(0))
    assert maps_figure(est, colors=1).colorings[0].colors == second.colors


def test_points_are_coloured_by_anything(est):
    labels = np.array(["a", "b"])[np.arange(N) % 2]
    (one,) = maps_figure(est, colors=labels).colorings
    assert [text for text, _ in one.legend] == ["a", "b"] and len(set(one.colors[0])) == 2
    columns = gd.Factors(np.random.default_rng(0).uniform(size=(N, 2)), ("u", "v"))
    figure = maps_figure(est, colors=columns)
    assert [one.name for one in figure.colorings] == ["u", "v"] and figure.n_on_paper == 2
    assert len(plot_maps(est, colors=columns).figure.axes) == 4
    given = np.full((N, 3), 0.5)
    assert set(maps_figure(est, colors=given).colorings[0].colors[0]) == {to_hex([0.5] * 3)}
    known = maps_figure(est, factors=columns)
    assert [one.name for one in known.colorings][-2:] == ["u", "v"]
    assert known.told[0].startswith("row ") and ", u: " in known.told[0]


def test_images_belong_to_their_rows(est):
    images = (np.arange(N) % 251).astype(np.uint8)[:, None, None].repeat(8, 1).repeat(8, 2)
    figure = maps_figure(est, images=images, n_shown=40)
    rows = np.array([int(text.removeprefix("row ")) for text in figure.told])
    assert (figure.images[:, 0, 0, 0] == rows % 251).all()
    asked = maps_figure(est, images=lambda some: images[some], n_shown=40)
    assert (asked.images == figure.images).all()
    for view in figure.views:
        assert len(view.with_image) > 20 and view.with_image.max() < len(rows)
    axis = plot_maps(est, images=images)
    assert sum(len(one.images) for one in axis.figure.axes) > 20


def test_names_are_titles(est):
    axis = plot_maps(est, names=["shape & $x$", "hue"])
    assert axis.get_title(loc="left") == r"shape & \$x\$"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colors": 2}, "colors must be a factor from 0 to 1, or values; got 2"),
        ({"colors": np.arange(5)}, "colors must have a row for each of the 700 points; got 5"),
        ({"images": np.zeros((5, 4, 4))}, "images must be one for each of the 700 points; got 5"),
        ({"images": 3}, "images must be an array; got 3"),
        ({"names": ["one"]}, "names must have 2 entries, one per factor; got 1"),
        ({"names": "ab"}, "names must be a sequence of 2 strings; got 'ab'"),
    ],
)
def test_bad_input_is_told_in_one_sentence(est, options, message):
    with pytest.raises(InputError, match=message):
        plot_maps(est, **options)


def test_a_summary_says_of_maps_only_where_they_are_made():
    points = gd.product_manifold("S^2", 320, random_state=0).points
    est = gd.GeoManCER(2, n_factors=1, verbose=0, random_state=0).fit(points)
    assert not est.has_maps and "maps:" not in est.summary()
    assert len(est.maps_) == 1
    assert est.has_maps and "maps: factor 0 in 3 coordinates, off by" in est.summary()
