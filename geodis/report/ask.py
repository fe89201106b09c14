"""A section is asked for what it has to say; one that cannot say it leaves the others be."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from geodis.base.check import InputError
from geodis.base.write import to_jsonable
from geodis.report.section import Section, SectionFigure

Hook = Literal[
    "needs",
    "expected_seconds",
    "failure",
    "sentence",
    "at_once",
    "warnings",
    "notes",
    "figures",
    "citations",
    "body",
    "code",
    "to_dict",
]

# What must stay with the section that it happens in: code of others may even end the program.
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
    read, nothing = ANSWERS[hook]
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
    return f"{section.title}: could not say {MEANINGS[hook]} ({problem.rstrip('.')})."


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


# How an answer is read, and what stands for none.
ANSWERS: dict[Hook, tuple[Callable[[Any], Any], Any]] = {
    "needs": (_text, ""),
    "expected_seconds": (_seconds, 1.0),
    "failure": (_text, ""),
    "sentence": (_text, ""),
    "at_once": (_text, ""),
    "warnings": (_texts, ()),
    "notes": (_texts, ()),
    "figures": (_figures, ()),
    "citations": (_texts, ()),
    "body": (_text, ""),
    "code": (_text, ""),
    "to_dict": (_plain, None),
}
MEANINGS: dict[Hook, str] = {
    "needs": "what it needs",
    "expected_seconds": "how long it takes",
    "failure": "why it failed",
    "sentence": "its sentence of the summary",
    "at_once": "what it found",
    "warnings": "its warnings",
    "notes": "its notes",
    "figures": "its figures",
    "citations": "what it cites",
    "body": "its text",
    "code": "its Python",
    "to_dict": "what to keep of it",
}
