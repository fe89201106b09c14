"""A fitted estimator in a notebook: what it found, and what to doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from geodis.base.shown_html import findings_html

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


class ShownFit:
    """Shows findings once fitted; before, scikit-learn's picture of the parameters.

    Showing a fit, or completing its name, computes nothing that was not asked for: scikit-learn
    reads every attribute for both, and with them maps, names and tests would be made.
    """

    def __dir__(self) -> list[str]:
        return list(object.__dir__(self))

    @property
    def _get_fitted_attr_html(self) -> Any:
        raise AttributeError("The fitted attributes are shown by the findings alone.")

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if hasattr(self, "factor_dims_"):
            return {"text/plain": repr(self), "text/html": fit_html(cast("GeoManCER", self))}
        return super()._repr_mimebundle_(**options)  # type: ignore[misc]

    def _repr_html_inner(self) -> str:
        if hasattr(self, "factor_dims_"):
            return fit_html(cast("GeoManCER", self))
        return str(super()._repr_html_inner())  # type: ignore[misc]


def fit_html(est: GeoManCER) -> str:
    """The findings of a fitted estimator; names of spaces where they were asked for already."""
    n, k, d = est.axes_.shape
    names = [topology.name for topology in est._topologies] or [""] * est.n_factors_
    rows = {
        "points": f"{n:,} in {d} columns",
        "dimension": f"{k}; {est.dimension_}",
    }
    for j, (dim, flat, name) in enumerate(zip(est.factor_dims_, est.flat_, names, strict=True)):
        kind = f", {name}" if name and name != "unknown" else ""
        rows[f"factor {j}"] = f"dimension {int(dim)}{kind}{' (flat)' if flat else ''}"
    if est.confidence_ is not None:
        rows["refits"] = est.confidence_.sentence
    count = "1 factor" if est.n_factors_ == 1 else f"{est.n_factors_} factors"
    title = f"GeoManCER: {count}" + (", uncertain" if est.uncertain_ else "")
    return findings_html(title, rows, est.doubts_)
