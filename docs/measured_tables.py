"""Tables of a page that are taken from the results of benchmarks and analyses.

A hook of MkDocs. A page says which columns of which table it shows, and under what names:

``<!-- from: benchmarks/results/maps.md | method | clean, n = 4,000: least => clean -->``

and, if not all, which rows (``| only: MIG; SAP``, by their first column),
followed by the table and ``<!-- end -->``. The table stands in the page, where it is read without a
build, too; the build, or `python docs/measured_tables.py`, writes it anew from the results.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGES = HERE / "pages"
MARKED = re.compile(r"(<!-- from: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def on_pre_build(config: Any) -> None:
    """Write what has changed, before the pages are collected."""
    write_all()


def write_all() -> None:
    """Write the tables of all pages."""
    for path in sorted(PAGES.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        filled = fill(text)
        if filled != text:
            path.write_text(filled, encoding="utf-8")


def fill(text: str) -> str:
    """Put the tables into the text of a page."""
    return MARKED.sub(lambda found: f"{found[1]}\n{chosen(found[2])}\n\n{found[3]}", text)


def chosen(asked: str) -> str:
    """The columns of a table that are asked for, as Markdown."""
    source, *columns = [" ".join(part.split()) for part in asked.split(" | ")]
    only = [part.removeprefix("only: ").split("; ") for part in columns if part[:6] == "only: "]
    names = [split_name(column) for column in columns if column[:6] != "only: "]
    head, rows = first_table(HERE.parent / source, [name for name, _ in names])
    rows = [row for row in rows if not only or row[0] in only[0]]
    places = [head.index(name) for name, _ in names]
    lines = ["| " + " | ".join(shown for _, shown in names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(row[place] for place in places) + " |" for row in rows]
    return "\n".join(lines)


def split_name(column: str) -> tuple[str, str]:
    """The name of a column there, and what it is called here."""
    name, _, shown = column.rpartition(" => ")
    return (name, shown) if name else (shown, shown)


def first_table(path: Path, columns: list[str]) -> tuple[list[str], list[list[str]]]:
    """The first table of a file that has all the columns: its head and rows."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        head = cells(line)
        if set(columns) <= set(head):
            rows: list[list[str]] = []
            for below in lines[number + 2 :]:
                if not below.startswith("|"):
                    return head, rows
                rows.append(cells(below))
            return head, rows
    raise ValueError(f"No table of {path.name} has the columns {columns}.")


def cells(line: str) -> list[str]:
    """Cells of a row of a table."""
    return [cell.strip(" *") for cell in line.strip().strip("|").split("|")]


if __name__ == "__main__":
    write_all()
