"""Every block of Python in the documentation runs, page by page, and every link leads somewhere."""

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[1] / "docs" / "pages"
# What the build makes.
MADE = ("figures/", "results/")
WRITTEN = [
    path for path in sorted(PAGES.rglob("*.md"))
    if not {"results"} & set(path.relative_to(PAGES).parts) and path.name != "tables.md"
]  # fmt: skip


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
