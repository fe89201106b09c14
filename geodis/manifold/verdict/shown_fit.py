"""A fitted estimator in a notebook: what it found, and what to doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from geodis.base.shown_html import findings_html

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


class ShownFit:
    """Shows findings once fitted; before, scikit-learn's picture of the parameters."""

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if hasattr(self, "factor_dims_"):
            bundle["text/html"] = fit_html(cast("GeoManCER", self))
        return bundle

    def _repr_html_inner(self) -> str:
        if hasattr(self, "factor_dims_"):
            return fit_html(cast("GeoManCER", self))
        return str(super()._repr_html_inner())  # type: ignore[misc]


def fit_html(est: GeoManCER) -> str:
    """The findings of a fitted estimator; names of spaces where the maps were made already."""
    n, k, d = est.axes_.shape
    names = est.names_ if est.__dict__.get("_maps") else ("",) * est.n_factors_
    rows = {
        "points": f"{n:,} in {d} columns",
        "dimension": f"{k}; {est.dimension_}",
    }
    for j, (dim, flat, name) in enumerate(zip(est.factor_dims_, est.flat_, names, strict=True)):
        kind = f", {name}" if name and name != "unknown" else ""
        rows[f"factor {j}"] = f"dimension {int(dim)}{kind}{' (flat)' if flat else ''}"
    if est.confidence_ is not None:
        rows["found again"] = est.confidence_.sentence
    count = "1 factor" if est.n_factors_ == 1 else f"{est.n_factors_} factors"
    title = f"GeoManCER: {count}" + (", uncertain" if est.uncertain_ else "")
    return findings_html(title, rows, est.doubts_)
