"""Search from disk: the index as a script, because browsers read no other file from there.

A hook of MkDocs. `pages/search_from_disk.js` does the rest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_post_build(config: Any) -> None:
    """Write the index where the theme looks for it in pages that are opened from disk."""
    write_script(Path(config["site_dir"]) / "search" / "search_index.json")


on_post_build.mkdocs_priority = -100  # type: ignore[attr-defined]  # after the index is there


def write_script(index: Path) -> None:
    """Make a script of the index."""
    text = index.read_text(encoding="utf-8")
    index.with_suffix(".js").write_text(f"var __index = {text}", encoding="utf-8")
