"""Build pages: one self-contained HTML file, figures and citations."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.progress import Stages
from geodis.base.whole_set import whole_set
from geodis.base.write import write_json
from geodis.plots.vector.page_chart import script_of_charts
from geodis.report.page.pictures import Picture, Pictures, draw_pictures, write_files
from geodis.report.page.score_cards import render_template
from geodis.report.section import Section, call_hook

if TYPE_CHECKING:
    from geodis.report.comparison.comparison_results import Comparison
    from geodis.report.results import Report


# Cited papers as BibTeX, from ``templates/papers.bib``.

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
    """Format one paper as BibTeX.

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
    """Format geodis and all known papers as BibTeX, without duplicates."""
    known = dict.fromkeys(key for key in keys if key in PAPERS)
    return "\n\n".join([SELF, *(entry(key) for key in known)])


def keys_in(text: str) -> list[str]:
    """Find the keys of known papers that a text cites by authors and year.

    Examples
    --------
    >>> keys_in("Hyvärinen and Morioka 2016, section 5; Nobody 1900")
    ['hyvarinen2016']
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    keys = (f"{name.lower()}{year}" for name, year in CITED.findall(plain))
    return [key for key in keys if key in PAPERS]


PAGE, RESULTS, FIGURES = "index.html", "results.json", "figures"
# The browser must not load anything, whatever the input contains.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'"
)


@dataclass(frozen=True)
class Page:
    """The contents of a page.

    Attributes
    ----------
    sections : sequence of Section
        In the order of the page.
    analysis : object
        Argument of the methods of the sections.
    title : str
    origin : str
        Data, version and date.
    summary, warnings : sequence of str
    about : str
        Text under the title.
    lead : str
        The first sentence of the summary, in bold.
    """

    sections: Sequence[Section]
    analysis: Any
    title: str
    origin: str
    summary: Sequence[str]
    warnings: Sequence[str]
    about: str = ""
    lead: str = ""


@dataclass(frozen=True)
class SectionView:
    """The contents of a section on the page."""

    name: str
    title: str
    about: str = ""
    source: str = ""
    code: str = ""
    body: str = ""
    figures: tuple[Picture, ...] = ()
    failure: str = ""


def render_page(
    made: Report | Comparison | Page, pictures: Pictures | None = None, *, linked: bool = False
) -> str:
    """Render the whole page as text.

    All texts of the user are escaped, in HTML and in the data of figures; scripts insert texts as
    text.

    Parameters
    ----------
    made : Report, Comparison or Page
    pictures : Pictures, optional
        Its figures, if they were drawn already.
    linked : bool
        Link to the files of results and figures.
    """
    from markupsafe import Markup

    page = made if isinstance(made, Page) else made.page()
    views = section_views(page, pictures)
    charts = [one.chart for view in views for one in view.figures if one.chart is not None]
    # No copy, as the data of a chart may be large.
    data = [
        {key: value for key, value in vars(one).items() if key != "svg"}
        for one in charts
        if one.kind != "svg"
    ]
    own = files("geodis.report.page")
    script = script_of_charts() + (own / "page.js").read_text(encoding="utf-8")
    text = render_template(
        "page.html",
        page=page,
        policy=POLICY,
        style=Markup((own / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        charts=Markup(script_json(data)),
        sections=views,
        citations=entries_of(cited) if (cited := _cited(page)) else "",
        linked=linked,
    )
    return str.__str__(text)  # a plain string instead of markup


def write_page(
    page: Page,
    out: Path,
    *,
    name: str = PAGE,
    results: Callable[[Sequence[str]], Mapping[str, Any]] | None = None,
    arrays: Mapping[str, np.ndarray] | None = None,
    verbose: bool | int = False,
) -> tuple[tuple[str, ...], dict[str, Path]]:
    """Write results, figures and page, replacing earlier ones atomically.

    Parameters
    ----------
    page : Page
    out : Path
    name : str
        File name of the page.
    results : callable, optional
        Function from all warnings to the contents of ``results.json``.
    arrays : mapping of str to ndarray, optional
        Further arrays to save, by file name.
    verbose : bool or int

    Returns
    -------
    tuple of str
        The warnings, with those of figures that could not be drawn.
    dict of str to Path
        Paths of the figures.
    """
    with Stages("report", verbose) as stages, whole_set(out) as folder:
        with stages.stage("figures"):
            pictures = draw_pictures(page.sections, page.analysis)
            written = write_files(pictures.files, folder / FIGURES)
        warnings = (*page.warnings, *pictures.failures)
        if results is not None:
            write_json(folder / RESULTS, results(warnings))
        with stages.stage("page"):
            now = replace(page, warnings=warnings)
            text = render_page(now, pictures, linked=results is not None)
            # Escape lone surrogates, which input texts may contain.
            (folder / name).write_text(text, "utf-8", errors="xmlcharrefreplace")
        for file, array in (arrays or {}).items():
            np.save(folder / file, array)
    return warnings, {name: out / FIGURES / path.name for name, path in written.items()}


def _cited(page: Page) -> list[str]:
    """Collect the papers cited by the sections that apply."""
    return [
        key
        for section in page.sections
        if section.on_page and not call_hook(section, "missing", page.analysis).value
        for key in call_hook(section, "citations", page.analysis).value
    ]


def section_views(
    made: Report | Comparison | Page, pictures: Pictures | None = None
) -> list[SectionView]:
    """Make the contents of all sections, in order; failures are reported in place."""
    page = made if isinstance(made, Page) else made.page()
    pictures = draw_pictures(page.sections, page.analysis) if pictures is None else pictures
    return [
        _view(section, page.analysis, pictures)
        for section in page.sections
        if section.on_page and not call_hook(section, "missing", page.analysis).value
    ]


def _view(section: Section, analysis: Any, pictures: Pictures) -> SectionView:
    """Make the contents of a section, with the first of its failures."""
    unknown = call_hook(section, "missing", analysis).problem
    failure, silent = call_hook(section, "failure", analysis)
    if unknown:
        return SectionView(section.name, section.title, failure=failure or unknown)
    code, no_code = call_hook(section, "code", analysis)
    body, no_body = call_hook(section, "body", analysis)
    problems = (failure, silent, pictures.problems.get(section.name, ""), no_body, no_code)
    return SectionView(
        section.name,
        section.title,
        section.about,
        section.source,
        code,
        body,
        tuple(one for one in pictures.of.get(section.name, []) if one.chart is not None),
        next((problem for problem in problems if problem), ""),
    )


def script_json(value: Any) -> str:
    r"""Format JSON for a script element, which no "<" can close early.

    Examples
    --------
    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
