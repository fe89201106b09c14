"""The pages of the gallery run, are turned into notebooks, and stop a build that would be wrong."""

import importlib
import json
import re

import pytest

from tests import ROOT

DOCS = ROOT / "docs"
PAGES = sorted((DOCS / "pages" / "gallery").glob("[0-9]*.md"))
# In their quick form still seconds: they train models, or fit many times.
SLOW = ("02_your_vae", "06_images", "09_comparing_models", "10_when_it_fails")


@pytest.fixture(scope="module", autouse=True)
def docs_on_the_path():
    """Hooks import each other as MkDocs lets them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        yield


def page_of(path):
    return importlib.import_module("executed_page").Page(path)


def written(tmp_path, text):
    path = tmp_path / "gallery" / "page.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return page_of(path)


def of_speed(path):
    return pytest.param(path, id=path.stem, marks=[pytest.mark.long] * (path.stem in SLOW))


def test_there_are_ten_pages():
    assert [path.stem[:2] for path in PAGES] == [f"{number:02}" for number in range(1, 11)]


@pytest.mark.parametrize("path", [of_speed(path) for path in PAGES])
def test_pages_run_in_their_quick_form(path):
    page = page_of(path)
    outputs = page.run(quick=True)
    assert len(outputs) == len(page.blocks)
    for block, output in zip(page.blocks, outputs, strict=True):
        assert bool(output.suffix) == bool(block.picture)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_the_quick_form_replaces_is_there(path):
    page = page_of(path)
    code = "".join(block.code for block in page.blocks)
    assert page.quick and all(long in code for long, _ in page.quick)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_notebooks_are_the_pages(path):
    module = importlib.import_module("executed_page")
    page = page_of(path)
    book = json.loads(module.as_notebook(page, None))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    cells = book["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.code.rstrip("\n") for block in page.blocks]
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert text.startswith("# ") and "<!--" not in text and page.title in text
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and all(link.startswith("https://") for link in links)
    for link in links:
        inside = link.removeprefix(module.REPOSITORY + "/").partition("#")[0]
        made = inside.startswith(("results/", "api/", "https://"))
        assert made or (DOCS / "pages" / inside).exists(), link


def test_what_is_printed_given_drawn_and_warned_of_is_shown(tmp_path):
    page = written(
        tmp_path,
        "# T\n\ntext\n\n```python\nimport warnings\nprint('said')\nwarnings.warn('beware')\n1 + 1\n"
        "```\n\nmore <b>\n\n```python\nfrom geodis.plots import new_axis\n\nnew_axis()\n```\n"
        "<!-- picture: an empty\naxis -->\n\nend\n",
    )
    outputs = page.run()
    assert outputs[0].text == "said\nUserWarning: beware\n2"
    assert outputs[1].suffix == "svg" and b"<svg" in outputs[1].figure
    module = importlib.import_module("executed_page")
    text = module.as_markdown(page, outputs, "figures", "page.ipynb")
    assert "![an empty axis](figures/1.svg)" in text and "<!--" not in text
    assert text.index("said") < text.index("more <b>") < text.index("figures/1.svg")
    shown = json.loads(module.as_notebook(page, outputs))["cells"]
    assert shown[1]["outputs"][0]["text"] == "said\nUserWarning: beware\n2\n"
    assert "image/svg+xml" in shown[3]["outputs"][0]["data"]


@pytest.mark.parametrize(
    ("code", "note", "message"),
    [
        ("1 / 0", "", "page.md, block 1:\n1 / 0"),
        ("x = 1", "<!-- holds: x == 2 -->", "no longer holds: x == 2"),
        ("from geodis.plots import new_axis\nnew_axis()", "", "a picture needs text"),
    ],
)
def test_a_page_that_is_wrong_stops_the_build(tmp_path, code, note, message):
    page = written(tmp_path, f"# T\n\n```python\n{code}\n```\n{note}\n")
    with pytest.raises((RuntimeError, AssertionError, ValueError), match=re.escape(message)):
        page.run()


def test_a_page_is_run_again_when_its_text_changes_and_not_otherwise(tmp_path, monkeypatch):
    gallery = importlib.import_module("gallery")
    monkeypatch.setattr(gallery, "PAGES", tmp_path)
    monkeypatch.setattr(gallery, "MADE", tmp_path / "made")
    monkeypatch.setattr(gallery, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(gallery, "FOLDERS", ("gallery",))
    count = tmp_path / "count"
    text = f"# T\n\n```python\nprint('run', file=open({str(count)!r}, 'a'))\nprint('{{}}')\n```\n"
    for wanted, runs in (("one", 1), ("one", 1), ("two", 2)):
        path = written(tmp_path, text.format(wanted)).path
        gallery.on_pre_build(None)
        assert gallery.made(path)[0].text == wanted
        assert count.read_text().count("run") == runs
    assert "two" in (tmp_path / "notebooks" / "page.ipynb").read_text()


@pytest.mark.long
def test_pictures_of_how_it_works_are_drawn(tmp_path):
    importlib.import_module("how_pictures").draw_all(tmp_path, n=300)
    drawn = {path.name for path in tmp_path.iterdir()}
    used = re.findall(r"figures/how/([\w.]+)", (DOCS / "pages" / "how_it_works.md").read_text())
    assert drawn == set(used)


def test_tables_taken_from_results_are_whole():
    tables = importlib.import_module("measured_tables")
    text = (DOCS / "pages" / "other_tools.md").read_text(encoding="utf-8")
    asked = tables.MARKED.findall(text)
    assert len(asked) >= 6
    for _, wanted, _ in asked:
        lines = tables.chosen(wanted).splitlines()
        assert len(lines) > 3 and len({line.count("|") for line in lines}) == 1
    with pytest.raises(ValueError, match=r"No table of maps\.md has the columns"):
        tables.chosen("benchmarks/results/maps.md | method | a column that is not there")


def test_every_paper_that_the_package_names_is_on_the_page_of_citations():
    citations = importlib.import_module("citations")
    known = set(citations.papers())
    assert set(citations.uses()) <= known, "add to docs/citations.bib what is missing"
    assert "chen2018" in known and len(known) > 60
    page = citations.citations_page()
    assert all(f"@misc{{{key}," in page for key in known)
    assert "S. Racanière" in page  # accents are letters in the list
    for told in citations.fields().values():
        if "usedin" in told:
            path = ROOT / "geodis" / told["usedin"].replace(".", "/")
            assert path.is_dir() or path.with_suffix(".py").exists(), told["usedin"]
