"""Templates -> HTML in which every text is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from geodis.base.text import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@cache
def _environment() -> Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("geodis.report.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Control characters of names are ill-formed in a page; what is marked up was looked at.
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
    """Names, and what there is to say of each."""
    return render_template("definitions.html", rows=rows)
