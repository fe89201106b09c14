"""A page before its reader's eyes: in a notebook, or in a browser."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path

from geodis.base.check import check_int
from geodis.base.progress import in_notebook


def show_page(path: Path | None, make: Callable[[], str], height: int = 900) -> None:
    """Show a page that was written, or make it now.

    Parameters
    ----------
    path : Path or None
    make : callable
        Returns the text of the page, where it is no file or a notebook asks for it.
    height : int
        In pixels, in a notebook; a browser takes its window.
    """
    height = check_int(height, "height", low=100)
    there = path is not None and path.exists()
    if in_notebook():
        from IPython.display import display

        text = path.read_text(encoding="utf-8") if path is not None and there else make()
        display({"text/html": page_frame(text, height)}, raw=True)
        return
    if path is None or not there:
        with tempfile.NamedTemporaryFile(
            "w", suffix=".html", prefix="geodis-", delete=False, encoding="utf-8",
            errors="xmlcharrefreplace",
        ) as file:  # fmt: skip
            file.write(make())
        path = Path(file.name)
    webbrowser.open(path.resolve().as_uri())


def page_frame(text: str, height: int) -> str:
    """A page within a page, which can do nothing outside of itself.

    Examples
    --------
    >>> print(page_frame('<p class="a">', 100))
    <iframe sandbox="allow-scripts" style="width:100%;height:100px;border:0" \
srcdoc="&lt;p class=&quot;a&quot;&gt;"></iframe>
    """
    style = f"width:100%;height:{height}px;border:0"
    return (
        f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(text, quote=True)}">'
        "</iframe>"
    )
