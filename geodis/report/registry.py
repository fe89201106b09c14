"""The list of sections of a report, to which others can be added."""

from __future__ import annotations

import re
from typing import TypeVar

from geodis.base.check import InputError
from geodis.base.plugins import load_plugins
from geodis.report.section import Section
from geodis.report.sections import CLOSING_SECTIONS, OWN_SECTIONS

# Keys of results.json that are not available as names of sections.
RESERVED = (
    "summary", "warnings", "settings", "failures", "seconds", "versions", "date", "data_hash",
)  # fmt: skip
NAME = re.compile(r"[a-z][a-z0-9_]*")

AnySection = TypeVar("AnySection", bound=type[Section])
_added: dict[str, Section] = {}


def register_section(section: AnySection) -> AnySection:
    """Add a section to all further reports; a class decorator.

    Parameters
    ----------
    section : subclass of Section
        Its name must be unused. It is computed and shown after the sections of geodis and those
        registered before it; the section on how the report was made is last.

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
    """Remove a registered section, for example before redefining it in a notebook."""
    if name not in _added:
        raise InputError(f"name must be that of a registered section; got {name!r}.")
    del _added[name]


def _check_attributes(section: Section) -> None:
    for attribute in ("title", "about", "source"):
        if not isinstance(text := getattr(section, attribute), str):
            raise InputError(f"The {attribute} of a section must be text; got {text!r}.")
    if not section.title:
        raise InputError("The title of a section must not be empty; got ''.")
    if isinstance(section.reads, str) or not all(isinstance(one, str) for one in section.reads):
        raise InputError(f"reads must be names of sections; got {section.reads!r}.")


def all_sections() -> tuple[Section, ...]:
    """Return all sections, in the order of the page, the summary and the warnings.

    Examples
    --------
    >>> [section.name for section in all_sections()][:4]
    ['inspection', 'maps', 'walks', 'manifold']
    """
    load_plugins("geodis.sections")
    first = [one for one in OWN_SECTIONS if one not in CLOSING_SECTIONS]
    return (*first, *_added.values(), *CLOSING_SECTIONS)


def computing_sections() -> list[Section]:
    """Return the sections that compute, each after the sections in its `reads`.

    Examples
    --------
    >>> [section.name for section in computing_sections()][:4]
    ['inspection', 'manifold', 'maps', 'walks']
    """
    named = {section.name: section for section in all_sections() if section.computes}
    ordered: dict[str, Section] = {}

    def add(name: str) -> None:
        if (section := named.pop(name, None)) is not None:
            for other in section.reads:
                add(other)
            ordered[name] = section

    for name in list(named):
        add(name)
    return list(ordered.values())
