"""Sections that others add: on the page, in the summary, in the notes and in the results."""

import json
from typing import Any, cast

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.plots import Axis, Dots, Panel, one_panel
from geodis.report import Section, SectionFigure, register_section, registry
from geodis.report.page import section_views
from tests.report.example import HOSTILE


class Norms(Section):
    name, title, place = "norms", "Norms of the latents", 15

    def compute(self, analysis):
        return {"norms": np.linalg.norm(analysis.material.latents, axis=1)}

    def sentence(self, analysis):
        return f"The longest latent has norm {analysis.parts['norms'].value['norms'].max():.2f}."

    def warnings(self, analysis):
        return ["Norms depend on the scale of the latents."]

    def figures(self, analysis):
        norms = analysis.parts["norms"].value["norms"]
        panel = Panel([Dots(range(len(norms)), norms)], Axis("row"), Axis("norm"))
        return [SectionFigure("norms", lambda: one_panel("norms", "norms by row", panel))]

    def body(self, analysis):
        return "A norm is a <b>length</b>."


@pytest.fixture
def added(monkeypatch):
    """Nothing that a test adds stays."""
    sections: dict = {}
    monkeypatch.setattr(registry, "_added", sections)
    return sections


def quick_report(out=None):
    points = np.random.default_rng(0).normal(size=(60, 2))
    return gd.report(points, dim=1, n_factors=1, out=out, verbose=0)


def test_a_section_of_others_is_everywhere(added, tmp_path):
    assert register_section(Norms) is Norms and list(added) == ["norms"]
    report = quick_report(tmp_path)
    longest = np.linalg.norm(report.material.latents, axis=1).max()
    assert report.summary[-1] == f"The longest latent has norm {longest:.2f}."
    assert "Norms depend on the scale of the latents." in report.warnings
    page = report.path.read_text()
    assert '<section id="norms"><h2>Norms of the latents</h2>' in page
    assert "<p>A norm is a &lt;b&gt;length&lt;/b&gt;.</p>" in page and 'id="norms"' in page
    assert report.figures["norms"].exists() and report.figures["norms"].with_suffix(".svg").exists()
    content = json.loads((tmp_path / "results.json").read_text())
    assert (
        max(content["norms"]["norms"]) == pytest.approx(longest) and "norms" in content["seconds"]
    )


def test_it_stands_where_its_place_says(added):
    register_section(Norms)
    names = [view.name for view in section_views(quick_report())]
    assert names == ["norms", "manifold", "points", "more", "made"]


def test_one_that_fails_says_so_and_leaves_the_rest(added, tmp_path):
    class Failing(Norms):
        def compute(self, analysis):
            raise ValueError(HOSTILE)

        def sentence(self, analysis):
            return ""

        def figures(self, analysis):
            raise KeyError("no ink")

    register_section(Failing)
    report = quick_report(tmp_path)
    assert f"Norms of the latents: not done. ValueError: {HOSTILE}" in report.warnings
    assert "The figures of norms could not be drawn: 'no ink'" in report.warnings
    assert report.manifold is not None and "points" not in report.figures
    page = report.path.read_text()
    assert HOSTILE not in page and "Not done: KeyError: &#39;no ink&#39;" in page
    content = json.loads((tmp_path / "results.json").read_text())
    assert content["norms"] is None and "norms" in content["failures"]


def test_one_that_needs_more_than_was_given_is_left_out(added):
    class Needing(Norms):
        def needs(self, material, settings):
            return "" if settings.has_images else "Norms need images."

        def sentence(self, analysis):
            return ""

    register_section(Needing)
    report = quick_report()
    assert not report.parts["norms"].applies and report.parts["norms"].value is None
    assert "norms" not in [view.name for view in section_views(report)]
    assert not any("Norms need images" in text for text in report.warnings)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scores", "must be none of .*scores.*; got 'scores'"),
        ("summary", "got 'summary'"),
        ("<b>", "lower-case letters, digits and '_', and begin with a letter; got '<b>'"),
        ("", "lower-case letters"),
    ],
)
def test_names_are_free_and_plain(added, name, message):
    with pytest.raises(InputError, match=message):
        register_section(type("Other", (Section,), {"name": name, "title": "Other"}))


def test_a_name_is_taken_once_and_only_sections_are_added(added):
    register_section(Norms)
    with pytest.raises(InputError, match="got 'norms'"):
        register_section(Norms)
    with pytest.raises(InputError, match="subclass of Section; got 5"):
        register_section(cast(Any, 5))
