"""Parts of pages: templates, cards and bars of scores, and Python code that repeats results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.text import function_name, printable
from geodis.report.analysis import Analysis, ReportSettings
from geodis.scores.registry import ScoreEntry, entries

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


# Templates with escaped texts.


@cache
def _environment() -> Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("geodis.report.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Control characters in names are invalid in HTML; markup is already checked.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )


def render_template(name: str, **values: Any) -> Markup:
    """Fill a template of ``geodis/report/page/templates``.

    Examples
    --------
    >>> print(render_template("definitions.html", rows={"rows": "<3"}))
    <dl><dt>rows</dt><dd>&lt;3</dd></dl>
    """
    from markupsafe import Markup

    return Markup(_environment().get_template(name).render(values))


def definitions(rows: Mapping[str, str]) -> Markup:
    """Render a list of names and descriptions."""
    return render_template("definitions.html", rows=rows)


# Default address of the full cards.
CARDS = "https://github.com/geodis-learn/geodis-learn/blob/main/docs/pages/score_cards.md"


@dataclass(frozen=True)
class ShownCard:
    """A card of a score on a page.

    Attributes
    ----------
    name : str
        Name of the score.
    facts : dict of str to str
        Texts by heading.
    url : str
        Address of the full card; empty for scores of other packages.
    """

    name: str
    facts: dict[str, str]
    url: str


def cards_of(rows: Iterable[str], docs: str = "") -> dict[str, ShownCard]:
    """Return the cards of the scores in the rows of a table, where they exist.

    Parameters
    ----------
    rows : iterable of str
    docs : str
        Folder of the documentation; that of the project by default.

    Examples
    --------
    >>> cards = cards_of(["mig", "dci_completeness", "unknown"], "../docs")
    >>> list(cards), cards["mig"].url, cards["dci_completeness"].name
    (['mig', 'dci_completeness'], '../docs/score_cards.html#mig', 'dci')
    """
    known = {row: entry for entry in entries() for row in (entry.name, *entry.row_names)}
    wanted = {row: _entry_of(row, known) for row in rows}
    made = {entry.name: _shown(entry, docs) for entry in wanted.values() if entry and entry.card}
    return {row: made[entry.name] for row, entry in wanted.items() if entry and entry.card}


def cards_markup(cards: Iterable[ShownCard]) -> Markup:
    """Render all cards without duplicates, as popovers that buttons open."""
    distinct = {card.name: card for card in cards}
    return render_template("score_cards.html", cards=list(distinct.values()))


def _entry_of(row: str, known: dict[str, ScoreEntry]) -> ScoreEntry | None:
    """Find the score of a row; rows may have suffixes such as sample sizes."""
    while row and row not in known:
        row = row.rpartition("_")[0]
    return known.get(row)


def _shown(entry: ScoreEntry, docs: str) -> ShownCard:
    card = entry.card
    assert card is not None
    facts = {
        "rewards": card.rewards,
        "cannot see": card.blind,
        "range": card.scale + (", lower is better" if entry.lower_is_better else ""),
        "by chance": card.chance,
        "factors of any shape": card.shapes,
        "cost": entry.cost.text,
        "source": card.source,
    }
    return ShownCard(entry.name, {name: text for name, text in facts.items() if text},
                     _address(entry, docs))  # fmt: skip


def _address(entry: ScoreEntry, docs: str) -> str:
    """Return the address of the full card; empty for scores of other packages."""
    if not entry.is_ours:
        return ""
    page = f"{docs.rstrip('/')}/score_cards.html" if docs else CARDS
    return f"{page}#{entry.name}{'' if entry.default else '-by-name'}"


# Bars of scores: value, interval and chance.

WIDE, HIGH = 130, 14


def score_bar(value: float, chance: float, low: float = np.nan, high: float = np.nan) -> Markup:
    """Draw a bar from 0 to 1, clipped; empty for a score without a chance level.

    Examples
    --------
    >>> bar = score_bar(0.5, 0.25)
    >>> 'width="65"' in bar and 'd="M32.5 1V13"' in bar
    True
    >>> score_bar(0.5, float("nan"))
    Markup('')
    """
    from markupsafe import Markup

    if not np.isfinite([value, chance]).all():
        return Markup("")
    bar, mark, start, end = (_pixels(number) for number in (value, chance, low, high))
    interval = ""
    if np.isfinite([low, high]).all():
        line = f"M{start} {HIGH // 2}H{end}"
        interval = f'<path d="{line}" stroke="var(--ink)" stroke-width="1.2"/>'
    # Hidden from screen readers, as the table has the numbers.
    return Markup(
        f'<svg viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" aria-hidden="true">'
        f'<rect width="{WIDE}" height="{HIGH}" fill="var(--line)" fill-opacity="0.45"/>'
        f'<rect y="3" width="{bar}" height="{HIGH - 6}" fill="var(--main)"/>'
        f'<path d="M{mark} 1V{HIGH - 1}" stroke-width="2.5" stroke="var(--accent)"/>'
        f"{interval}</svg>"
    )


def _pixels(share: float) -> str:
    return f"{round(WIDE * min(max(share, 0.0), 1.0), 1):g}" if np.isfinite(share) else ""


# Python code that repeats the results of a page.

USUAL = ReportSettings()
SHOWN = (
    "groups", "dim", "n_factors", "prepare", "metric", "max_points", "bins", "intervals", "scores",
    "random_state",
)  # fmt: skip


def seed_argument(settings: ReportSettings) -> str:
    """Format the seed as an argument."""
    return f"random_state={settings.random_state}"


def fitted_rows(analysis: Analysis) -> str:
    """Format the arguments of the fit: all or some of the rows, and their times."""
    used = analysis.factorised
    some = used is not None and len(used.rows) < len(analysis.material.rows)
    of = "report.factorised." if some else ""
    return f"{of}latents" + f", times={of}times" * analysis.settings.has_times


def shown_value(value: Any) -> str:
    """Format the value of a setting; functions by name, or "..." if they have none."""
    if not callable(value):
        return repr(value)
    name = function_name(value)
    return name if name.isidentifier() else "..."


def opening_lines(analysis: Analysis) -> str:
    """Write code that loads the inputs, makes the report, and selects its rows."""
    lines = ["import numpy as np", "import geodis as gd", "", *_loading(analysis), ""]
    call = _call(analysis.settings)
    if len(analysis.material.rows) == analysis.material.n_given:
        return "\n".join([*lines, f"report = gd.report({call})  # everything on this page"])
    lines += ["# Rows were left out or subsampled; the report stores those that it used."]
    lines += [f"report = gd.report({call}, out=None)", "latents = report.material.latents"]
    if analysis.settings.has_factors:
        lines.append("factors = report.material.factors")
    if analysis.settings.has_images:
        lines.append("images = images[report.material.rows]")
    if analysis.settings.has_times:
        lines.append("times = report.material.times")
    return "\n".join(lines)


def _loading(analysis: Analysis) -> list[str]:
    """Write a line of code for every given array, with periods and groups of factors."""
    settings, factors = analysis.settings, analysis.material.factors
    loaders = {"latents": "load_array"}
    loaders |= {"factors": "load_factors"} if settings.has_factors else {}
    loaders |= {"images": "load_array"} if settings.has_images else {}
    loaders |= {"times": "load_array"} if settings.has_times else {}
    lines = []
    for name, load in loaders.items():
        file = settings.sources.get(name)
        array, remark = (f"gd.{load}({file!r})", "") if file else ("...", "  # your array")
        if name == "factors" and factors is not None:
            shape: dict[str, Any] = {"periods": dict(factors.periods)} if factors.periods else {}
            shape |= {"groups": dict(factors.groups)} if factors.groups else {}
            if shape:
                given = ", ".join(f"{what}={value!r}" for what, value in shape.items())
                array = f"gd.as_factors({array}, {given})"
        if name == "latents" and file and settings.has_pixels:
            array += f".reshape({analysis.material.n_given}, -1)"
        lines.append(f"{name} = {array}{remark}")
    return lines


def _call(settings: ReportSettings) -> str:
    """Format the arguments of the report that differ from the defaults."""
    arguments = ["latents"]
    arguments += ["factors"] * settings.has_factors + ["images=images"] * settings.has_images
    arguments += ["times=times"] * settings.has_times
    for name in SHOWN:
        if (value := getattr(settings, name)) != getattr(USUAL, name):
            arguments.append(f"{name}={shown_value(value)}")
    return ", ".join(arguments)
