"""The papers whose methods a report uses, as BibTeX; they stand in ``templates/papers.bib``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from importlib.resources import files

SELF = """@software{geodis,
  author = {{The geodis authors}},
  title = {geodis: geometry-first disentanglement analysis},
  url = {https://github.com/geodis-learn/geodis-learn}
}"""
# "Chen et al. 2018", "Do and Tran 2020", "Mahon, Sha and Lukasiewicz 2023".
CITED = re.compile(r"(\w+)(?:(?:, \w+)* and (?:de )?\w+| et al\.)? (\d{4})")
ENTRY = re.compile(r"@misc{(\w+),\n(.*?)\n}", re.DOTALL)
FIELD = re.compile(r"^  \w+ = {(.*)},?$", re.MULTILINE)


def _read_papers() -> dict[str, tuple[str, str, str, int]]:
    text = (files("geodis.report.page") / "templates" / "papers.bib").read_text(encoding="utf-8")
    papers = {}
    for key, fields in ENTRY.findall(text):
        author, title, where, year = FIELD.findall(fields)
        papers[key] = (author, title, where, int(year))
    return papers


PAPERS = _read_papers()  # key -> authors, title, where, year


def entry(key: str) -> str:
    """One paper as BibTeX.

    Examples
    --------
    >>> print(entry("kim2018"))
    @misc{kim2018,
      author = {Kim, Hyunjik and Mnih, Andriy},
      title = {Disentangling by Factorising},
      howpublished = {International Conference on Machine Learning},
      year = {2018}
    }
    """
    author, title, place, year = PAPERS[key]
    rows = {"author": author, "title": title, "howpublished": place, "year": year}
    lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in rows.items())
    return f"@misc{{{key},\n{lines}\n}}"


def entries_of(keys: Iterable[str]) -> str:
    """All papers once, in their order, and geodis itself; unknown keys are passed over."""
    known = dict.fromkeys(key for key in keys if key in PAPERS)
    return "\n\n".join([SELF, *(entry(key) for key in known)])


def keys_in(text: str) -> list[str]:
    """Keys of the papers that a text cites by authors and year, as far as they are known.

    Examples
    --------
    >>> keys_in("Hyvärinen and Morioka 2016, section 5; Nobody 1900")
    ['hyvarinen2016']
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    keys = (f"{name.lower()}{year}" for name, year in CITED.findall(plain))
    return [key for key in keys if key in PAPERS]
