"""Step 3: what all sections say -> the summary, and what to read before trusting the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geodis.report.analysis import Analysis
from geodis.report.ask import Hook, ask, note_of
from geodis.report.registry import all_sections
from geodis.report.section import Section

# What is written whether or not there is a page.
SPOKEN: tuple[Hook, ...] = ("sentence", "warnings", "notes", "to_dict")


def summarise(analysis: Analysis) -> tuple[str, ...]:
    """The geometry, the scores and the distances, in a sentence each; and added sections."""
    sentences = (ask(section, "sentence", analysis).value for section in all_sections())
    return tuple(sentence for sentence in sentences if sentence)


def collect_warnings(analysis: Analysis) -> tuple[str, ...]:
    """Where a number should not be trusted, and why; what matters most first."""
    sections = all_sections()
    failed = [
        f"{section.title}: not done. {part.failure}"
        for section in sections
        if (part := analysis.parts.get(section.name)) and part.applies and part.failure
    ]
    silent = [text for section in sections for text in _silences(section, analysis)]
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


def _silences(section: Section, analysis: Analysis) -> Iterator[str]:
    """What a section could not say, unless it has nothing to speak of anyway."""
    part = analysis.parts.get(section.name)
    if part is not None and part.failure:
        return
    needed, problem = ask(section, "needs", analysis.material, analysis.settings)
    if problem:
        yield note_of(section, "needs", problem)
    if needed or problem:
        return
    for hook in SPOKEN:
        if problem := ask(section, hook, analysis).problem:
            yield note_of(section, hook, problem)
