"""The page of all papers whose methods geodis uses, with where each is used, and BibTeX.

A hook of MkDocs. Papers that reports cite stand in the bibliography of the report, the
others in `citations.bib`. A test says when a paper is named that neither list has.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "geodis"
PAGE = HERE / "pages" / "citations.md"
# "Chen et al. 2018", "Do and Tran 2020", "Hyvarinen (1998)".
NAMED = re.compile(
    r"\b([A-Z]\w+)(?:(?:, [A-Z]\w+)*,? and (?:de )?[A-Z]\w+| et al\.)?,? \(?((?:19|20)\d\d)\b"
)
Paper = tuple[str, str, str, int]  # authors, title, where, year
BIBLIOGRAPHY = HERE / "citations.bib"
ENTRY = re.compile(r"@misc{(\w+),\n(.*?)\n}", re.DOTALL)
FIELD = re.compile(r"^  (\w+) = {(.*)},?$", re.MULTILINE)
# Papers that are named by another of their authors.
OTHERWISE = {"djolonga2020": "blondel2020", "silva2004": "desilva2004"}

HEAD = """# Citations

Every paper whose method geodis uses, as its docstrings and comments name it. Please cite those
whose methods you used, and geodis itself; a report ends with the BibTeX of what it used.

"""


def on_pre_build(config: Any) -> None:
    """Write the page before the others are collected."""
    text = citations_page()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")


def named_in(text: str) -> set[str]:
    """Keys of what a text names by authors and year, known or not."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = re.sub(r"\s+", " ", plain)
    keys = {f"{name.lower()}{year}" for name, year in NAMED.findall(plain)}
    return {OTHERWISE.get(key, key) for key in keys}


def fields() -> dict[str, dict[str, str]]:
    """What the file of papers says of each."""
    text = BIBLIOGRAPHY.read_text(encoding="utf-8")
    return {key: dict(FIELD.findall(inner)) for key, inner in ENTRY.findall(text)}


def uses() -> dict[str, list[str]]:
    """Of every paper that is named, the modules that name it."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "render.py":
            continue
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for key in named_in(path.read_text(encoding="utf-8")):
            found.setdefault(key, []).append(module.removesuffix(".__init__"))
    for key, told in fields().items():
        if "usedin" in told:
            found.setdefault(key, []).append(f"geodis.{told['usedin']}")
    return found


def papers() -> dict[str, Paper]:
    """All papers that are known, in the order of their keys."""
    from geodis.report.page.render import PAPERS

    others = {
        key: (told["author"], told["title"], told["howpublished"], int(told["year"]))
        for key, told in fields().items()
    }
    return dict(sorted({**PAPERS, **others}.items()))


def citations_page() -> str:
    """The page: a list with places, and then BibTeX of everything."""
    from geodis.report.page.render import SELF

    used, known = uses(), papers()
    lines = [HEAD + "## By author\n"]
    for key, (authors, title, place, year) in known.items():
        rooms = used.get(key, [])
        where = ", ".join(f"`{module.removeprefix('geodis.')}`" for module in rooms[:6])
        if len(rooms) > 6:
            where += f" and {len(rooms) - 6} more"
        tail = f" Used in {where}." if rooms else ""
        lines.append(f"- {plain_text(names(authors))}. *{plain_text(title)}.* "
                     f"{plain_text(place)}, {year}.{tail}")  # fmt: skip
    lines += ["\n## BibTeX\n", "```text", SELF]
    lines += [bibtex(key, paper) for key, paper in known.items()]
    return "\n".join([*lines, "```\n"])


def bibtex(key: str, paper: Paper) -> str:
    """One paper, in the form of the report's."""
    rows = dict(zip(("author", "title", "howpublished", "year"), paper, strict=True))
    inner = ",\n".join(f"  {name} = {{{text}}}" for name, text in rows.items())
    return f"\n@misc{{{key},\n{inner}\n}}"


def names(authors: str) -> str:
    """Initials and surnames, at most three before "and others"."""
    people = [person.partition(", ") for person in authors.split(" and ")]
    short = [
        " ".join([*(f"{part[:1]}." for part in re.sub(r"[{}\\'\"`]", "", first).split()), last])
        for last, _, first in people
    ]
    return ", ".join(short if len(short) <= 4 else [*short[:3], "and others"])


def plain_text(text: str) -> str:
    """LaTeX accents as letters."""
    marks = {"`": "\u0300", "'": "\u0301", '"': "\u0308", "^": "\u0302"}
    text = re.sub(r"{?\\([`'\"^])(\w)}?", lambda m: m[2] + marks[m[1]], text)
    return unicodedata.normalize("NFC", re.sub(r"[{}]", "", text))


if __name__ == "__main__":
    on_pre_build(None)
