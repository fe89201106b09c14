"""Sections that others add: on the page, in the summary, in the notes and in the results."""

import json
import re
import sys
from typing import Any, cast

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.plots import Axis, Choices, Dots, Panel, one_panel
from geodis.report import Section, SectionFigure, register_section, unregister_section
from geodis.report.page.render import section_views
from geodis.report.registry import all_sections
from tests.report.example import HOSTILE


class Norms(Section):
    name, title = "norms", "Norms of the latents"

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
def added():
    """Nothing that a test adds stays."""
    before = {section.name for section in all_sections()}

    def names():
        return [section.name for section in all_sections() if section.name not in before]

    yield names
    for name in names():
        unregister_section(name)


def quick_report(out=None):
    points = np.random.default_rng(0).normal(size=(60, 2))
    return gd.report(points, dim=1, n_factors=1, out=out, verbose=0)


def test_a_section_of_others_is_everywhere(added, tmp_path):
    assert register_section(Norms) is Norms and added() == ["norms"]
    report = quick_report(tmp_path)
    longest = np.linalg.norm(report.material.latents, axis=1).max()
    assert report.summary[-1] == f"The longest latent has norm {longest:.2f}."
    assert "Norms depend on the scale of the latents." in report.warnings
    page = report.path.read_text()
    assert '<section id="section-norms"><h2>Norms of the latents</h2>' in page
    assert "<p>A norm is a &lt;b&gt;length&lt;/b&gt;.</p>" in page and 'id="figure-norms"' in page
    assert '<a href="#section-norms">' in page
    assert report.figures["norms"].read_text().startswith("<svg")
    content = json.loads((tmp_path / "results.json").read_text())
    assert (
        max(content["norms"]["norms"]) == pytest.approx(longest) and "norms" in content["seconds"]
    )


def test_it_stands_after_those_of_geodis_and_before_how_the_report_was_made(added):
    register_section(Norms)
    names = [view.name for view in section_views(quick_report())]
    assert names[:2] == ["maps", "manifold"] and names[-3:] == ["norms", "more", "made"]


def test_what_a_section_reads_is_computed_before_it(added):
    order = []

    class First(Norms):
        reads = ("second", "unknown", "first")
        name = "first"

        def compute(self, analysis):
            order.append(self.name)
            return {"norms": np.zeros(2)}

    class Second(First):
        name, reads = "second", ("manifold",)

    for section in (First, Second):
        register_section(section)
    report = quick_report()
    assert order == ["second", "first"] and list(report.parts)[:3] == [
        *("inspection", "manifold", "maps")
    ]


def test_a_section_may_have_results_and_no_place_on_the_page(added):
    register_section(type("Hidden", (Norms,), {"on_page": False}))
    report = quick_report()
    assert "norms" not in [view.name for view in section_views(report)]
    assert "norms" in report.to_dict() and "The longest latent" in report.summary[-1]


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
    assert f"Norms of the latents: failed. ValueError: {HOSTILE}" in report.warnings
    assert "The figures of norms could not be drawn: KeyError: 'no ink'" in report.warnings
    assert report.manifold is not None and "norms" not in report.figures
    page = report.path.read_text()
    assert HOSTILE not in page and "Failed: ValueError: &lt;script&gt;document" in page
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


def test_a_section_goes_again(added):
    register_section(Norms)
    unregister_section("norms")
    assert added() == []
    for name in ("norms", "scores"):
        with pytest.raises(InputError, match=f"of a registered section; got '{name}'"):
            unregister_section(name)


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("reads", "manifold", "reads must be names of sections; got 'manifold'"),
        ("reads", (5,), r"names of sections; got \(5,\)"),
        ("title", 5, "title of a section must be text; got 5"),
        ("title", "", "title of a section must not be empty"),
        ("about", None, "about of a section must be text; got None"),
        ("source", 2022, "source of a section must be text; got 2022"),
        ("name", 5, "lower-case letters.*got 5"),
    ],
)
def test_attributes_are_checked_before_any_work(added, attribute, value, message):
    with pytest.raises(InputError, match=message):
        register_section(type("Other", (Norms,), {attribute: value}))
    assert added() == []


SPOKEN = {
    "sentence": "its sentence of the summary",
    "warnings": "its warnings",
    "notes": "its notes",
    "to_dict": "its entry in results.json",
    "expected_seconds": "its run time",
}


def check_the_rest(report, out):
    """Results and page are written, and hold what others have said."""
    content = json.loads((out / "results.json").read_text())
    assert content["inspection"]["n"] == 60 and tuple(content["warnings"]) == report.warnings
    page = (out / "index.html").read_text()
    assert '<section id="section-manifold">' in page and "figure-cloud" in page
    return content, page


