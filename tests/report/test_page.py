import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.plots import Axis, Choices, Dots, Panel, Picked
from geodis.report import Analysis, ReportSettings, SectionFigure, gather_material
from geodis.report.page import render as page
from geodis.report.page.pictures import draw_picture
from geodis.report.page.score_cards import CARDS, definitions, render_template
from geodis.report.sections.scores import ScoresSection
from tests import ROOT
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
    """The charts that scripts draw."""
    data = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.S)
    assert data is not None
    return {chart["name"]: chart for chart in json.loads(data.group(1))}


def test_the_page_is_one_file_of_at_most_2_mb(text, read):
    assert len(text.encode()) <= 2_000_000
    assert all(a["src"].startswith("data:image/") for _, a in read.tags if "src" in a)
    # Nothing is fetched; the cards are followed by who wants them.
    links = [a["href"] for _, a in read.tags if "href" in a]
    own = [link for link in links if not link.startswith(("#", "data:", f"{CARDS}#"))]
    there = example_report().path.parent
    assert own and all((there / link).exists() for link in own)  # results and figures
    assert {tag for tag, a in read.tags if a.get("href", "").startswith("https:")} == {"a"}
    policy = next(a["content"] for t, a in read.tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy and "form-action 'none'" in policy


def test_text_of_the_user_is_shown_and_never_run(text, read):
    scripts = [attrs for tag, attrs in read.tags if tag == "script"]
    assert len(scripts) == 2  # the data, and the page's own
    assert not [tag for tag, _ in read.tags if tag in ("i", "b")]
    assert read.text["title"] == "<i>a title</i>"
    assert HOSTILE in read.text["option"] and HOSTILE in read.text["p"]
    assert "z<.npy" in read.text["code"]


def test_names_of_choices_are_text():
    """What a section names its panels, axes and views becomes options, and no element."""
    evil = "<img src=x onerror=alert(1)>"
    panels = [Panel([Dots(Picked("p", "x"), Picked("p", "y"))], title=evil)] * 2
    axes, columns = [Axis(evil), Axis("&lt;b&gt;")], {"p": np.eye(2)}
    choices = Choices("c", evil, panels, axes, columns, asked=evil, views={evil: (0, 1)})
    figure = draw_picture(SectionFigure("c", lambda: choices, where="page"))
    read = Reader()
    read.feed(str(render_template("figure.html", figure=figure, linked=False)))
    assert {tag for tag, _ in read.tags} >= {"option", "select"}
    assert not [tag for tag, _ in read.tags if tag in ("img", "b")]
    assert read.text["option"].count(evil) == 5 and evil in read.text["label"]
    assert read.text["option"].count("&lt;b&gt;") == 2  # as it was written
    assert "<img" not in page.script_json(figure.chart.data)


def test_all_that_was_promised_is_there(text, read):
    scripted = {"maps", "cloud", "distance_scatter"}
    assert scripted <= set(drawn(text))  # the others need no script
    names = re.findall(r'id="figure-(\w+)"', text)
    assert len(names) == len(set(names)) and set(names) >= ({
        "per_factor",
        "principal_components",
        "spectrum",
        "maps",
        "cloud",
        "distance_matrices",
        "distance_scatter",
        "distance_correlations",
        "information",
        "importances",
    })  # fmt: skip
    ids = {attrs.get("id") for _, attrs in read.tags}
    names = ("scores", "manifold", "maps", "walks", "points", "distances", "held", "made")
    assert {"warnings", *(f"section-{name}" for name in names)} <= ids
    sections = [f"#{attrs['id']}" for tag, attrs in read.tags if tag == "section" and "id" in attrs]
    linked = [a["href"] for _, a in read.tags if a.get("href", "").startswith("#")]
    assert linked == [one for one in sections if one.startswith("#section-")]
    assert read.text["h2"].startswith("A map of each factor")
    charts = [a for t, a in read.tags if t == "div" and "chart" in a.get("class", "").split()]
    drawings = [a for t, a in read.tags if t == "svg" and "aria-hidden" not in a]
    assert len(charts) == len(re.findall(r'id="figure-', text)) == len(drawings) + len(scripted)
    assert all(a["aria-label"] for a in drawings)


def test_every_score_is_linked_to_its_card(read):
    cards = (ROOT / "docs/pages/score_cards.md").read_text(encoding="utf-8")
    headings = {
        re.sub(r"[`*()]", "", line[4:]).replace(" ", "-")
        for line in cards.splitlines()
        if line.startswith("### ")
    }
    linked = [a["href"].split("#") for t, a in read.tags if "score_cards" in a.get("href", "")]
    assert len(linked) > 20 and {place for _, place in linked} <= headings
    assert all(page.endswith("docs/pages/score_cards.md") for page, _ in linked)


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


def test_the_lines_of_python_repeat_groups_and_circles(tmp_path, capsys):
    rng = np.random.default_rng(0)
    turn, point = rng.uniform(0, 360, 400), rng.standard_normal((400, 3))
    point /= np.linalg.norm(point, axis=1)[:, None]
    angle = np.deg2rad(turn)
    latents = np.column_stack([np.cos(angle), np.sin(angle), point])
    np.save(tmp_path / "z.npy", latents)
    table = pd.DataFrame({"turn": turn, "x": point[:, 0], "y": point[:, 1], "z": point[:, 2]})
    table.to_csv(tmp_path / "f.csv", index=False)
    sources = {"latents": f"{tmp_path}/z.npy", "factors": f"{tmp_path}/f.csv"}
    factors = gd.as_factors(
        gd.load_factors(sources["factors"], periods={"turn": 360.0}),
        groups={"direction": ["x", "y", "z"]},
    )
    groups = [[0, 1], [2, 3, 4]]
    options: dict = {"intervals": 0, "out": None, "verbose": 0, "groups": groups, "dim": 3}
    report = gd.report(latents, factors, sources=sources, **options)
    lines = {section.name: section.code for section in page.section_views(report)}
    assert "groups=[[0, 1], [2, 3, 4]]" in lines["scores"]
    assert "gd.report(latents, factors, groups=[[0, 1], [2, 3, 4]], dim=3" in lines["made"]
    names: dict = {}
    exec(lines["made"].split("report =")[0], names)
    warnings.simplefilter("ignore", UserWarning)
    for name in ("scores", "distances"):
        exec(lines[name], names)
    assert names["table"].values_by_name == report.scores.values_by_name
    assert report.scores["block_r2"] > 0.95 and report.scores["grouped_completeness"] > 0.9
    assert str(report.distances.correlations) in capsys.readouterr().out
    assert names["grid"].kinds[0] == "cyclic"
    assert any("is treated separately: direction" in told for told in report.warnings)
    with pytest.raises(InputError, match="lists of latents in a report"):
        gd.report(latents, factors, **{**options, "groups": gd.GeoManCER()})
    with pytest.raises(InputError, match="number them from 0 to 4"):
        gd.report(latents, factors, **{**options, "groups": [[0, 9]]})


def test_scores_of_more_rows_than_are_scored_are_those_of_the_python_lines():
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(10_500, 1))
    latents = factors + 0.5 * rng.standard_normal((10_500, 2))
    material = gather_material(latents, factors, max_points=20_000)
    settings = ReportSettings(max_points=20_000, intervals=0, has_factors=True)
    section, analysis = ScoresSection(), Analysis({}, material, settings)
    code = section.code(analysis)
    assert "report.material.thinned(10000, 0)" in code
    assert len(material.thinned(10_000, 0).rows) == 10_000


