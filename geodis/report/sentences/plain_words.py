"""What was found, for readers who know nothing of geometry: one sentence above all others."""

from __future__ import annotations

from geodis.plots.map_views.factor_titles import words_of
from geodis.report.analysis import Analysis


def in_plain_words(analysis: Analysis) -> str:
    """In how many ways the data vary, and what each is like; empty where there are no maps."""
    est, part = analysis.manifold, analysis.parts.get("maps")
    if est is None or part is None or part.value is None or not part.value.of:
        return ""
    things = "images" if analysis.settings.has_images else "rows"
    if est.n_factors_ == 1:
        said = f"The {things} differ in one way that is not made of others"
    else:
        nearly = "nearly " if est.uncertain_ else ""
        said = (
            f"The {things} differ in {est.n_factors_} ways, each of which can change {nearly}"
            f"without the other{'s' if est.n_factors_ > 2 else ''}"
        )
    kinds = [f"one like {words} (factor {j})" for j, words in enumerate(words_of(est)) if words]
    if not kinds:
        return f"{said}. The maps show them."
    rest = "; of the rest it is not known" if len(kinds) < est.n_factors_ else ""
    return f"{said}: {'; '.join(kinds)}{rest}. The maps show where each of the {things} lies."