@pytest.mark.parametrize("computes", [True, False])
@pytest.mark.parametrize(
    "hook", [*SPOKEN, "needs", "compute", "figures", "failure", "body", "code"]
)
def test_whatever_raises_the_rest_goes_on(added, tmp_path, hook, computes):
    def fail(*_):
        raise OSError("no <b>luck</b>")

    kind = Norms if computes else Section
    if hook == "expected_seconds" and not computes:
        return  # it is never asked
    register_section(
        type("Other", (kind,), {"name": "norms", "title": "Norms of the latents", hook: fail})
    )
    report = quick_report(tmp_path)
    content, page = check_the_rest(report, tmp_path)
    if hook in SPOKEN:
        said = (
            f"Norms of the latents: could not determine {SPOKEN[hook]} (OSError: no <b>luck</b>)."
        )
        assert said in report.warnings
    elif hook == "figures":
        said = "The figures of norms could not be drawn: OSError: no <b>luck</b>"
        assert said in report.warnings
    elif hook in ("needs", "compute") and "norms" in report.parts:
        assert report.parts["norms"].failure == "OSError: no <b>luck</b>"
        assert "Norms of the latents: failed. OSError: no <b>luck</b>" in report.warnings
        assert content["failures"]["norms"] == "OSError: no <b>luck</b>"
        assert not any("could not determine" in text for text in report.warnings)
    if hook not in SPOKEN:
        assert "Failed: OSError: no &lt;b&gt;luck" in page
    if hook == "to_dict":
        assert content.get("norms") is None


@pytest.mark.parametrize(
    ("hook", "value", "message"),
    [
        ("needs", 5, "failed. It must be text; got 5"),
        ("expected_seconds", float("nan"), "0 or more; got nan"),
        ("expected_seconds", "long", "TypeError"),
        ("sentence", None, "It must be text; got None"),
        ("warnings", "letters", "a sequence of texts; got the text 'letters'"),
        ("notes", [5], "It must be text; got 5"),
        ("to_dict", {1, 2}, "not JSON serializable"),
        ("figures", ["norms"], "sequence of SectionFigure; got 'norms'"),
    ],
)
def test_whatever_it_returns_the_rest_goes_on(added, tmp_path, hook, value, message):
    register_section(type("Other", (Norms,), {hook: lambda *_: value}))
    report = quick_report(tmp_path)
    check_the_rest(report, tmp_path)
    assert any(message in text for text in report.warnings)


@pytest.mark.parametrize("hook", ["compute", "sentence", "needs", "body"])
def test_one_that_ends_the_program_does_not(added, tmp_path, hook):
    def leave(*_):
        sys.exit("bye")

    register_section(type("Other", (Norms,), {hook: leave}))
    report = quick_report(tmp_path)
    _, page = check_the_rest(report, tmp_path)
    assert any("SystemExit: bye" in text for text in (*report.warnings, page))


def test_a_value_that_json_cannot_hold_is_a_note(added, tmp_path):
    register_section(type("Other", (Section,), {**PLAIN, "compute": lambda *_: object()}))
    report = quick_report(tmp_path)
    content, _ = check_the_rest(report, tmp_path)
    assert content["norms"] is None
    assert any(
        "could not determine its entry in results.json (TypeError" in text
        for text in report.warnings
    )


PLAIN = {"name": "norms", "title": "Norms of the latents"}


def figure(name, values=(1.0, 2.0)):
    panel = Panel([Dots(range(len(values)), values)])
    return SectionFigure(name, lambda: one_panel("any", "some dots", panel))


@pytest.mark.parametrize("name", ["../../evil", "cloud", "a-controls", "Évil", "", "a b", 5])
def test_names_of_figures_are_words_of_their_own(added, tmp_path, name):
    figures = [figure("fine"), figure(name), figure("fine")]
    register_section(type("Other", (Section,), {**PLAIN, "figures": lambda *_: figures}))
    out = tmp_path / "deep" / "report"
    report = quick_report(out)
    _, page = check_the_rest(report, out)
    refused = [text for text in report.warnings if "A figure of norms was left out" in text]
    assert len(refused) == 2 and repr(name) in refused[0] and "got 'fine'" in refused[1]
    assert page.count('id="figure-fine"') == page.count('id="figure-cloud"') == 1
    assert {file.name for file in tmp_path.rglob("*") if "evil" in file.name} == set()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep"]
    assert report.figures["fine"].parent == out / "figures"


def test_no_section_or_figure_takes_an_id_of_the_page(added, tmp_path):
    for name in ("charts", "theme", "score_table"):
        own = {"name": name, "title": "T", "figures": lambda *_, name=name: [figure(name)]}
        register_section(type("Other", (Section,), own))
    page = quick_report(tmp_path).path.read_text()
    ids = re.findall(r'<[^>]* id="([^"]*)"', page.split("<script>")[0])
    assert len(ids) == len(set(ids)) and {"theme", "charts", "section-theme"} <= set(ids)
    assert {"figure-charts", "section-charts", "figure-theme", "controls-cloud"} <= set(ids)


def test_a_figure_that_is_no_json_leaves_the_others(added, tmp_path):
    chart = Choices("x", "odd data", [Panel()], [Axis("a")], {"points": cast(Any, object())})
    figures = [SectionFigure("odd", lambda: chart, where="page"), figure("fine")]
    register_section(type("Other", (Section,), {**PLAIN, "figures": lambda *_: figures}))
    _, page = check_the_rest(quick_report(tmp_path), tmp_path)
    assert "figure-odd" not in page and "figure-fine" in page
    assert "Failed: TypeError" in page


def test_half_a_character_does_not_cost_the_page(added, tmp_path):
    register_section(type("Other", (Section,), {**PLAIN, "sentence": lambda *_: "a \ud800"}))
    _, page = check_the_rest(quick_report(tmp_path), tmp_path)
    assert "a \N{REPLACEMENT CHARACTER}" in page
