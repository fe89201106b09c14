"""The bold sentence that opens a page: which factors were found, and whether that is uncertain."""

from __future__ import annotations

from geodis.base.text import listed
from geodis.plots.map_views.factor_titles import words_of
from geodis.report.analysis import Analysis
from geodis.report.sentences.manifold_sentences import reasons_of_doubt


def in_plain_words(analysis: Analysis) -> str:
    """What was found, "Uncertain" first where it is; empty where there are no maps to show."""
    est, part = analysis.manifold, analysis.parts.get("maps")
    if est is None or part is None or part.value is None or not part.value.of:
        return ""
    things = "images" if analysis.settings.has_images else "rows"
    uncertain = bool(reasons_of_doubt(analysis, est))
    vary = "seem to vary" if uncertain else "vary"
    words = words_of(est)
    if est.n_factors_ == 1:
        said = f"the {things} {vary} along one dimension"
        if est.dim_ > 1:
            said = (
                "no split into independent factors was found; "
                f"the {things} {vary} in one {est.dim_}-dimensional factor"
            )
        said += f", like {words[0]}" if words[0] else ""
    else:
        said = f"the {things} {vary} in {est.n_factors_} independent factors"
        named = [f"{text} (factor {j})" for j, text in enumerate(words) if text]
        said += f": {listed(named)}" if named else ""
        if 0 < len(named) < est.n_factors_:
            said += "; the topology of the others is undetermined"
    opening = f"Uncertain: {said}" if uncertain else f"{said[0].upper()}{said[1:]}"
    unseen = [one.given for one in part.value.given if one.found < 0]
    if not unseen:
        return f"{opening}."
    given = "the given factor" if len(unseen) == 1 else "the given factors"
    names = listed([f"“{name}”" for name in unseen])
    return f"{opening}. No map shows {given} {names}."
