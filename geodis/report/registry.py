"""The sections of a report: those of geodis, and those that others add."""

from __future__ import annotations

import re
from typing import TypeVar

from geodis.base.check import InputError, check_int
from geodis.base.plugins import load_plugins
from geodis.report.section import Section
from geodis.report.sections import OWN_SECTIONS

# Keys of results.json that no section may take.
RESERVED = (
    "summary", "warnings", "settings", "failures", "seconds", "versions", "date", "data_hash",
)  # fmt: skip
NAME = re.compile(r"[a-z][a-z0-9_]*")

AnySection = TypeVar("AnySection", bound=type[Section])
_added: dict[str, Section] = {}


def register_section(section: AnySection) -> AnySection:
    """Add a section to every report from now on; serves as a decorator of its class.

    Parameters
    ----------
    section : subclass of Section
        Its name must be free. It is computed after those of geodis, in the order in which sections
        are added, and stands where its `place` says.

    Examples
    --------
    >>> @register_section
    ... class Norms(Section):
    ...     name, title = "norms", "Norms of the latents"
    ...
    ...     def compute(self, analysis):
    ...         return {"longest": float((analysis.material.latents**2).sum(axis=1).max() ** 0.5)}
    >>> from geodis import report
    >>> report([[3.0, 4.0]] * 20, out=None, verbose=0).parts["norms"].value
    {'longest': 5.0}
    >>> unregister_section("norms")
    """
    if not (isinstance(section, type) and issubclass(section, Section)):
        raise InputError(f"section must be a subclass of Section; got {section!r}.")
    if not (isinstance(section.name, str) and NAME.fullmatch(section.name)):
        raise InputError(
            "The name of a section must be of lower-case letters, digits and '_', and begin with "
            f"a letter; got {section.name!r}."
        )
    taken = (*RESERVED, *(one.name for one in OWN_SECTIONS), *_added)
    if section.name in taken:
        raise InputError(
            f"The name of a section must be none of {', '.join(taken)}; got {section.name!r}."
        )
    made = section()
    _check_attributes(made)
    _added[section.name] = made
    return section


def unregister_section(name: str) -> None:
    """Take a section away again, as before it is written anew in a notebook."""
    if name not in _added:
        raise InputError(f"name must be that of a section that was added; got {name!r}.")
    del _added[name]


def _check_attributes(section: Section) -> None:
    for attribute in ("title", "about", "source"):
        if not isinstance(text := getattr(section, attribute), str):
            raise InputError(f"The {attribute} of a section must be text; got {text!r}.")
    if not section.title:
        raise InputError("The title of a section must not be empty; got ''.")
    if section.place is not None:
        check_int(section.place, "place", low=0, high=100)


def all_sections() -> tuple[Section, ...]:
    """Sections in the order in which they are computed, summarised and warned of.

    Examples
    --------
    >>> [section.name for section in all_sections()][:5]
    ['inspection', 'manifold', 'maps', 'walks', 'rows']
    """
    load_plugins("geodis.sections")
    return (*OWN_SECTIONS, *_added.values())


def page_sections() -> list[Section]:
    """Sections in the order of the page."""
    placed = [(one.place, one) for one in all_sections() if one.place is not None]
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]
