"""Walks on the page: a strip for every factor, the other factors nearly still."""

import warnings

import numpy as np
import pytest

import geodis as gd
from geodis.report.analysis import ReportSettings
from geodis.report.material import gather_material
from geodis.report.page import render as page
from geodis.report.sections.traversals import WalksSection


@pytest.fixture(scope="module")
def report():
    points = gd.product_manifold("S^2 x S^1", n=1500, rotate=True, random_state=0).points
    images = np.random.default_rng(0).integers(256, size=(1500, 5, 6), dtype=np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gd.report(points, images=images, out=None, verbose=0)


def view(report):
    return next((one for one in page.section_views(report) if one.name == "walks"), None)


def test_every_factor_has_a_strip_that_begins_at_the_same_image(report):
    shown = view(report)
    assert shown.failure == "" and shown.body.count("<h3>") == report.manifold.n_factors_ == 2
    strips = shown.body.split("<h3>")[1:]
    assert [strip.count("data:image/jpeg") for strip in strips] == [9, 9]
    first = [strip.split('src="')[1].split('"')[0] for strip in strips]
    assert first[0] == first[1]


def test_the_images_are_of_rows_whose_other_factor_hardly_moves(report):
    est, made = report.manifold, report.parts["walks"].value
    for walk in made.of:
        moved = [
            np.linalg.norm(places[walk.nearest] - places[made.start], axis=1)
            for places in map(est.coordinates, range(2))
        ]
        assert moved[walk.factor].max() > 1.5  # of a diameter of 2
        assert moved[1 - walk.factor].max() < 0.4
    assert report.to_dict()["walks"]["start"] == made.start


def test_without_images_or_factors_there_are_none_and_it_is_said():
    points = gd.product_manifold("S^2", n=400, random_state=0).points
    assert view(gd.report(points, out=None, verbose=0)) is None
    with_images = gd.report(points, images=np.zeros((400, 3, 3)), out=None, verbose=0)
    assert "need at least two factors" in view(with_images).body


@pytest.mark.parametrize(
    ("shape", "seen"),
    [((9, 4, 5), True), ((9, 4, 5, 1), True), ((9, 4, 5, 3), True), ((9, 4, 5, 7), False)],
)
def test_walks_need_images_that_an_eye_can_see(shape, seen):
    material = gather_material(np.random.default_rng(0).random((9, 2)), None, np.zeros(shape))
    assert (WalksSection().needs(material, ReportSettings()) == "") is seen


def test_walks_need_images():
    material = gather_material(np.random.default_rng(0).random((9, 2)))
    assert WalksSection().needs(material, ReportSettings())
