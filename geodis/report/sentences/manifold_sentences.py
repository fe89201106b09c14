"""What the section on the manifold says: two halves of a sentence, and doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geodis.base.text import listed
from geodis.report.analysis import Analysis

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


def where_points_lie(analysis: Analysis, est: GeoManCER) -> str:
    """The first half of the sentence: the dimension, and whether its estimates agree."""
    seen = analysis.inspection
    if analysis.settings.dim is None and seen is not None and not seen.dimension.agree:
        other = max(1, round(seen.dimension.two_nn))
        return (
            f"The points lie on a manifold of about {est.dim_} dimensions (another estimate says "
            f"{other})"
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
    return split + "; the number of factors is uncertain" * bool(est.uncertain_)


def number_warnings(est: GeoManCER) -> list[str]:
    """Why the number of factors is uncertain, for every part that was split."""
    return [
        f"The number of factors is uncertain: {'; '.join(evidence.doubts)}."
        for evidence in est.evidence_
        if evidence.doubts
    ]


def flat_part_warnings(est: GeoManCER) -> list[str]:
    """Whether and how the flat part was split."""
    flat = est.flat_evidence_
    if flat is None:
        return []
    warnings = []
    if flat.refused:
        why = "; ".join(flat.reasons) or "its directions could not be told apart"
        warnings.append(f"The flat part of dimension {flat.dim} was left as one factor: {why}.")
    if flat.doubts:
        warnings.append(f"How the flat part was split is uncertain: {'; '.join(flat.doubts)}.")
    if len(flat.factor_dims) > 1:
        warnings.append(
            "The flat part was split by periods or by independence, which is assumed there, not "
            "proved: correlated normal variables pass as their principal axes."
        )
    return warnings


def fit_warnings(analysis: Analysis, est: GeoManCER) -> list[str]:
    """Points without directions, no convergence, rows that were left out for time."""
    warnings = []
    lost = int((~np.isfinite(est.axes_).all(axis=(1, 2))).sum())
    if lost:
        warnings.append(
            f"{lost:,} points lie in pieces of the graph that do not split like the largest: no "
            "directions were found for them."
        )
    if not est.converged_:
        warnings.append("GeoManCER did not converge: its directions are less certain.")
    used, n = len(est.axes_), len(analysis.material.rows)
    if used < n:
        warnings.append(
            f"Factors of the manifold were sought in {used:,} of {n:,} rows, for the sake of time."
        )
    return warnings
