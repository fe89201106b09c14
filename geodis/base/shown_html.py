"""Findings as a small table of HTML, for notebooks: without scripts, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

STYLE = "text-align:left;vertical-align:top;padding:0.1em 1em 0.1em 0"


def findings_html(title: str, rows: Mapping[str, str], notes: Iterable[str] = ()) -> str:
    """A title, what was found by name, and what to doubt.

    Examples
    --------
    >>> print(findings_html("<a>", {"dimension": "3"}, ["mind"]).replace(STYLE, ""))
    <p><strong>&lt;a&gt;</strong></p><table><tr><th style="">dimension</th><td style="">3</td></tr>\
</table><ul><li>mind</li></ul>
    """
    cells = "".join(
        f'<tr><th style="{STYLE}">{escape(name)}</th><td style="{STYLE}">{escape(text)}</td></tr>'
        for name, text in rows.items()
    )
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    table = f"<table>{cells}</table>" if cells else ""
    return f"<p><strong>{escape(title)}</strong></p>{table}" + (
        f"<ul>{items}</ul>" if items else ""
    )
