"""The maps on the page: made once, escaped, and never in the way of the rest."""

import re
import warnings

import numpy as np
import pytest

import geodis as gd
from geodis.report.page import render as page
from tests.report.example import HOSTILE, example_report


@pytest.fixture(scope="module")
def view():
    return next(one for one in page.section_views(example_report()) if one.name == "maps")


def shown(view):
    return view.figures[0].chart.data


def test_every_factor_has_its_map(view):
    est = example_report().manifold
    data = shown(view)
    assert len(data["views"]) == est.n_factors_
    assert [one["title"].partition(":")[0] for one in data["views"]] == [
        f"Factor {j}" for j in range(est.n_factors_)
    ]
    assert "Steps on the map differ by" in view.body
    assert (example_report().path.parent / "figures" / "maps.svg").exists()


def test_dots_have_their_images_and_what_is_known_of_them(view):
    data = shown(view)
    assert data["sheet"]["uri"].startswith("data:image/")
    n = len(data["told"])
    assert all(len(one["places"]) == n for one in data["views"])
    assert data["shown"] == [n, len(example_report().factorised.rows)]
    assert HOSTILE in data["told"][0] and HOSTILE in [one["name"] for one in data["colorings"]]
    assert "<script" not in page.script_json(data)


def test_controls_are_no_picture():
    html = example_report().path.read_text(encoding="utf-8")
    assert re.search(r'id="figure-maps" role="group"', html)


def test_results_have_what_is_said_of_the_maps():
    (kept, *_) = example_report().to_dict()["maps"]["of"]
    assert {"title", "name", "dim", "n_coordinates", "residual"} <= set(kept)


def test_maps_are_made_once(monkeypatch):
    from geodis.manifold.maps import maps_of_fit as mapped_factors

    made = []
    real = mapped_factors.factor_maps

    def counted(*arguments, **options):
        made.append(1)
        return real(*arguments, **options)

    monkeypatch.setattr(mapped_factors, "factor_maps", counted)
    points = gd.product_manifold("S^1", 350, random_state=0).points
    report = gd.report(points, dim=1, out=None, verbose=0)
    page.section_views(report)
    assert len(made) == 1


@pytest.mark.parametrize(
    ("n", "options", "said"),
    [
        (200, {"dim": 2}, "A map of a factor needs at least 300 points"),
        (400, {"dim": 4}, "the points were not split into factors"),
    ],
)
def test_what_has_no_maps_says_why(n, options, said):
    points = gd.product_manifold("S^2", n, random_state=0).points
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        report = gd.report(points, out=None, verbose=0, **options)
    (view,) = (one for one in page.section_views(report) if one.name == "maps")
    assert "There are no maps: " in view.body and said in view.body
    assert view.failure == "" and view.figures == ()


def test_a_page_opens_in_plain_words(tmp_path):
    sample = gd.product_manifold("S^2 x S^1", 700, random_state=0)
    made = gd.report(sample.points, out=tmp_path, verbose=0)
    html = made.path.read_text(encoding="utf-8")
    first = html[html.index('<div class="summary">') :].split("</p>")[0]
    assert "The rows vary in 2 independent factors: a " in first
    assert first.rstrip().endswith("a circle of radius 1.0 (factor 1).</strong>")


def test_rows_on_no_map_are_told_of():
    circle = gd.product_manifold("S^1", 500, random_state=0).points
    far = np.vstack([circle, 0.1 * circle[:60] + 9, circle[:2] - 40])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        report = gd.report(far, dim=1, out=None, verbose=0)
    (view,) = (one for one in page.section_views(report) if one.name == "maps")
    assert "On no map: 2 rows" in view.body and "which are outliers" in view.body
    assert "form 2 disconnected groups" in view.body
    kept = report.to_dict()["maps"]
    assert (kept["n_outliers"], kept["n_elsewhere"], kept["n_pieces"]) == (2, 0, 2)
    whole = gd.report(circle, dim=1, out=None, verbose=0)
    (view,) = (one for one in page.section_views(whole) if one.name == "maps")
    assert "On no map" not in view.body and "groups that nothing" not in view.body


def test_an_image_of_every_shape_can_be_shown():
    rng = np.random.default_rng(0)
    points = gd.product_manifold("S^1", 300, random_state=0).points
    for images in (rng.uniform(size=(300, 4, 5)), rng.integers(256, size=(300, 4, 5, 4))):
        given = images if images.dtype == float else images.astype(np.uint8)
        report = gd.report(points, images=given, dim=1, out=None, verbose=0)
        (view,) = (one for one in page.section_views(report) if one.name == "maps")
        assert view.failure == "" and shown(view)["sheet"]["width"] == 5


def test_images_that_no_eye_can_see_are_left_out():
    points = gd.product_manifold("S^1", 300, random_state=0).points
    report = gd.report(points, images=np.zeros((300, 4, 4, 2)), dim=1, out=None, verbose=0)
    (view,) = (one for one in page.section_views(report) if one.name == "maps")
    assert view.failure == "" and shown(view)["sheet"] is None


def test_given_factors_stand_beside_the_maps():
    sample = gd.product_manifold("S^2 x S^1", 700, random_state=0)
    given = gd.as_factors({"<height>": sample.points[:, 2], "side": sample.points[:, 3]})
    page = gd.report(sample.points, given, intervals=0, verbose=0)
    height, side = page.parts["maps"].value.given
    assert (height.found, side.found) == (0, 1) and min(height.told, side.told) > 0.99
    kept = page.to_dict()["maps"]["given"]
    assert kept[0]["coordinate"] == "factor0_sphere_z"
