"""Every block of Python in the documentation runs, page by page, and every link leads somewhere."""

import importlib.util
import inspect
import re
from importlib import import_module
from typing import get_args

import pytest

from geodis.manifold.doubts import Kind, doubt_kinds
from geodis.scores.registry import entries
from tests import ROOT

PAGES = ROOT / "docs" / "pages"
# What the build makes.
MADE = ("figures/", "results/", "api/", "notebooks/")
WRITTEN = [
    path
    for path in sorted(PAGES.rglob("*.md"))
    if not {"results", "api"} & set(path.relative_to(PAGES).parts) and path.name != "tables.md"
]


# What the page on scores says of defects: these scores stay, or fall.
STAY = (
    "explicitness rotated",
    "informativeness_r2 rotated",
    "linearity_ratio rotated",
    "modularity noisy",
    "beta_vae mixed",
    "dci_disentanglement circular",
)
FALL = (
    "dci_disentanglement rotated",
    "axis_ratio rotated",
    "mig rotated",
    "dci_completeness rotated",
    "explicitness missing",
    "informativeness_r2 missing",
    "distance_correlation scaled",
    "mig noisy",
    "mig duplicated",
    "sap duplicated",
    "modularity collapsed",
    "mig_sup collapsed",
    "mig circular",
)


def hook(name):
    """A module that the build of the documentation calls."""
    spec = importlib.util.spec_from_file_location(name, PAGES.parent / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Simulated recordings are fitted: the long tests run it.
SLOW = ("recordings",)


def called(path):
    return str(path.relative_to(PAGES))


def runs_elsewhere(page):
    """What the page on extending registers must not stay here: test_extending.py runs it.

    Pages of the gallery have a quick form: test_gallery.py runs them.
    """
    return page.stem == "extending" or page.parent.name == "gallery"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=called(page), marks=[pytest.mark.long] * (page.stem in SLOW))
        for page in WRITTEN
        if not runs_elsewhere(page)
    ],
)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, called(page), "exec"), names)


@pytest.mark.parametrize("page", WRITTEN, ids=called)
def test_links_lead_to_pages_or_to_what_the_build_makes(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        made = any(part in target for part in MADE)
        assert made or target.startswith("https://") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", WRITTEN, ids=called)
def test_commands_exist(page):
    from geodis import cli

    known = {command.name for command in cli.app.registered_commands}
    used = re.findall(r"(?:`|\.venv/bin/)geodis ([a-z-]+)", page.read_text(encoding="utf-8"))
    assert set(used) <= known


def test_every_page_is_in_the_menu():
    menu = (PAGES.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(called(page) in menu for page in WRITTEN)


ROOMS = hook("api_pages").rooms()
EXPORTS = [export for exports in ROOMS.values() for export in exports]


STUBS = sorted((ROOT / "geodis").rglob("__init__.pyi"))


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_every_public_name_of_a_room_is_on_the_api_pages(stub):
    module = import_module(".".join(stub.parent.relative_to(ROOT).parts))
    assert module.__all__
    listed = {export.name for export in EXPORTS}
    assert set(module.__all__) - listed <= {*ROOMS, "__version__"}


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.path)
def test_what_the_api_pages_show_exists_and_is_documented(export):
    if export.is_module:
        assert import_module(export.path).__doc__
        return
    value = getattr(import_module(export.module), export.name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__ and value.__module__ == export.module
    assert hook("api_pages").first_line(export)


def test_api_pages_are_written_one_a_room_and_a_room_that_is_gone_has_none(tmp_path):
    (tmp_path / "annex.md").write_text("a room that was here once")
    hook("api_pages").write_pages(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(ROOMS)
    for room, exports in ROOMS.items():
        page = (tmp_path / f"{room}.md").read_text(encoding="utf-8")
        assert re.findall(r"^::: (.+)", page, re.MULTILINE) == [export.path for export in exports]
    assert "::: geodis.scores.information.mig.mig\n" in (tmp_path / "scores.md").read_text()


def test_what_users_are_told_to_import_is_on_the_api_pages():
    listed = {export.name for export in EXPORTS} | set(ROOMS)
    told = {"InputError", "whole_file", "write_json", "Stages"}  # said in the text
    for page in WRITTEN:
        for names in re.findall(r"^from geodis.*? import (.+)", page.read_text(), re.MULTILINE):
            told |= {name.strip() for name in names.split(",")}
    assert "register_command" in told and told <= listed


def test_every_room_is_in_the_menu_and_in_the_list_of_rooms():
    menu = (PAGES.parent / "mkdocs.yml").read_text(encoding="utf-8")
    for text in (menu, (PAGES / "api.md").read_text(encoding="utf-8")):
        assert set(re.findall(r"\bapi/(\w+)\.md", text)) == set(ROOMS)


def test_the_page_on_scores_says_what_the_analysis_found():
    text = (PAGES / "which_score.md").read_text(encoding="utf-8")
    assert set(re.findall(r"{{ (\w+ \w+) }}", text)) == {*STAY, *FALL}
    fill = hook("figures").fill_numbers
    assert "{{" not in fill(text) and "preset {{ preset }}" in text
    assert all(abs(int(fill(f"{{{{ {name} }}}}"))) < 10 for name in STAY)
    assert all(int(fill(f"{{{{ {name} }}}}")) >= 40 for name in FALL)


def test_the_cards_of_the_scores_are_those_beside_their_registration(tmp_path):
    module = hook("score_cards")
    module.write_cards(tmp_path / "cards.md")
    text = (tmp_path / "cards.md").read_text(encoding="utf-8")
    for entry in entries():
        assert text.count(f"### `{entry.name}`") == 1
        assert entry.card.blind in text


def test_every_doubt_is_on_the_page_of_doubts():
    module = hook("doubts_page")
    text = module.PAGE.read_text(encoding="utf-8")
    assert text == module.doubts_page(), "behind: run python docs/doubts_page.py"
    for of in doubt_kinds().values():
        assert f"### `{of.code}`" in text and of.why in text


def test_every_kind_of_doubt_has_a_picture(tmp_path):
    module = hook("doubts_page")
    module.draw_all(tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == set(re.findall(r"figures/doubts/([\w.]+)", module.doubts_page()))
    assert drawn == {f"{module.picture_name(kind)}.png" for kind in get_args(Kind)}


def test_every_analysis_with_results_is_on_the_page_of_tables(tmp_path):
    module = hook("figures")
    module.write_tables(tmp_path / "tables.md", tmp_path / "results")
    text = (tmp_path / "tables.md").read_text(encoding="utf-8")
    folders = [path.parent.name for path in module.RESULTS.glob("*/results.md")]
    assert folders
    for name in folders:
        assert f"`python -m analyses.{name}`" in text
        assert (tmp_path / "results" / name / "results.md").exists()
