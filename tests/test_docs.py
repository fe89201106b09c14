"""Every block of Python in the documentation runs, page by page, and every link leads somewhere."""

import importlib.util
import re

import pytest

from tests import ROOT

PAGES = ROOT / "docs" / "pages"
# What the build makes.
MADE = ("figures/", "results/")
WRITTEN = [
    path
    for path in sorted(PAGES.rglob("*.md"))
    if not {"results"} & set(path.relative_to(PAGES).parts) and path.name != "tables.md"
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


def hook():
    """The module that the build of the documentation calls."""
    spec = importlib.util.spec_from_file_location("figures", PAGES.parent / "figures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(path):
    return str(path.relative_to(PAGES))


@pytest.mark.parametrize("page", WRITTEN, ids=called)
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

    known = {
        (getattr(item.callback, "__name__", "") or "").replace("_", "-")
        for item in cli.app.registered_commands
    }
    used = re.findall(r"(?:`|\.venv/bin/)geodis ([a-z-]+)", page.read_text(encoding="utf-8"))
    assert set(used) <= known


def test_every_page_is_in_the_menu():
    menu = (PAGES.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(called(page) in menu for page in WRITTEN)


def test_names_of_the_api_page_exist():
    from importlib import import_module

    for name in re.findall(r"^::: ([\w.]+)", (PAGES / "api.md").read_text(), re.MULTILINE):
        try:
            import_module(name)
        except ModuleNotFoundError:
            room, _, last = name.rpartition(".")
            assert getattr(import_module(room), last).__doc__, name


def test_the_page_on_scores_says_what_the_analysis_found():
    text = (PAGES / "which_score.md").read_text(encoding="utf-8")
    assert set(re.findall(r"{{ (\w+ \w+) }}", text)) == {*STAY, *FALL}
    fill = hook().fill_numbers
    assert "{{" not in fill(text) and "preset {{ preset }}" in text
    assert all(abs(int(fill(f"{{{{ {name} }}}}"))) < 10 for name in STAY)
    assert all(int(fill(f"{{{{ {name} }}}}")) >= 40 for name in FALL)


def test_every_analysis_with_results_is_on_the_page_of_tables(tmp_path):
    module = hook()
    module.write_tables(tmp_path / "tables.md", tmp_path / "results")
    text = (tmp_path / "tables.md").read_text(encoding="utf-8")
    folders = [path.parent.name for path in module.RESULTS.glob("*/results.md")]
    assert folders
    for name in folders:
        assert f"`python -m analyses.{name}`" in text
        assert (tmp_path / "results" / name / "results.md").exists()
