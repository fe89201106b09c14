"""The result of a report, its summary in plain words, and its display."""

from __future__ import annotations

import base64
import os
import tempfile
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from geodis import __version__
from geodis.base.check import check_int
from geodis.base.progress import in_notebook
from geodis.base.text import counted, function_name, listed, with_notes
from geodis.base.write import to_jsonable, write_json
from geodis.plots.geometry.shown_rows import words_of
from geodis.report.analysis import Analysis, versions
from geodis.report.page.render import Page, render_page
from geodis.report.page.score_cards import render_template
from geodis.report.registry import all_sections
from geodis.report.section import call_hook
from geodis.report.sentences import reasons_of_doubt

# Display of a page in a notebook or a browser.


def show_page(path: Path | None, make: Callable[[], str], height: int = 900) -> None:
    """Show a page, which is rendered if it was not written.

    Parameters
    ----------
    path : Path or None
    make : callable
        Returns the text of the page.
    height : int
        Height in pixels in a notebook.
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
    """Wrap a page in a sandboxed frame.

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


# The first sentence of a page.


def in_plain_words(analysis: Analysis) -> str:
    """State the found factors, and whether they are uncertain; empty if there are no maps."""
    est, part = analysis.manifold, analysis.parts.get("maps")
    if est is None or part is None or part.value is None or not part.value.of:
        return ""
    things = "images" if analysis.settings.has_images else "rows"
    uncertain = bool(reasons_of_doubt(analysis, est))
    vary = "seem to vary" if uncertain else "vary"
    words = words_of(est)
    if est.n_factors_ == 1:
        text = f"the {things} {vary} along one dimension"
        if est.dim_ > 1:
            text = (
                "no split into independent factors was found; "
                f"the {things} {vary} in one {est.dim_}-dimensional factor"
            )
        text += f", like {words[0]}" if words[0] else ""
    else:
        text = f"the {things} {vary} in {est.n_factors_} independent factors"
        named = [f"{space} (factor {j})" for j, space in enumerate(words) if space]
        text += f": {listed(named)}" if named else ""
        if 0 < len(named) < est.n_factors_:
            text += "; the topology of the others is undetermined"
    opening = f"Uncertain: {text}" if uncertain else f"{text[0].upper()}{text[1:]}"
    unseen = [one.given for one in part.value.given if one.found < 0]
    if not unseen:
        return f"{opening}."
    given = "the given factor" if len(unseen) == 1 else "the given factors"
    names = listed([f"“{name}”" for name in unseen])
    return f"{opening}. No map shows {given} {names}."


@dataclass(frozen=True, eq=False, repr=False)
class Report(Analysis):
    """Results of a report; prints as its summary, and a notebook shows its figures.

    Attributes
    ----------
    parts : dict of str to Part
        "inspection", "manifold", "scores", "distances" and those of registered sections: the
        result of each, or why there is none.
    material : Material
        The used rows: `material.latents`, `material.factors`.
    settings : ReportSettings
        Arguments of the call, and the names of the input files.
    summary : tuple of str
        Sentences on the geometry, the scores and the distances, and of registered sections.
    warnings : tuple of str
        Warnings about the reliability of the numbers.
    path : Path or None
        The page, once written.
    figures : dict of str to Path
        SVG files of the figures.
    date : str
        Date and time of the report.
    data_hash : str
        SHA-256 of the used latents and factors.
    """

    summary: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    path: Path | None = None
    figures: Mapping[str, Path] = field(default_factory=dict)
    date: str = ""
    data_hash: str = ""

    def __str__(self) -> str:
        return with_notes(self.summary, self.warnings)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the summary, the scores and the static figures."""
        from markupsafe import Markup

        there = {name: file for name, file in self.figures.items() if file.exists()}
        return render_template(
            "notebook.html",
            summary=self.summary,
            warnings=self.warnings,
            table="" if self.scores is None else Markup(self.scores._repr_html_()),
            pictures={
                name: base64.b64encode(file.read_bytes()).decode() for name, file in there.items()
            },
            path=self.path,
        )

    def page(self) -> Page:
        """Return the contents of its page."""
        return Page(
            all_sections(), self, self.settings.title, self._origin(), self.summary, self.warnings,
            about=self.settings.about, lead=in_plain_words(self),
        )  # fmt: skip

    def _origin(self) -> str:
        """State rows, files, version and seed, for the head of the page."""
        named = ", ".join(dict.fromkeys(self.settings.sources.values()))
        file = f" of {named}" if named else ""
        columns = counted(self.material.latents.shape[1], "column")
        data = f"data {self.data_hash[:12]}" if self.data_hash else ""
        made = ", ".join(text for text in (self.date, data) if text)
        seed = self.settings.random_state
        rows = self.material.rows_told
        return f"{rows}, {columns}{file}. geodis {__version__}, seed {seed}, {made}."

    def show(self, height: int = 900) -> None:
        """Show the page: in the notebook if there is one, otherwise in a browser.

        Parameters
        ----------
        height : int
            Height in pixels in a notebook.
        """
        show_page(self.path, lambda: render_page(self), height)

    def to_dict(self) -> dict[str, Any]:
        """Return all results and settings as plain types."""
        kept = {
            section.name: call_hook(section, "to_dict", self).value for section in all_sections()
        }
        settings = {name: getattr(self.settings, name) for name in vars(self.settings)}
        for name in ("prepare", "metric"):
            if callable(settings[name]):
                settings[name] = function_name(settings[name])
        return to_jsonable(
            {
                "summary": list(self.summary),
                "warnings": list(self.warnings),
                "date": self.date,
                "data_hash": self.data_hash,
                "settings": settings,
                **{
                    name: value
                    for name, value in kept.items()
                    if value is not None or name in self.parts
                },
                "failures": {n: part.failure for n, part in self.parts.items() if part.failure},
                "seconds": {n: round(part.seconds, 3) for n, part in self.parts.items()},
                "versions": versions(),
            }
        )

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write `to_dict` to a file atomically."""
        return write_json(path, self.to_dict())
