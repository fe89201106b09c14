"""Numbers and lists formatted for sentences, tables and notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

# Control characters except tab and line feed, lone surrogates, and Unicode noncharacters.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: object) -> str:
    r"""Replace characters that could control a terminal or break XML.

    Examples
    --------
    >>> printable("a\x1b[31mb") == "a\N{REPLACEMENT CHARACTER}[31mb"
    True
    """
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(text))


def function_name(function: Any) -> str:
    """Return the name of a function, or of the class of another callable.

    Examples
    --------
    >>> function_name(len), function_name(lambda rows: rows)
    ('len', '<lambda>')
    """
    return str(getattr(function, "__name__", type(function).__name__))


def listed(words: Sequence[Any]) -> str:
    """Join words as in a sentence; at least one.

    Examples
    --------
    >>> listed([1, 2, 3]), listed(["size"])
    ('1, 2 and 3', 'size')
    """
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, name: str) -> str:
    """Format a count with its noun, singular for one.

    Examples
    --------
    >>> counted(1, "factor"), counted(1200, "point")
    ('1 factor', '1,200 points')
    """
    return f"{count:,} {name}{'s' * (count != 1)}"


def number_text(value: float) -> str:
    """Format a number for a table; NaN is empty.

    Examples
    --------
    >>> number_text(0.12345), number_text(12345.6), number_text(float("nan"))
    ('0.123', '1.23e+04', '')
    """
    if math.isnan(value):
        return ""
    return fixed(value, 3) if abs(value) < 1000 else f"{value:.3g}"


def fixed(value: float, digits: int = 2) -> str:
    """Format a number with a fixed number of digits, and zero without a sign.

    Examples
    --------
    >>> fixed(-0.001), fixed(-0.126), fixed(-0.0004, 3)
    ('0.00', '-0.13', '0.000')
    """
    return f"{round(value, digits) + 0.0:.{digits}f}"


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, ending with a full stop.

    Examples
    --------
    >>> first_sentence("It stopped. Try again.")
    'It stopped.'
    """
    text = text.split(". ")[0].rstrip(".")
    return f"{text}." if text else "it did not run."


def with_notes(lines: Sequence[str], notes: Sequence[str]) -> str:
    """Join findings, one per line, and notes below them.

    Examples
    --------
    >>> print(with_notes(["Two factors."], ["few points"]))
    Two factors.
    <BLANKLINE>
    note: few points
    """
    return "\n".join([*lines, *([""] if notes else []), *(f"note: {text}" for text in notes)])


# Findings as a small HTML table for notebooks: no scripts, and all text is escaped.

STYLE = "text-align:left;vertical-align:top;padding:0.1em 1em 0.1em 0"


def findings_html(title: str, rows: Mapping[str, str], notes: Iterable[str] = ()) -> str:
    """Format a title, findings by name, and notes as HTML.

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