def test_rows_that_were_drawn_are_those_of_the_python_lines():
    latents = np.random.default_rng(0).standard_normal((300, 2))
    report = gd.report(latents, max_points=100, out=None, verbose=0)
    code = page.section_views(report)[-1].code
    assert "report.material.latents" in code and "max_points=100" in code


def test_a_section_that_fails_says_so_in_its_place(monkeypatch):
    def fail(*_):
        raise KeyError("<b>")

    monkeypatch.setattr("geodis.report.sections.manifold.point_cloud", fail)
    html = page.render_page(example_report())
    assert "Failed: KeyError: &#39;&lt;b&gt;&#39;" in html
    assert 'id="score-table"' in html and "cloud" not in drawn(html)


def test_without_factors_the_page_says_what_they_would_add():
    report = gd.report(np.random.default_rng(0).normal(size=(100, 2)), out=None, verbose=0)
    views = {section.name: section for section in page.section_views(report)}
    assert {"maps", "manifold", "points"} <= views.keys() and list(views)[-2:] == ["more", "made"]
    assert not {"scores", "distances", "held"} & views.keys()
    assert "all disentanglement scores" in views["more"].body


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


def test_a_template_that_lacks_a_value_says_so():
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="rows"):
        render_template("definitions.html")
    assert definitions({"<a>": "&"}) == "<dl><dt>&lt;a&gt;</dt><dd>&amp;</dd></dl>"


def test_a_panel_is_chosen_where_there_are_several():
    axes = [Axis("a"), Axis("b")]
    dots = Dots(Picked("points", "x"), Picked("points", "y"))
    for count in (1, 2):
        panels = [Panel([dots], title=f"panel {i}") for i in range(count)]
        figure = Choices("p", "points", panels, axes, {"points": np.eye(2)}, y=1)
        picture = draw_picture(SectionFigure("p", lambda figure=figure: figure, where="page"))
        names = [choice.name for choice in picture.choices]
        assert names == ["panel"] * (count > 1) + ["x", "y"]


def test_scores_of_which_less_is_better_are_marked_so(tmp_path):
    report = example_report()
    body = next(one.body for one in page.section_views(report) if one.name == "scores")
    cells = re.findall(r"<tr[^>]*><td>(.*?)</td>", body, re.S)
    named = [re.sub("<[^>]+>", "", cell).split() for cell in cells]
    marked = {name: bool(more) for name, *more in named if name in report.scores.frame.index}
    better = report.scores.frame["better"]
    assert marked == (better == "lower").to_dict() and 0 < sum(marked.values()) < len(marked)
