"""What all sections have to say -> the summary, and what to read before trusting the numbers."""

from __future__ import annotations

from geodis.report.analysis import Analysis
from geodis.report.registry import all_sections


def summarise(analysis: Analysis) -> tuple[str, ...]:
    """The geometry, the scores and the distances, in a sentence each; and added sections."""
    sentences = (section.sentence(analysis) for section in all_sections())
    return tuple(sentence for sentence in sentences if sentence)


def collect_warnings(analysis: Analysis) -> tuple[str, ...]:
    """Where a number should not be trusted, and why; what matters most first."""
    sections = all_sections()
    failed = [
        f"{section.title}: not done. {part.failure}"
        for section in sections
        if (part := analysis.parts.get(section.name)) and part.applies and part.failure
    ]
    said = [text for section in sections for text in section.warnings(analysis)]
    noted = [text for section in sections for text in section.notes(analysis)]
    return tuple(dict.fromkeys([*failed, *said, *noted]))
