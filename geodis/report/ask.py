"""Calls of the methods of a section; an exception in one of them stays with that section."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from geodis.base.check import InputError
from geodis.base.write import to_jsonable
from geodis.report.section import Section, SectionFigure

Hook = Literal[
    "missing", "expected_seconds", "failure", "sentence", "at_once", "warnings", "notes", "figures",
    "citations", "body", "code", "to_dict",
]  # fmt: skip

# What a section may raise without ending the report: code of others may even leave the program.
FAILURES = (Exception, SystemExit)


class Answer(NamedTuple):
    """What a section says when it is asked.

    Attributes
    ----------
    value : object
        What stands for "nothing" where it could not say.
    problem : str
        Why it could not; empty where it could.
    """

    value: Any
    problem: str = ""


def ask(section: Section, hook: Hook, *arguments: Any) -> Answer:
    """Call a method of a section; whatever goes wrong in it is a problem of that answer alone.

    Examples
    --------
    >>> class Silent(Section):
    ...     def sentence(self, analysis):
    ...         raise ValueError("no words")
    >>> ask(Silent(), "sentence", None)
    Answer(value='', problem='ValueError: no words')
    """
    read, nothing, _ = ANSWERS[hook]
    try:
        return Answer(read(getattr(section, hook)(*arguments)))
    except FAILURES as problem:  # a section must not take the report with it
        return Answer(nothing, reason_of(problem))


def reason_of(problem: BaseException) -> str:
    """Why something failed: a sentence for those who gave the input stands for itself."""
    return (
        str(problem) if isinstance(problem, InputError) else f"{type(problem).__name__}: {problem}"
    )


def note_of(section: Section, hook: Hook, problem: str) -> str:
    """What to say of a section that could not answer."""
    return f"{section.title}: could not say {ANSWERS[hook][2]} ({problem.rstrip('.')})."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"It must be text; got {value!r}.")
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):  # which would be read letter by letter
        raise InputError(f"They must be a sequence of texts; got the text {value!r}.")
    return [_text(one) for one in value]


def _seconds(value: Any) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"They must be a number of seconds, 0 or more; got {value!r}.")
    return float(value)


def _figures(value: Sequence[Any]) -> list[SectionFigure]:
    for one in value:
        if not isinstance(one, SectionFigure):
            raise InputError(f"figures must be a sequence of SectionFigure; got {one!r}.")
    return list(value)


def _plain(value: Any) -> Any:
    """What JSON can hold, tried here so that the file of all results can be written."""
    plain = to_jsonable(value)
    json.dumps(plain, allow_nan=False)
    return plain


# Method -> how its answer is checked, what stands for none, and what it is called in a note.
ANSWERS: dict[Hook, tuple[Callable[[Any], Any], Any, str]] = {
    "missing": (_text, "", "what it needs"),
    "expected_seconds": (_seconds, 1.0, "how long it takes"),
    "failure": (_text, "", "why it failed"),
    "sentence": (_text, "", "its sentence of the summary"),
    "at_once": (_text, "", "what it found"),
    "warnings": (_texts, (), "its warnings"),
    "notes": (_texts, (), "its notes"),
    "figures": (_figures, (), "its figures"),
    "citations": (_texts, (), "what it cites"),
    "body": (_text, "", "its text"),
    "code": (_text, "", "its Python"),
    "to_dict": (_plain, None, "what to keep of it"),
}
