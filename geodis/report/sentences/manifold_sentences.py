"""What the section on the manifold says: two halves of a sentence, and doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodis.base.text import listed
from geodis.report.analysis import Analysis

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


def where_points_lie(analysis: Analysis, est: GeoManCER) -> str:
    """The first half of the sentence: the dimension, and whether it is sure."""
    seen = analysis.inspection
    if analysis.settings.dim is None and seen is not None and not seen.dimension.agree:
        sure = "undecided" if seen.dimension.verdict == "undecided" else "in doubt"
        return (
            f"The points lie on a manifold of about {est.dim_} dimensions (their number is {sure})"
        )
    return f"The points lie on a {est.dim_}-dimensional manifold"


def how_it_splits(est: GeoManCER) -> str:
    """The second half: the factors, and whether their number is certain."""
    dims = [int(dim) for dim in est.factor_dims_]
    flat = [bool(flag) for flag in est.flat_]
    split = "does not split into factors"
    if len(dims) > 1:
        split = f"splits into {len(dims)} factors of dimension {listed(dims)}"
    if sum(flat) == 1 and dims[flat.index(True)] > 1:
        split += f", the one of dimension {dims[flat.index(True)]} flat" if len(dims) > 1 else ""
    elif sum(flat) > 1:
        split += f", {sum(flat)} of them flat"
    departure = est.departure_
    if departure is not None and not departure.is_product:
        low, high = 100 * departure.low, 100 * departure.high
        split += f", nearly: lengths depart from a product's by {low:.0f} to {high:.0f} %"
    return split + "; this is uncertain, for the reasons below" * bool(est.uncertain_)


def how_sure(est: GeoManCER) -> str:
    """Whether a repeated fit finds the same, and how far the directions of factors err."""
    return "" if est.confidence_ is None else est.confidence_.sentence


def factor_bounds(est: GeoManCER) -> list[str]:
    """What is said beside each factor of how far its directions err; nothing if unknown."""
    confidence = est.confidence_
    if confidence is None:
        return [""] * est.n_factors_
    return [f", {text}" if text else "" for text in confidence.bounds()]


def confidence_warnings(est: GeoManCER) -> list[str]:
    """Whether repeated fits found other factors."""
    confidence = est.confidence_
    if confidence is None:
        return []
    others = sum(confidence.found.values()) - confidence.agreeing
    warnings = list(confidence.notes)
    if others:
        warnings.append(f"The factors were not found again: {confidence.tally}")
    return warnings


def doubt_warnings(est: GeoManCER) -> list[str]:
    """Every reason not to publish the factors without reading it, with what to do."""
    return [f"The factors are uncertain. {doubt[0].upper()}{doubt[1:]}." for doubt in est.doubts_]


def flat_part_warnings(est: GeoManCER) -> list[str]:
    """Whether and how the flat part was split."""
    flat = est.flat_evidence_
    if flat is None:
        return []
    warnings = []
    if flat.refused and not flat.doubts:  # else they say it
        why = "; ".join(flat.reasons) or "its directions could not be told apart"
        warnings.append(f"The flat part of dimension {flat.dim} was left as one factor: {why}.")
    if len(flat.factor_dims) > 1:
        warnings.append(
            "The flat part was split by periods or by independence, which is assumed there, not "
            "proved: correlated normal variables pass as their principal axes."
        )
    return warnings


def fit_warnings(analysis: Analysis, est: GeoManCER) -> list[str]:
    """No convergence, rows that were left out for time."""
    warnings = []
    if not est.converged_:
        warnings.append("GeoManCER did not converge: its directions are less certain.")
    used, n = len(est.axes_), len(analysis.material.rows)
    if used < n:
        warnings.append(
            f"Factors of the manifold were sought in {used:,} of {n:,} rows, for the sake of time."
        )
    return warnings
