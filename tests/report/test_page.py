import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis.plots import Axis, Choices, Dots, Panel, Picked
from geodis.plots.figure.labels import label
from geodis.report import SectionFigure
from geodis.report.page import render as page
from geodis.report.page.markup import definitions, render_template
from tests.report.example import HOSTILE, example_report


class Reader(HTMLParser):
    """Elements, attributes and text, as a browser reads them."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.open = [], {}, []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        tag = self.open[-1] if self.open else ""
        self.text[tag] = self.text.get(tag, "") + data


@pytest.fixture(scope="module")
def text():
    return example_report().path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(text):
    reader = Reader()
    reader.feed(text)
    return reader


def drawn(text):
    data = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    assert data is not None
    return {chart["name"]: chart for chart in json.loads(data.group(1))}


def test_the_page_is_one_file_of_at_most_6_mb(text, read):
    assert len(text.encode()) <= 6_000_000
    assert not [a for _, a in read.tags if "src" in a]
    links = [a["href"] for tag, a in read.tags if "href" in a]
    assert all(link.startswith(("#", "data:")) for link in links)
    policy = next(a["content"] for t, a in read.tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy and "form-action 'none'" in policy


def test_text_of_the_user_is_shown_and_never_run(text, read):
    scripts = [attrs for tag, attrs in read.tags if tag == "script"]
    assert len(scripts) == 3  # the data, plotly.js and the page's own
    assert not [tag for tag, _ in read.tags if tag in ("i", "b")]
    assert read.text["title"] == "<i>a title</i>"
    assert HOSTILE in read.text["option"] and HOSTILE in read.text["p"]
    assert "z<.npy" in read.text["code"]


def test_plotly_gets_no_markup_of_the_user(text):
    charts = {name: chart for name, chart in drawn(text).items() if chart["kind"] != "views"}
    body = json.dumps(charts)  # of views the script sets texts as text: test_browser.py looks
    for sign in ("<script", "<b>dot", "${x}", "%{x}'"):
        assert sign not in body.replace("%{x}:", "").replace("%{x} ", "")
    panels = drawn(text)["cloud"]["data"]["panels"]
    hovers = [panel["data"][0]["hovertemplate"] for panel in panels[:3]]
    for hover, name in zip(hovers, (HOSTILE, "size & ${x}", "hue"), strict=True):
        assert hover.startswith(f"{label(name)}: %{{")


def test_names_of_choices_are_text():
    """What a section names its panels, axes and views becomes options, and no element."""
    evil = "<img src=x onerror=alert(1)>"
    panels = [Panel([Dots(Picked("p", "x"), Picked("p", "y"))], title=evil)] * 2
    axes, columns = [Axis(evil), Axis("&lt;b&gt;")], {"p": np.eye(2)}
    choices = Choices("c", evil, panels, axes, columns, asked=evil, views={evil: (0, 1)})
    (figure,), problem = page._shown([SectionFigure("c", lambda: choices, where="page")])
    read = Reader()
    read.feed(str(render_template("figure.html", figure=figure)))
    assert problem == "" and {tag for tag, _ in read.tags} >= {"option", "select"}
    assert not [tag for tag, _ in read.tags if tag in ("img", "b")]
    assert read.text["option"].count(evil) == 5 and evil in read.text["label"]
    assert read.text["option"].count("&lt;b&gt;") == 2  # as it was written
    assert "<img" not in figure.json


def test_all_that_was_promised_is_there(text, read):
    assert set(drawn(text)) == {
        "per_factor",
        "spectrum",
        "maps",
        "cloud",
        "distance_matrices",
        "distance_scatter",
        "distance_correlations",
        "information",
        "importances",
    }
    ids = {attrs.get("id") for _, attrs in read.tags}
    names = ("scores", "manifold", "maps", "points", "distances", "held", "made")
    assert {"warnings", *(f"section-{name}" for name in names)} <= ids
    assert {a["href"] for _, a in read.tags if a.get("href", "").startswith("#")} == {
        f"#section-{name}" for name in names
    }
    assert read.text["h2"].startswith("Scores")
    for attrs in (a for t, a in read.tags if t == "div" and a.get("class") == "chart"):
        assert attrs["aria-label"] and attrs["id"].removeprefix("figure-") in drawn(text)


def test_every_section_says_how_to_read_it_its_source_and_its_python():
    for section in page.section_views(example_report()):
        assert section.about and section.code
        assert section.source or section.name == "made"
        assert not section.failure


@pytest.mark.parametrize("whole", [True, False])
def test_the_lines_of_python_give_the_numbers_of_the_page(tmp_path, capsys, whole):
    """Load, and run the line of every section, as a reader of the page would."""
    rng = np.random.default_rng(0)
    factors = rng.integers(5, size=(150, 3))
    if whole:  # every combination once, in any order
        factors = rng.permutation(np.stack(np.unravel_index(np.arange(125), (5, 5, 5)), axis=1))
    latents = factors + 0.1 * rng.standard_normal(factors.shape)
    np.save(tmp_path / "z.npy", latents)
    np.savetxt(tmp_path / "f.csv", factors, "%d", ",", header="a,b,c", comments="")
    sources = {"latents": f"{tmp_path}/z.npy", "factors": f"{tmp_path}/f.csv"}
    options: dict = {"intervals": 0, "out": None, "verbose": 0}
    report = gd.report(latents, gd.load_factors(sources["factors"]), sources=sources, **options)
    lines = {section.name: section.code for section in page.section_views(report)}
    names: dict = {}
    assert "report = gd.report(latents, factors, intervals=0)" in lines["made"]
    exec(lines["made"].split("report =")[0], names)
    warnings.simplefilter("ignore", UserWarning)  # of pieces; pytest puts the filters back
    for name in ("scores", "manifold", "points", "distances", "held"):  # too few for maps
        exec(lines[name], names)
    assert names["table"]["mig"] == report.scores["mig"]
    assert names["est"].n_factors_ == report.manifold.n_factors_
    assert str(report.distances.correlations) in capsys.readouterr().out
    assert names["grid"].complete is whole


def test_rows_that_were_drawn_are_those_of_the_python_lines():
    latents = np.random.default_rng(0).standard_normal((300, 2))
    report = gd.report(latents, max_points=100, out=None, verbose=0)
    code = page.section_views(report)[-1].code
    assert "report.material.latents" in code and "max_points=100" in code


def test_a_section_that_fails_says_so_in_its_place(monkeypatch):
    def fail(*_):
        raise KeyError("<b>")

    monkeypatch.setattr("geodis.report.sections.points.point_cloud", fail)
    html = page.render_page(example_report())
    assert "Not done: KeyError: &#39;&lt;b&gt;&#39;" in html
    assert 'id="score-table"' in html and "cloud" not in drawn(html)


def test_without_factors_the_page_says_what_they_would_add():
    report = gd.report(np.random.default_rng(0).normal(size=(100, 2)), out=None, verbose=0)
    names = [section.name for section in page.section_views(report)]
    assert names == ["maps", "manifold", "points", "more", "made"]
    assert "every disentanglement score" in page.section_views(report)[3].body


def test_hostile_names_titles_and_files_are_text(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({HOSTILE: rng.integers(3, size=90), "@ink": rng.integers(2, size=90)})
    report = gd.report(
        rng.normal(size=(90, 2)),
        frame,
        dim=1,
        n_factors=1,
        intervals=0,
        out=tmp_path / "<b>out",
        title=HOSTILE,
        sources={"latents": HOSTILE, "factors": "{{ 7 * 7 }}"},
        verbose=0,
    )
    page_text, shown = report.path.read_text(), report._repr_html_()
    for text in (page_text, shown):
        assert HOSTILE not in text
    assert "{{ 7 * 7 }}" in page_text and "&lt;b&gt;out" in shown and "<b>out" not in shown
    plotted = [chart for chart in drawn(page_text).values() if chart["kind"] != "views"]
    assert '"@ink"' not in json.dumps(plotted)  # the page would read a colour


def test_a_template_that_lacks_a_value_says_so():
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="rows"):
        render_template("definitions.html")
    assert definitions({"<a>": "&"}) == "<dl><dt>&lt;a&gt;</dt><dd>&amp;</dd></dl>"
