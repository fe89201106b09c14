"""The search of the documentation works in pages that are opened from disk."""

import os
import shutil
import subprocess
import sys

from tests import ROOT
from tests.test_browser import browser, pytestmark, wait_for

__all__ = ["browser", "pytestmark"]  # a fixture, and the mark that skips without Chromium
DOCS = ROOT / "docs"


def test_words_are_found_without_a_server(browser, tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    shutil.copy(DOCS / "pages" / "search_from_disk.js", pages)
    (pages / "index.md").write_text("# Start\n\nNothing here.\n")
    (pages / "loops.md").write_text("# Loops\n\nWhat holonomy is.\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        "site_name: small\ndocs_dir: pages\nuse_directory_urls: false\nplugins: [search]\n"
        f"hooks: ['{DOCS / 'search_index.py'}']\ntheme: {{name: material, font: false}}\n"
        "extra: {polyfills: [search_from_disk.js]}\n"
    )
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(config)]
    subprocess.run(build, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    browser.get_log("browser")  # what was before is forgotten
    browser.get((tmp_path / "site" / "index.html").as_uri())
    box = browser.find_element("css selector", "input.md-search__input")
    browser.execute_script("arguments[0].focus()", box)
    box.send_keys("holonomy")
    wait_for(browser, "return document.querySelectorAll('.md-search-result__item').length === 1")
    found = browser.find_element("css selector", ".md-search-result__link").get_attribute("href")
    assert "loops.html" in found
    assert browser.get_log("browser") == []


def test_the_documentation_is_built_with_it():
    menu = (DOCS / "mkdocs.yml").read_text(encoding="utf-8")
    assert "search_index.py" in menu and "polyfills: [search_from_disk.js]" in menu
    assert "use_directory_urls: false" in menu
