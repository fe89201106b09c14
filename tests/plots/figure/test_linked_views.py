"""Linked views on a page and on paper."""

import base64
import json
from io import BytesIO

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.plots import LinkedViews, Outline, SpotColors, View, draw_figure, to_chart
from geodis.plots.figure.linked_views import camera, spread_order
from geodis.plots.figure.sprite_sheet import as_pictures, sprite_sheet

HOSTILE = "<script>${x}</script>"


def views(places, images=None, **more):
    colors = SpotColors("all", [["#ff0000"] * len(places)], [(HOSTILE, "#ff0000")])
    view = View("a view", HOSTILE, places, **more)
    return LinkedViews("linked", "about", [view], [colors], images, [HOSTILE] * len(places))


def around(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)


def test_page_and_paper_have_the_same_places_and_colours():
    places = around(5)
    data = to_chart(views(places)).data
    drawn = draw_figure(views(places)).collections[0]
    np.testing.assert_allclose(data["views"][0]["places"], places, atol=1e-3)
    np.testing.assert_allclose(drawn.get_offsets(), places[:, :2])
    np.testing.assert_allclose(drawn.get_facecolors()[0, :3], [1, 0, 0])
    assert data["colorings"][0]["colors"] == [["#ff0000"] * 5]
    json.dumps(data, allow_nan=False)


def test_a_surface_is_seen_from_both_sides_on_paper():
    draws = np.random.default_rng(0).standard_normal((200, 3))
    places = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    axis = draw_figure(views(places, turns=True, hides=True))
    front, back = (one.get_offsets() for one in axis.collections)
    assert len(front) == ((places @ camera())[:, 2] >= 0).sum()
    assert len(front) + len(back) == 200
    assert front[:, 0].max() < 0 < back[:, 0].min() + 0.1


def test_a_camera_is_a_rotation():
    eye = camera()
    np.testing.assert_allclose(eye @ eye.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(eye) == pytest.approx(1)


def test_edges_that_are_glued_have_arrows():
    path = np.array([[-1.0, 0, 0], [1.0, 0, 0]])
    figure = views(around(3), outlines=[Outline(path, "edge", 2)])
    from matplotlib.text import Annotation

    found = [text for text in draw_figure(figure).texts if isinstance(text, Annotation)]
    assert len(found) == 2
    assert to_chart(figure).data["views"][0]["outlines"][0]["heads"] == 2


def test_images_that_would_cover_one_another_are_left_out():
    places = np.random.default_rng(0).uniform(-1, 1, (300, 3)) * [1, 1, 0]
    images = np.broadcast_to(np.arange(300)[:, None, None, None] % 256, (300, 8, 8, 3))
    shown = draw_figure(views(places, images.astype(np.uint8))).images
    boxes = np.array([image.get_extent() for image in shown])
    assert 20 < len(boxes) < 80
    for i, (left, right, low, high) in enumerate(boxes):
        others = np.delete(boxes, i, axis=0)
        apart = (others[:, 0] > right) | (others[:, 1] < left)
        assert (apart | (others[:, 2] > high) | (others[:, 3] < low)).all()
        row = int(np.argmin(abs(places[:, 0] - (left + right) / 2)))
        assert (shown[i].get_array() == row % 256).all()


def test_every_image_is_at_its_place_in_the_sheet():
    from PIL import Image

    images = np.arange(70, dtype=np.uint8)[:, None, None].repeat(8, 1).repeat(6, 2)
    sheet = sprite_sheet(as_pictures(images))
    assert (sheet.columns, sheet.width, sheet.height) == (32, 6, 8)
    head, text = sheet.uri.split(",")
    assert head == "data:image/png;base64"
    pixels = np.asarray(Image.open(BytesIO(base64.b64decode(text))))
    assert pixels.shape == (24, 192, 3)
    for number in (0, 31, 32, 69):
        left, top = number % 32 * 6, number // 32 * 8
        assert (pixels[top : top + 8, left : left + 6] == number).all()


def test_large_images_are_made_small():
    sheet = sprite_sheet(np.zeros((3, 200, 100, 3), np.uint8))
    assert (sheet.width, sheet.height) == (32, 64) and len(sheet.uri) < 3000
    many = sprite_sheet(np.zeros((3000, 80, 80, 3), np.uint8))
    assert 3000 * many.width * many.height <= 6_000_000


@pytest.mark.parametrize("images", [np.zeros((3, 4)), np.zeros((3, 4, 4, 2))])
def test_what_is_no_image_is_refused(images):
    with pytest.raises(InputError, match=r"images must have shape .*; got shape"):
        as_pictures(images)


def test_the_beginning_of_an_order_is_an_even_sample():
    places = np.random.default_rng(0).uniform(size=(500, 2))
    order = spread_order(places, 40)
    first = places[order]
    gaps = np.linalg.norm(first[:, None] - first[None], axis=2) + 9 * np.eye(40)
    reach = np.linalg.norm(places[:, None] - first[None], axis=2).min(axis=1)
    assert len(set(order.tolist())) == 40 and gaps.min() >= reach.max()
    assert sorted(spread_order(places[[0, 0, 1]], 9).tolist()) == [0, 1, 2]


def test_one_axis_is_not_enough():
    from geodis.plots import new_axis

    with pytest.raises(InputError, match="make their own axes"):
        draw_figure(views(around(3)), new_axis())
