"""The sections on the factors of the manifold and on the points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from geodis.base.check import InputError
from geodis.base.text import counted, first_sentence
from geodis.manifold.doubts import with_sentences
from geodis.plots.geometry.points import point_cloud
from geodis.plots.geometry.shown_rows import words_of
from geodis.plots.geometry.spectra import eigenvalue_spectrum_figure
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import Material
from geodis.report.page.score_cards import fitted_rows, render_template, seed_argument, shown_value
from geodis.report.section import Section, SectionFigure
from geodis.report.sections.inspection import InspectionSection, variance_figures
from geodis.report.sentences import (
    confidence_warnings,
    dimension_is_clear,
    doubt_warnings,
    factor_bounds,
    fit_warnings,
    flat_part_warnings,
    found_in_words,
)

if TYPE_CHECKING:
    from geodis.inspection import Inspection
    from geodis.manifold.geomancer import GeoManCER


# Largest estimated dimension in which factors are sought. The work grows with the fourth power of
# the dimension, and the required number of points with the second.
MAX_DIM = 9
# The number n of fitted rows keeps n k^4 below this: about ten seconds on two cores.
WORK = 1.2e7
# Doubts about the fit that the inspection has already reported.
REPORTED = ("pieces", "limited-dimension", "unclear-dimension")
# Fields of the flat evidence to store; its contrasts contain functions.
FLAT_KEPT = (
    "dim", "factor_dims", "hol", "turn", "rel", "instability", "contrast", "information", "strain",
    "quality", "reasons", "doubts", "notes",
)  # fmt: skip


class Factorisation(NamedTuple):
    """A fitted estimator, and its fitted rows."""

    est: GeoManCER
    rows: Material


class ManifoldSection(Section):
    """Factors found by parallel transport."""

    name = "manifold"
    title = "Factors of the manifold"
    about = (
        "Without flat parts, the number of factors is one plus the number of parallel fields "
        "(near-zero eigenvalues); a wider gap above them makes the number more certain. A flat "
        "part has more parallel fields, and is split by its coordinates."
    )
    source = (
        "Pfau, Higgins, Botev and Racanière (2020), Disentangling by Subspace Diffusion; "
        "dimension by Levina and Bickel (2004) and Facco et al. (2017)."
    )
    cites = ("pfau2020", "levina2004", "facco2017")
    reads = ("inspection",)

    def expected_seconds(self, material: Material, settings: ReportSettings) -> float:
        """Proportional to the fourth power of the dimension."""
        n, z = material.latents.shape
        dim = settings.dim or min(z, 6)
        # A fit, and half as long again for its confidence.
        return 3 + 6e-7 * min(n, rows_for(dim)) * dim**4

    def compute(self, analysis: Analysis) -> Factorisation:
        """Fit a GeoManCER to at most `rows_for` rows."""
        from geodis.manifold.geomancer import GeoManCER

        settings = analysis.settings
        dim = settings.dim
        if dim is None and analysis.inspection is not None:
            dim = _estimated_dim(analysis.inspection)
        rows = analysis.material.thinned(rows_for(dim or 2), settings.random_state)
        est = GeoManCER(
            dim="auto" if settings.dim is None else settings.dim,
            n_factors="auto" if settings.n_factors is None else settings.n_factors,
            **settings.compared,
            random_state=settings.random_state,
            verbose=0,
        )
        given = rows.latents.astype(np.uint8) if rows.of_bytes else rows.latents
        return Factorisation(est.fit(given, times=rows.times, confidence="quick"), rows)

    def sentence(self, analysis: Analysis) -> str:
        """Dimension and factors, or why there are none."""
        est, seen = analysis.manifold, analysis.inspection
        if est is not None:
            spaces = _spaces(analysis)
            return f"{found_in_words(analysis, est)} {spaces}".rstrip()
        if seen is None:
            return "The geometry of the points could not be analysed."
        if not np.isfinite(seen.dimension.two_nn):
            return "The dimension of the points could not be estimated: they are evenly spaced."
        dim = seen.dimension.dim
        opening = "The" if dimension_is_clear(analysis) else "Uncertain: the"
        return (
            f"{opening} points have about {counted(dim, 'dimension')}, and were not split into "
            f"factors: {first_sentence(analysis.parts[self.name].failure)}"
        )

    def warnings(self, analysis: Analysis) -> list[str]:
        """Doubts about the number of factors and about their directions."""
        est = analysis.manifold
        if est is None:
            return []
        return [
            *doubt_warnings(est),
            *confidence_warnings(est),
            *flat_part_warnings(est),
            *fit_warnings(analysis, est),
        ]

    def notes(self, analysis: Analysis) -> Sequence[str]:
        """Leave out doubts that the inspection has reported."""
        from geodis.manifold.fit_doubts import doubts_to_warn_of

        notes, est = super().notes(analysis), analysis.manifold
        if analysis.inspection is None or est is None:
            return notes
        doubts = doubts_to_warn_of(est.fitted_)
        reported = {doubt.advice for doubt in doubts if doubt.code in REPORTED}
        return [note for note in notes if note not in reported]

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """The spectra of the principal components and of the eigenfields."""
        est, figures = analysis.manifold, variance_figures(analysis)
        if est is not None and est.evidence_:
            figures.append(SectionFigure("spectrum", lambda: eigenvalue_spectrum_figure(est)))
        return figures

    def body(self, analysis: Analysis) -> str:
        """The inspection, the factors, the evidence for them, and the result of refits."""
        confidence = None if analysis.manifold is None else analysis.manifold.confidence_
        return render_template(
            "manifold.html",
            first_look=InspectionSection().body(analysis),
            factors=_factors(analysis.manifold),
            evidence=_evidence(analysis.manifold),
            confidence="" if confidence is None else confidence.sentence,
        )

    def code(self, analysis: Analysis) -> str:
        """Code for the fit."""
        settings = analysis.settings
        given = [f"dim={settings.dim}"] if settings.dim else []
        given += [f"n_factors={settings.n_factors}"] if settings.n_factors else []
        given += [
            f"{name}={shown_value(getattr(settings, name))}"
            for name in ("prepare", "metric")
            if getattr(settings, name) != getattr(ReportSettings, name)
        ]
        call = f"gd.GeoManCER({', '.join([*given, seed_argument(settings)])})"
        fitted = f'est = {call}.fit({fitted_rows(analysis)}, confidence="quick")'
        return f"{fitted}\nprint(est)\nprint(est.confidence_)"

    def to_dict(self, analysis: Analysis) -> dict[str, Any] | None:
        """Return all values except those of single points."""
        est, rows = analysis.manifold, analysis.factorised
        if est is None or rows is None:
            return None
        flat, confidence = est.flat_evidence_, est.confidence_
        return {
            "n": len(rows.rows),
            "dim": est.dim_,
            "n_factors": est.n_factors_,
            "factor_dims": est.factor_dims_,
            "flat": est.flat_,
            "uncertain": est.uncertain_,
            "doubts": est.doubts_,
            "doubt_codes": [doubt.code for doubt in est.doubts_],
            "departure": est.departure_ and asdict(est.departure_),
            "n_copies": est.n_copies_,
            "n_outliers": int(est.outliers_.sum()),
            "noise": est.noise_,
            "converged": est.converged_,
            "eigenvalues": est.eigenvalues_,
            "evidence": [with_sentences(evidence) for evidence in est.evidence_],
            "flat_evidence": flat and {name: getattr(flat, name) for name in FLAT_KEPT},
            "periods": est.periods_,
            "confidence": confidence and confidence.to_dict(),
            "settings": est.get_params(),
            "seconds": est.seconds_,
        }


def rows_for(dim: int) -> int:
    """Return the number of rows to fit, at least the number needed for reliable factors.

    Examples
    --------
    >>> rows_for(2), rows_for(5), rows_for(8)
    (750000, 19200, 3600)
    """
    from geodis.manifold.local.dimension_estimate import points_needed

    return max(int(WORK / dim**4), points_needed(dim)[1])


def _estimated_dim(seen: Inspection) -> int:
    """Return the estimated dimension, if it is determined and not too large."""
    dim = seen.dimension.dim
    if not np.isfinite(seen.dimension.two_nn):
        raise InputError(
            "The points are evenly spaced, so their dimension cannot be estimated: set dim (--dim) "
            "to look for factors."
        )
    if seen.dimension.verdict == "undecided" and seen.dimension.mle > MAX_DIM:
        why = "; ".join(doubt.statement for doubt in seen.dimension.doubts)
        raise InputError(
            f"The dimension of the points is undecided ({why}): set dim (--dim) to look for "
            "factors."
        )
    if dim > MAX_DIM:
        raise InputError(
            f"The points have about {dim} dimensions. Beyond {MAX_DIM}, looking for factors takes "
            f"minutes and at least {seen.recommended:,} points: set dim (--dim) to force it."
        )
    return dim


def _spaces(analysis: Analysis) -> str:
    """Describe the space of each factor, where its map determines it."""
    maps = analysis.parts.get("maps")
    if analysis.manifold is None or maps is None or not getattr(maps.value, "of", ()):
        return ""
    words = words_of(analysis.manifold)
    if len(words) == 1:
        return f"It is {words[0]}." if words[0] else ""
    known = enumerate(words)
    text = "; ".join(f"factor {j} is {text}" for j, text in known if text)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _factors(est: GeoManCER | None) -> list[str]:
    if est is None:
        return []
    known = zip(est.factor_dims_, est.flat_, factor_bounds(est), strict=True)
    return [
        f"factor {j}: dimension {dim}{' (flat)' if flat else ''}{bound}"
        for j, (dim, flat, bound) in enumerate(known)
    ]


def _evidence(est: GeoManCER | None) -> list[str]:
    if est is None:
        return []
    flat = [] if est.flat_evidence_ is None else [est.flat_evidence_]
    return [str(evidence) for evidence in [*est.evidence_, *flat]]


# The points, and the directions of the factors.


class PointsSection(Section):
    """Points along axes that the reader chooses."""

    name = "points"
    title = "Points"
    about = (
        "Points projected on two chosen axes. Short lines are the directions of the factors; in "
        "the view of one factor, the lines of the others should vanish."
    )
    source = "Principal components, and the axes of GeoManCER (Pfau et al., 2020)."

    def figures(self, analysis: Analysis) -> list[SectionFigure]:
        """The points, with a choice of axes and colorings."""
        drawn = analysis.factorised or analysis.material
        shown = (drawn.latents, drawn.factors, analysis.manifold, drawn.rows)
        return [SectionFigure("cloud", lambda: point_cloud(*shown))]

    def code(self, analysis: Analysis) -> str:
        """Code for the static figure, or for the axes of the view."""
        if analysis.manifold is not None:
            return f"gd.plots.plot_directions_by_factor({fitted_rows(analysis)}, est)"
        if analysis.settings.has_factors:
            return "gd.plots.plot_points_by_factor(latents, factors)"
        return "gd.principal_components(latents)"
