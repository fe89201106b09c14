"""Findings -> three plain sentences, and warnings of numbers that should not be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.distances.grid_distances import GROUND_TRUTH, LATENT, PERCEIVED

if TYPE_CHECKING:
    from geodis.report.results import Report

# Scores named in the summary, the first two that there are.
LEADING = ("dci_disentanglement", "mig", "modularity", "axis_ratio")
# Chance and value nearer than this cannot be told apart by one permutation.
NEAR_CHANCE = 0.02
SAID = ("The neighbour graph is in", "Dimension ")


def summarise(report: Report) -> tuple[str, str, str]:
    """The geometry, the scores and the distances, in a sentence each."""
    return _of_geometry(report), _of_scores(report), _of_distances(report)


def _of_geometry(report: Report) -> str:
    est = report.manifold
    if est is None:
        if report.inspection is None:
            return "The geometry of the points could not be analysed."
        dim = report.inspection.dimension.dim
        if not np.isfinite(report.inspection.dimension.two_nn):
            return "The dimension of the points could not be estimated: they are evenly spaced."
        return (
            f"The points have about {dim} dimension{'s' * (dim != 1)}, and were not split into "
            f"factors: {_first(report.parts['manifold'].failure)}"
        )
    dims = [int(dim) for dim in est.factor_dims_]
    flat = [bool(flag) for flag in est.flat_]
    if len(dims) == 1:
        split = "does not split into factors"
    else:
        split = f"splits into {len(dims)} factors of dimension {_listed(dims)}"
    if sum(flat) == 1 and dims[flat.index(True)] > 1:
        split += f", the one of dimension {dims[flat.index(True)]} flat" if len(dims) > 1 else ""
    elif sum(flat) > 1:
        split += f", {sum(flat)} of them flat"
    doubt = "; the number of factors is uncertain" if est.uncertain_ else ""
    lie = f"The points lie on a {est.dim_}-dimensional manifold"
    seen = report.inspection
    if report.settings["dim"] is None and seen is not None and not seen.dimension.agree:
        other = max(1, round(seen.dimension.two_nn))
        lie = (
            f"The points lie on a manifold of about {est.dim_} dimensions (another estimate says "
            f"{other})"
        )
    return f"{lie} that {split}{doubt}."


def _of_scores(report: Report) -> str:
    table = report.scores
    if table is None:
        if not report.settings["has_factors"]:
            return (
                "No factors of variation were given: with them the report would say how "
                "disentangled the columns are, by every score, each beside chance."
            )
        return f"The scores could not be computed: {_first(report.parts['scores'].failure)}"
    frame = table.frame
    # With one factor some scores are 1 by definition, and by chance: they say nothing here.
    known = [name for name in LEADING if name in frame.index]
    telling = [name for name in known if above_chance(frame.loc[name])]
    known = (telling or known)[:2]
    named = [
        f"{_called(name)} is {frame.at[name, 'value']:.2f} (chance {frame.at[name, 'chance']:.2f})"
        for name in known
    ]
    judged = judged_scores(frame)
    above = int(above_chance(judged).sum())
    text = f"{above} of {len(judged)} scores are above chance"
    text = f"{_listed(named)}; {text}" if named else text
    worst = _extremes(table)
    return f"{text[0].upper()}{text[1:]}{worst}."


def judged_scores(frame: Any) -> Any:
    """Scores that can be held against chance; an efficiency compares accuracies with each other."""
    return frame[frame["chance"].notna() & ~frame.index.str.endswith("_efficiency")]


def above_chance(rows: Any) -> Any:
    """Whether scores are so far above chance that one permutation can tell."""
    return rows["value"] > rows["chance"] + NEAR_CHANCE


def _extremes(table: Any) -> str:
    for name in ("mig", "sap_continuous", "dci"):
        if name in table.scores and name in table.per_factor.index and len(table.factor_names) > 1:
            parts = table.per_factor.loc[name].astype(float)
            if parts.notna().sum() > 1:
                return (
                    f"; by {_called(name)} the latents tell {parts.idxmax()} apart best "
                    f"({parts.max():.2f}) and {parts.idxmin()} worst ({parts.min():.2f})"
                )
    return ""


def _of_distances(report: Report) -> str:
    found = report.distances
    if found is None:
        if report.parts["distances"].failure and report.settings["has_factors"]:
            why = _first(report.parts["distances"].failure)
            return f"Distances could not be compared: {why}"
        return (
            "Distances of the points had nothing to be compared with: factors, images or both "
            "would give ground-truth and perceived distances."
        )
    if found.correlations is None:
        return (
            f"Distances between the points follow perceived distances between the images with "
            f"rank correlation {found.plain.spearman:.2f}."
        )
    agreed = found.correlations
    key = (GROUND_TRUTH, LATENT)
    parts = {name: item[key].spearman for name, item in agreed.factors.items()}
    text = (
        "Distances between the latents follow those between the factors with rank correlation "
        f"{agreed.random[key].spearman:.2f} for random pairs"
    )
    if parts:
        best, worst = max(parts, key=parts.__getitem__), min(parts, key=parts.__getitem__)
        ends = f", best along {best} ({parts[best]:.2f})" if len(parts) > 1 else ""
        ends += f" and worst along {worst} ({parts[worst]:.2f})" if len(parts) > 1 else ""
        text += f" and {agreed.overall[key][1]:.2f} along factors{ends}"
    if (GROUND_TRUTH, PERCEIVED) in agreed.random:
        seen = agreed.random[(GROUND_TRUTH, PERCEIVED)].spearman
        text += f"; those between the images do with {seen:.2f}"
    return f"{text}."


def collect_warnings(report: Report) -> tuple[str, ...]:
    """Where a number should not be trusted, and why; what matters most first."""
    found = [
        f"{_title(part.name)}: not done. {part.failure}"
        for part in report.parts.values()
        if part.failure
        and not (
            part.name in ("scores", "distances")
            and part.value is None
            and not report.settings["has_factors"]
        )
    ]
    found += _of_points(report.inspection) + _of_manifold(report)
    found += list(report.material.notes)
    if report.scores is not None:
        near = judged_scores(report.scores.frame)
        near = near[~above_chance(near)]
        if len(near):
            names = ", ".join(map(str, near.index))
            found.append(f"Not above chance, so without meaning here: {names}.")
    if report.distances is not None and report.distances.correlations is not None:
        note = report.distances.correlations.note
        found += [f"Distances: {note}"] if "Left out" in note else []
        factors = report.material.factors
        known = () if factors is None else factors.categories
        unordered = [name for name in report.distances.correlations.factors if name in known]
        if unordered:
            found.append(
                f"The labels of {_listed(unordered)} have no order: their ground-truth distances "
                "count steps between labels in the order of the alphabet."
            )
    for part in report.parts.values():
        # What GeoManCER warns of, of pieces and dimensions, is said above with the same numbers.
        said = part.name == "manifold" and report.inspection is not None
        found += [note for note in part.notes if not (said and note.startswith(SAID))]
    return tuple(dict.fromkeys(found))


def _of_points(seen: Any) -> list[str]:
    if seen is None:
        return []
    found = []
    if seen.enough_points != "yes" and np.isfinite(seen.dimension.two_nn):
        few = "too few" if seen.enough_points == "no" else "few"
        found.append(
            f"{seen.n_used:,} points are {few} for dimension {seen.dimension.dim}: {seen.needed:,} "
            f"are needed to look for factors, and {seen.recommended:,} to trust what is found."
        )
    if len(seen.pieces) > 1:
        found.append(
            f"The neighbour graph is in {len(seen.pieces)} pieces (the largest of "
            f"{seen.pieces[0]:,} points): factor labels are comparable only within a piece."
        )
    if not seen.dimension.agree:
        text = str(seen.dimension)
        found.append(f"{text[0].upper()}{text[1:]}.")
    if seen.constant_columns:
        found.append(f"Columns without variation: {_listed(seen.constant_columns)}.")
    if seen.duplicate_columns:
        pairs = [f"{b} = {a}" for a, b in seen.duplicate_columns]
        found.append(f"Equal columns: {_listed(pairs[:8])}.")
    if seen.duplicate_rows:
        found.append(f"{seen.duplicate_rows:,} rows repeat others, and count once in the geometry.")
    return found


def _of_manifold(report: Report) -> list[str]:
    est = report.manifold
    if est is None:
        return []
    found = [
        f"The number of factors is uncertain: {'; '.join(item.doubts)}."
        for item in est.evidence_
        if item.doubts
    ]
    flat = est.flat_evidence_
    if flat is not None and flat.refused:
        found.append(
            f"The flat part of dimension {flat.dim} was left as one factor: "
            f"{'; '.join(flat.reasons) or 'its directions could not be told apart'}."
        )
    if flat is not None and flat.doubts:
        found.append(f"How the flat part was split is uncertain: {'; '.join(flat.doubts)}.")
    if flat is not None and len(flat.factor_dims) > 1:
        found.append(
            "The flat part was split by periods or by independence, which is assumed there, not "
            "proved: correlated normal variables pass as their principal axes."
        )
    lost = int((~np.isfinite(est.axes_).all(axis=(1, 2))).sum())
    if lost:
        found.append(
            f"{lost:,} points lie in pieces of the graph that do not split like the largest: no "
            "directions were found for them."
        )
    if not est.converged_:
        found.append("GeoManCER did not converge: its directions are less certain.")
    used = report.factorised
    if used is not None and len(used.rows) < len(report.material.rows):
        found.append(
            f"Factors of the manifold were sought in {len(used.rows):,} of "
            f"{len(report.material.rows):,} rows, for the sake of time."
        )
    return found


def _title(name: str) -> str:
    titles = {"inspection": "First look", "manifold": "Factors of the manifold"}
    return titles.get(name, name.capitalize())


def _called(name: str) -> str:
    known = {
        "dci_disentanglement": "DCI disentanglement",
        "dci": "DCI",
        "mig": "MIG",
        "sap_continuous": "SAP",
        "axis_ratio": "the axis ratio",
    }
    return known.get(name, name)


def _listed(items: Any) -> str:
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _first(text: str) -> str:
    """The first sentence of a reason, ended by a full stop."""
    text = text.split(". ")[0].rstrip(".")
    return f"{text}." if text else "it did not run."
