"""What the sections of a page say: the summary, and what to read before trusting the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from geodis.report.ask import Hook, ask, note_of
from geodis.report.section import Section

# What is said whether or not a page is written.
SPOKEN: tuple[Hook, ...] = ("sentence", "warnings", "notes", "to_dict")


def summarise(sections: Sequence[Section], analysis: Any) -> tuple[str, ...]:
    """One sentence from each section that has one."""
    sentences = (ask(section, "sentence", analysis).value for section in sections)
    return tuple(sentence for sentence in sentences if sentence)


def collect_warnings(sections: Sequence[Section], analysis: Any) -> tuple[str, ...]:
    """Where a number should not be trusted, and why; what matters most first."""
    parts = getattr(analysis, "parts", {})
    failed = [
        f"{section.title}: not done. {part.failure}"
        for section in sections
        if (part := parts.get(section.name)) and part.applies and part.failure
    ]
    silent = [text for section in sections for text in _silences(section, analysis, parts)]
    said = [text for section in sections for text in ask(section, "warnings", analysis).value]
    noted = [text for section in sections for text in ask(section, "notes", analysis).value]
    return tuple(_each_once([*failed, *silent, *said, *noted]))


def _each_once(texts: Sequence[str]) -> list[str]:
    """The texts without those that another one says in full, with more."""
    texts = list(dict.fromkeys(texts))
    bare = [text.rstrip(".").lower() for text in texts]
    return [
        text
        for text, own in zip(texts, bare, strict=True)
        if not any(own in other and own != other for other in bare)
    ]


def _silences(section: Section, analysis: Any, parts: Any) -> Iterator[str]:
    """What a section could not say, unless it failed or does not apply."""
    part = parts.get(section.name)
    if part is not None and part.failure:
        return
    missing, problem = ask(section, "missing", analysis)
    if problem:
        yield note_of(section, "missing", problem)
    if missing or problem:
        return
    for hook in SPOKEN:
        if problem := ask(section, hook, analysis).problem:
            yield note_of(section, hook, problem)
