"""Sentences on the factors of the manifold; the summary and the warnings of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from geodis.base.text import counted, listed
from geodis.manifold.doubts import Doubt, doubt
from geodis.report.analysis import Analysis
from geodis.report.section import Hook, Section, call_hook, note_of

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


def reasons_of_doubt(analysis: Analysis, est: GeoManCER) -> list[Doubt]:
    """Collect the reasons for which the factors are uncertain."""
    reasons = list(est.doubts_)
    if not (reasons or dimension_is_clear(analysis)):
        assert analysis.inspection is not None
        estimate = analysis.inspection.dimension
        reasons.append(doubt("unclear-dimension", "dimension", estimate=estimate.account))
    if tally := not_found_again(est):
        reasons.append(doubt("refits-disagree", "split", tally=tally.rstrip(".")))
    return reasons


def dimension_is_clear(analysis: Analysis) -> bool:
    """Return whether the dimension was given, or its estimates agree."""
    seen = analysis.inspection
    return analysis.settings.dim is not None or seen is None or seen.dimension.agree


def found_in_words(analysis: Analysis, est: GeoManCER) -> str:
    """State dimension and factors in a sentence, which starts with "Uncertain" if they are."""
    found = f"{where_points_lie(analysis, est)} that {how_it_splits(est)}."
    return f"Uncertain: t{found[1:]}" if reasons_of_doubt(analysis, est) else found


def where_points_lie(analysis: Analysis, est: GeoManCER) -> str:
    """Write the first half of the sentence: the dimension, and whether it is certain."""
    if not dimension_is_clear(analysis):
        seen = analysis.inspection
        assert seen is not None
        sure = "undecided" if seen.dimension.verdict == "undecided" else "in doubt"
        about = counted(est.dim_, "dimension")
        return f"The points lie on a manifold of about {about} (the dimension is {sure})"
    return f"The points lie on a {est.dim_}-dimensional manifold"


def how_it_splits(est: GeoManCER) -> str:
    """Write the second half of the sentence: the factors."""
    dims = [int(dim) for dim in est.factor_dims_]
    flat = [bool(flag) for flag in est.flat_]
    split = "was not split into factors"
    if len(dims) > 1:
        split = f"splits into {len(dims)} factors of dimension {listed(dims)}"
    if sum(flat) == 1 and dims[flat.index(True)] > 1:
        split += f", the one of dimension {dims[flat.index(True)]} flat" if len(dims) > 1 else ""
    elif sum(flat) > 1:
        split += ", all flat" if all(flat) else f", {sum(flat)} of them flat"
    departure = est.departure_
    if departure is not None and not departure.is_product:
        low, high = 100 * departure.low, 100 * departure.high
        split += f", approximately: lengths depart from a product by {low:.0f} to {high:.0f} %"
    return split


def not_found_again(est: GeoManCER) -> str:
    """Return the tally of refits, if any of them found other factors."""
    confidence = est.confidence_
    if confidence is None or sum(confidence.found.values()) == confidence.agreeing:
        return ""
    return confidence.tally


def factor_bounds(est: GeoManCER) -> list[str]:
    """Return error bounds of the directions of each factor; empty if factors are uncertain."""
    confidence = est.confidence_
    if confidence is None or est.uncertain_ or not_found_again(est):
        return [""] * est.n_factors_
    return [f", {text}" if text else "" for text in confidence.bounds()]


def confidence_warnings(est: GeoManCER) -> list[str]:
    """Return warnings from refits that found other factors."""
    notes = [] if est.confidence_ is None else list(est.confidence_.notes)
    if tally := not_found_again(est):
        notes.append(doubt("refits-disagree", "split", tally=tally.rstrip(".")).advice)
    return notes


def doubt_warnings(est: GeoManCER) -> list[str]:
    """Return the doubts about the factors, each with advice."""
    return [f"The factors are uncertain. {doubt.advice}" for doubt in est.doubts_]


def flat_part_warnings(est: GeoManCER) -> list[str]:
    """Return warnings on whether and how the flat part was split."""
    flat = est.flat_evidence_
    if flat is None:
        return []
    warnings = []
    if flat.refused and not flat.doubts:  # doubts give the same reason
        why = "; ".join(flat.reasons) or "its directions could not be identified"
        warnings.append(f"The flat part of dimension {flat.dim} was left as one factor: {why}.")
    if len(flat.factor_dims) > 1:
        warnings.append(
            "The flat part was split by periods or by independence, which is an assumption: "
            "correlated normal variables are split along their principal axes."
        )
    return warnings


def fit_warnings(analysis: Analysis, est: GeoManCER) -> list[str]:
    """Return warnings on convergence and on rows that were not fitted."""
    warnings = []
    if not est.converged_:
        warnings.append("GeoManCER did not converge: its directions are less certain.")
    used, n = len(est.axes_), len(analysis.material.rows)
    if used < n:
        warnings.append(
            f"Factors of the manifold were sought in {used:,} of {n:,} rows, to limit the run time."
        )
    return warnings


# The summary and the warnings of a page.

# Methods that are called whether or not a page is written.
ALWAYS_CALLED: tuple[Hook, ...] = ("sentence", "warnings", "notes", "to_dict")


def summarise(sections: Sequence[Section], analysis: Any) -> tuple[str, ...]:
    """Collect the summary sentences of all sections."""
    sentences = (call_hook(section, "sentence", analysis).value for section in sections)
    return tuple(sentence for sentence in sentences if sentence)


def collect_warnings(sections: Sequence[Section], analysis: Any) -> tuple[str, ...]:
    """Collect the warnings of all sections, the most important first."""
    parts = getattr(analysis, "parts", {})
    failed = [
        f"{section.title}: failed. {part.failure}"
        for section in sections
        if (part := parts.get(section.name)) and part.applies and part.failure
    ]
    problems = [text for section in sections for text in _hook_problems(section, analysis, parts)]
    warnings = [
        text for section in sections for text in call_hook(section, "warnings", analysis).value
    ]
    notes = [text for section in sections for text in call_hook(section, "notes", analysis).value]
    return tuple(_each_once([*failed, *problems, *warnings, *notes]))


def _each_once(texts: Sequence[str]) -> list[str]:
    """Drop duplicates, and texts that another text contains."""
    texts = list(dict.fromkeys(texts))
    bare = [text.rstrip(".").lower() for text in texts]
    return [
        text
        for text, own in zip(texts, bare, strict=True)
        if not any(own in other and own != other for other in bare)
    ]


def _hook_problems(section: Section, analysis: Any, parts: Any) -> Iterator[str]:
    """Write notes on methods of a section that failed, unless the section did not run."""
    part = parts.get(section.name)
    if part is not None and part.failure:
        return
    missing, problem = call_hook(section, "missing", analysis)
    if problem:
        yield note_of(section, "missing", problem)
    if missing or problem:
        return
    for hook in ALWAYS_CALLED:
        if problem := call_hook(section, hook, analysis).problem:
            yield note_of(section, hook, problem)
