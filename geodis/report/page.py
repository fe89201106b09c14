"""A report -> one HTML file that needs nothing beside it: no network, no folder of scripts."""

from __future__ import annotations

import html
import json
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from geodis.base.check import require
from geodis.report.charts import COLORS, Chart
from geodis.report.sections import Section, all_sections

if TYPE_CHECKING:
    from geodis.report.results import Report

# Nothing may be fetched, whatever text a file brings: the browser refuses it.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'"
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1><button id="theme" type="button">light / dark</button></header>
<p class="small">{origin}</p>
<main>
<div class="summary">{summary}</div>
{warnings}
<nav aria-label="Sections">{contents}</nav>
<noscript><p class="failed">The figures need JavaScript; the tables and the text do not. The same
figures are in the folder <code>figures</code> beside this page.</p></noscript>
{sections}
</main>
<script type="application/json" id="charts">{charts}</script>
<script>{plotly}</script>
<script>{script}</script>
</body>
</html>
"""


def plotly_script() -> str:
    """The source of plotly.js, from the package that brings it."""
    require("plotly", extra="report", purpose="The page of a report")
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def render_page(report: Report) -> str:
    """Return the whole page as text.

    Every text that came from the user is escaped: in HTML, in the data of the figures, and in
    what plotly.js reads as markup.
    """
    sections = all_sections(report)
    charts = [chart for section in sections for chart in section.charts]
    own = files("geodis.report")
    return PAGE.format(
        policy=html.escape(POLICY),
        title=html.escape(str(report.settings["title"])),
        style=(own / "page.css").read_text(encoding="utf-8"),
        origin=html.escape(_origin(report)),
        summary="".join(f"<p>{html.escape(text)}</p>" for text in report.summary),
        warnings=_warnings(report),
        contents="".join(
            f'<a href="#{section.name}">{html.escape(section.title)}</a>' for section in sections
        ),
        sections="\n".join(_section(section) for section in sections),
        charts=script_json([_plain(chart) for chart in charts]),
        plotly=plotly_script(),
        script=(own / "page.js").read_text(encoding="utf-8"),
    )


def script_json(value: Any) -> str:
    r"""JSON that may stand inside a script element: no "<" can end it early.

    Examples
    --------
    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _plain(chart: Chart) -> dict[str, Any]:
    content = asdict(chart)
    if chart.kind == "cloud":
        content["data"]["palette"] = list(COLORS)
    return content


def _origin(report: Report) -> str:
    from geodis import __version__

    used, given = len(report.material.rows), report.material.n_given
    rows = f"{used:,} rows" if used == given else f"{used:,} of {given:,} rows"
    named = ", ".join(report.settings["sources"].values())
    file = f" of {named}" if named else ""
    seed = report.settings["random_state"]
    columns = report.material.latents.shape[1]
    return f"{rows}, {columns} columns{file}. geodis {__version__}, seed {seed}."


def _warnings(report: Report) -> str:
    if not report.warnings:
        return '<p class="small">Nothing was found that makes these numbers doubtful.</p>'
    items = "".join(f"<li>{html.escape(text)}</li>" for text in report.warnings)
    return (
        '<section class="warnings" id="warnings"><strong>Before you trust these numbers</strong>'
        f"<ul>{items}</ul></section>"
    )


def _section(section: Section) -> str:
    pieces = [f'<section id="{section.name}"><h2>{html.escape(section.title)}</h2>']
    if section.failure:
        pieces.append(f'<p class="failed">Not done: {html.escape(section.failure)}</p>')
    if section.about:
        pieces.append(f'<p class="about">{html.escape(section.about)}</p>')
    pieces.append(section.body)
    for chart in section.charts:
        pieces.append(_figure(chart))
    if section.source:
        pieces.append(f'<p class="source">Source: {html.escape(section.source)}</p>')
    if section.code:
        pieces.append(f"<pre><code>{html.escape(section.code)}</code></pre>")
    return "".join([*pieces, "</section>"])


def _figure(chart: Chart) -> str:
    about = html.escape(chart.about)
    return (
        f'<figure>{_controls(chart)}<div class="wide"><div class="chart" id="{chart.name}" '
        f'role="img" aria-label="{about}" style="min-height:{chart.height}px"></div></div>'
        f"<figcaption>{about[:1].upper()}{about[1:]}.</figcaption></figure>"
    )


def _controls(chart: Chart) -> str:
    if chart.kind == "cloud":
        axes = [axis["name"] for axis in chart.data["axes"]]
        views = chart.data["views"]
        # Factors are seen best along the directions of one of them.
        first = 1 if len(views) > 2 else 0
        view = views[first]
        found = [
            _select("color", "coloured by", [color["name"] for color in chart.data["colors"]]),
            _select("view", "view", [item["name"] for item in views], first),
            _select("x", "across", axes, view["x"]),
            _select("y", "up", axes, view["y"]),
        ]
    elif chart.kind == "scatter":
        kinds = chart.data["kinds"]
        names = [group["name"] for group in chart.data["groups"]]
        pairs = ["all", *map(str, range(len(names)))]
        found = [
            _select("x", "across", kinds, 0, kinds),
            _select("y", "up", kinds, len(kinds) - 1, kinds),
            _select("group", "pairs", ["all", *names], 0, pairs),
        ]
    else:
        return ""
    return f'<div class="controls" id="{chart.name}-controls">{"".join(found)}</div>'


def _select(
    name: str, title: str, choices: list[str], chosen: int = 0, values: list[str] | None = None
) -> str:
    """A list to choose from; the texts of charts are escaped already."""
    values = [str(i) for i in range(len(choices))] if values is None else values
    items = "".join(
        f'<option value="{html.escape(value)}"{" selected" * (i == chosen)}>{text}</option>'
        for i, (value, text) in enumerate(zip(values, choices, strict=True))
    )
    return f'<label>{title} <select name="{name}">{items}</select></label>'
