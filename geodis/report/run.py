"""Step 2: rows -> every section computes its part, whatever becomes of the others."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from geodis.base.log import LOG
from geodis.base.progress import Stages
from geodis.report.analysis import Analysis, Part, ReportSettings
from geodis.report.ask import FAILURES, ask, note_of, reason_of
from geodis.report.material import Material
from geodis.report.registry import computing_sections
from geodis.report.section import Section


def run_sections(
    material: Material,
    settings: ReportSettings,
    verbose: bool | int,
    tell: Callable[[str], object] | None = None,
) -> Analysis:
    """Run every section that computes and applies, and tell what each has found."""
    computing = computing_sections()
    parts = {section.name: Part(section.name) for section in computing}
    analysis = Analysis(parts, material, settings)
    for section in computing:
        part, (missing, problem) = parts[section.name], ask(section, "missing", analysis)
        part.applies, part.failure = not missing, missing or problem
    left = [section for section in computing if not parts[section.name].failure]
    expected = [_expected_seconds(section, analysis) for section in left]
    with Stages("report", verbose) as stages:
        for i, section in enumerate(left):
            with stages.stage(section.name), _time_left(stages, expected[i:], sum(expected)):
                _attempt(section, analysis)
            if tell is not None and (said := ask(section, "at_once", analysis).value):
                tell(said)
    return analysis


def _expected_seconds(section: Section, analysis: Analysis) -> float:
    """About how long a section takes; one that cannot say so has a note."""
    seconds, problem = ask(section, "expected_seconds", analysis.material, analysis.settings)
    if problem:
        analysis.parts[section.name].notes.append(note_of(section, "expected_seconds", problem))
    return float(seconds)


def _attempt(section: Section, analysis: Analysis) -> None:
    """Run one section, and keep what it warned of, or why it failed."""
    part = analysis.parts[section.name]
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        for category in (UserWarning, RuntimeWarning):  # never errors here, whatever the filters
            warnings.simplefilter("always", category)
        try:
            part.value = section.compute(analysis)
        except FAILURES as problem:  # one part must not take the others with it
            part.failure = reason_of(problem)
            LOG.warning("report: %s failed", section.name, exc_info=True)
    part.seconds = time.perf_counter() - start
    part.notes += dict.fromkeys(_notes(part.name, caught))


def _notes(name: str, caught: Sequence[warnings.WarningMessage]) -> Iterator[str]:
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning):
            yield f"Numerical warning ({name}): {warning.message}."
        elif issubclass(warning.category, UserWarning):
            yield str(warning.message)


@contextmanager
def _time_left(stages: Stages, left: Sequence[float], total: float) -> Iterator[None]:
    """Count down while a part runs: its own expected time, and that of the parts after it."""
    start, over = time.perf_counter(), threading.Event()

    def show() -> None:
        passed = time.perf_counter() - start
        # A part that takes longer than expected holds the clock still; it does not run backwards.
        seconds = max(left[0] - passed, 0) + sum(left[1:])
        stages.advance(1 - seconds / total, f"(about {seconds:.0f} s left)")

    def count_down() -> None:
        show()
        while not over.wait(1.0):
            show()

    counter = threading.Thread(target=count_down, daemon=True)
    counter.start()
    try:
        yield
    finally:
        over.set()
        counter.join()
