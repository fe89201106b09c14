"""Figures of spectra, of errors against sample size, and of holonomy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import check_int
from geodis.base.text import counted
from geodis.manifold.holonomy.eigenfields import BULK_PART, PARALLEL_VARIATION, UNCERTAIN_VARIATION
from geodis.plots.figure.marks import Axis, Band, Bars, Dots, Figure, Panel, one_panel, short
from geodis.plots.figure.matplotlib_figure import draw_figure, draw_panel
from geodis.plots.style import FACTOR_COLORS, FAINT, MARKERS, new_axis, tidy

if TYPE_CHECKING:
    from geodis.manifold.holonomy.connection import Holonomy
    from geodis.manifold.split_result import Evidence


# Lower limit of logarithmic axes, as a share of the largest eigenvalue: less is rounding error.
FLOOR = 1e-6
VARIATION_FLOOR = 1e-3
LABELLED_FIELDS = 16
SHOWN_COMPONENTS = 50
NO_FIELD = Panel(empty="a single factor, by dimension or by request: no fields were computed")
VARIATION_NOTE = "(numbers: variation of the norm of the field; 0 if it is parallel)"
HOVER = "eigenfield {x}\neigenvalue {y:.3g}"


def plot_principal_spectrum(
    explained: np.ndarray, dim: int | None = None, axis: Any = None, *, edge: float = 0.0
) -> Any:
    """Draw the fraction of variance along each principal component.

    Parameters
    ----------
    explained : ndarray of shape (c,)
        Fractions of the variance, largest first.
    dim : int, optional
        Intrinsic dimension k, for the title. A curved manifold spans more than k ambient
        dimensions, so the spectrum usually extends beyond k.
    edge : float
        Largest fraction that isotropic noise alone gives a component, if any: drawn as a band, on
        a logarithmic scale.

    Examples
    --------
    >>> plot_principal_spectrum(np.array([0.6, 0.3, 0.1]), dim=2).get_ylabel()
    'variance (%)'
    """
    return draw_figure(principal_spectrum_figure(explained, dim, edge=edge), axis)


def principal_spectrum_figure(
    explained: np.ndarray, dim: int | None = None, *, edge: float = 0.0
) -> Figure:
    """Describe the fraction of variance along each principal component.

    Parameters are those of `plot_principal_spectrum`.

    Examples
    --------
    >>> principal_spectrum_figure(np.array([0.6, 0.3, 0.1]), dim=2).panels[0][0].title
    'the points have about 2 dimensions, and curve into more'
    """
    shown = np.asarray(explained)[:SHOWN_COMPONENTS]
    names = tuple(str(i + 1) for i in range(len(shown)))
    title = ""
    if dim is not None and dim < len(shown):
        title = f"the points have about {counted(dim, 'dimension')}, and curve into more"
    about = "principal component {x}: {y:.3g} % of the variance"
    if edge <= 0:
        along = Axis("principal component", names=names)
        panel = Panel([Bars(100 * shown, hover=about)], along, Axis("variance (%)"), title=title)
    else:  # a logarithmic scale shows the noise floor, but has no baseline for bars
        lowest = 50 * min(edge, float(shown[shown > 0].min()))
        panel = Panel(
            [
                Dots(np.arange(1, len(shown) + 1), 100 * shown, hover=about),
                Band(lowest, 100 * edge, "isotropic noise"),
            ],
            Axis("principal component", whole=True, limits=(0.4, len(shown) + 0.6)),
            Axis("variance (%)", log=True, limits=(lowest, 200 * float(shown[0]))),
            title=title,
        )
    return one_panel("principal_components", "variance of the points by direction", panel,
                     height=250)  # fmt: skip


def eigenvalue_spectrum_figure(
    spectrum: Any, n_parallel: int | None = None, *, variation: np.ndarray | None = None
) -> Figure:
    """Describe the bottom eigenvalues, those of parallel fields highlighted, and the gap above.

    Parameters are those of `plot_eigenvalue_spectrum`.

    Examples
    --------
    >>> eigenvalue_spectrum_figure([0.001, 0.05, 0.06], 1).about
    '3 eigenvalues, 1 of them of parallel fields'
    """
    split = ""
    if hasattr(spectrum, "evidence_"):
        if not spectrum.evidence_:
            return one_panel("spectrum", "no eigenvalues", NO_FIELD)
        whole = spectrum.evidence_[0]
        split = f": {_split_label(whole, tuple(map(int, spectrum.factor_dims_)))}"
        spectrum, variation = whole.eigenvalues, whole.variation
        n_parallel = whole.n_parallel if n_parallel is None else n_parallel
    values = _above_rounding(np.asarray(spectrum, dtype=float))
    count = check_int(n_parallel or 0, "n_parallel", low=0, high=len(values))
    fields = f"{count or 'no'} parallel field{'' if count == 1 else 's'}"
    gap = [_gap(values, count)] if 0 < count < len(values) else []
    panel = Panel(
        [*_fields(values, count, variation), *gap],
        x=Axis("eigenfield", whole=True, limits=(0.4, len(values) + 0.6)),
        y=Axis("eigenvalue", log=True, limits=(values[0] / 3, values[-1] * 3)),
        title=f"{fields}{split}",
        note="" if variation is None else VARIATION_NOTE,
        legend="inside" if gap else "none",
    )
    about = f"{counted(len(values), 'eigenvalue')}, {count} of them of parallel fields"
    return one_panel("spectrum", about, panel, height=340)


def _fields(values: np.ndarray, count: int, variation: np.ndarray | None) -> list[Dots]:
    """Make the marks of the parallel fields and of the others."""
    place = np.arange(1, len(values) + 1)
    dots = []
    for label, rows in (("parallel", slice(0, count)), ("not parallel", slice(count, None))):
        notes: tuple[str, ...] = ()
        told: dict[str, list[float]] = {}
        hover = HOVER
        if variation is not None:
            notes = tuple(f"{number:.2f}" for number in variation[:LABELLED_FIELDS][rows])
            told, hover = ({"varies": short(variation[rows])}, HOVER + "\nnorm varies by {varies}")
        dots.append(
            Dots(
                place[rows],
                values[rows],
                label,
                "accent" if label == "parallel" else "main",
                size="large",
                notes=notes,
                hover=hover,
                told=told,
            )
        )
    return [mark for mark in dots if len(np.asarray(mark.x))]


def _gap(values: np.ndarray, count: int) -> Band:
    low, high = float(values[count - 1]), float(values[count])
    return Band(low, high, f"gap: {high / low:,.{1 if high < 10 * low else 0}f} times")


def plot_eigenvalue_spectrum(
    spectrum: Any,
    n_parallel: int | None = None,
    axis: Any = None,
    *,
    variation: np.ndarray | None = None,
) -> Any:
    """Draw the bottom eigenvalues, those of parallel fields highlighted, and the gap above.

    Parameters
    ----------
    spectrum : GeoManCER or array of shape (q,)
        A fitted estimator, which provides the other parameters; or ascending eigenvalues.
    n_parallel : int, optional
        Number of parallel fields, which come first; none by default.
    variation : array of shape (q,), optional
        Variation of the norm of each field over the points, written at its eigenvalue.

    Examples
    --------
    >>> plot_eigenvalue_spectrum([0.001, 0.05, 0.06], 1).get_title(loc="left")
    '1 parallel field'
    """
    return draw_figure(eigenvalue_spectrum_figure(spectrum, n_parallel, variation=variation), axis)


def plot_field_separation(evidence: Sequence[Evidence], axis: Any = None) -> Any:
    """Draw both tests on every eigenfield, which determine the number of factors.

    Fields with a small eigenvalue and a nearly constant norm are parallel. m factors have m - 1
    parallel fields, and a flat part has more. Large marks are the parallel fields and the next
    field; a wider gap between them makes the number more certain.

    Parameters
    ----------
    evidence : sequence of Evidence
        Such as `GeoManCER.evidence_`: for the whole manifold, then for each part.
    """
    axis = new_axis(7.6, 4.6) if axis is None else axis
    if not evidence:
        return draw_panel(axis, NO_FIELD)
    axis.set(xscale="log", yscale="log")
    left, lowest = VARIATION_FLOOR / 1.5, 1e-2
    for item, color, marker in zip(evidence, cycle(FACTOR_COLORS), cycle(MARKERS), strict=False):
        x = np.maximum(item.variation, VARIATION_FLOOR)
        y = _above_rounding(item.eigenvalues)
        y = y / y[-1]
        lowest = min(lowest, y.min())
        deciding = np.arange(len(x)) <= item.n_parallel
        axis.scatter(x[~deciding], y[~deciding], marker=marker, s=14, color=color, alpha=0.5)
        axis.scatter(
            x[deciding],
            y[deciding],
            marker=marker,
            s=70,
            color=color,
            edgecolors="black",
            zorder=3,
            label=_split_label(item) + (" (uncertain)" if item.doubts else ""),
        )
    _draw_thresholds(axis, left, lowest / 4)
    axis.set_title("Large marks: the parallel fields, and the next field", loc="left", fontsize=10)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(axis)


def _draw_thresholds(axis: Any, left: float, bottom: float) -> None:
    """Mark where fields are parallel by both tests, and where that is uncertain."""
    axis.fill_between([left, PARALLEL_VARIATION], bottom, BULK_PART, color="#009E73", alpha=0.12)
    axis.axvspan(*UNCERTAIN_VARIATION, fill=False, edgecolor="#cccccc", hatch="////", linewidth=0)
    axis.axvline(PARALLEL_VARIATION, color=FAINT, linestyle="--", linewidth=1)
    axis.axhline(BULK_PART, color=FAINT, linestyle="--", linewidth=1)
    axis.text(left * 1.15, BULK_PART / 1.2, "parallel", color="#00694c", va="top")
    axis.text(UNCERTAIN_VARIATION[1] * 1.05, bottom * 1.3, "hatched: uncertain")
    axis.set(xlim=(left, 2.5), ylim=(bottom, 2.0))
    axis.set_xlabel(f"variation of the field's norm (threshold {PARALLEL_VARIATION})")
    axis.set_ylabel(f"eigenvalue / largest computed (threshold {BULK_PART})")


def _above_rounding(values: np.ndarray) -> np.ndarray:
    """Clip ascending eigenvalues at rounding error, for a logarithmic axis."""
    return np.maximum(values, max(FLOOR * values[-1], np.finfo(np.float32).tiny))


def _split_label(evidence: Evidence, reported: tuple[int, ...] | None = None) -> str:
    """Describe the split of one set of points.

    The reported factors may differ, as a flat part is split by its coordinates, and factors may be
    split again.
    """
    by_fields = evidence.factor_dims
    own = by_fields if reported is None else reported
    label = f"dimension {evidence.dim} {_parts(own)}"
    if sorted(own) == sorted(by_fields):
        return label
    return f"{label} ({_parts(by_fields).removeprefix('is ')} by these fields alone)"


def _parts(dims: tuple[int, ...]) -> str:
    return f"into {' + '.join(map(str, dims))}" if len(dims) > 1 else "is one factor"


# Errors of the found factors.


def plot_error_against_n(
    rows: Sequence[Mapping[str, Any]], axis: Any = None, *, x: str = "n", by: str = "manifold"
) -> Any:
    """Draw the error of the found factors against the number of points, or another setting.

    Parameters
    ----------
    rows : sequence of mappings
        Each with `x`, `by`, "error" in radians and "right": whether the dimensions of the factors
        are correct. Lines are medians over rows with equal `x` and `by`, bars are ranges, and
        crosses mark settings where most dimensions are wrong.
    x, by : str
        Keys of the horizontal axis and of the lines.
    """
    axis = new_axis(7.6, 4.8) if axis is None else axis
    places = np.array(sorted({row[x] for row in rows}))
    wrong: list[tuple[float, float]] = []
    for j, name in enumerate(dict.fromkeys(row[by] for row in rows)):
        style = "-" if j < len(FACTOR_COLORS) else "--"
        color, marker = FACTOR_COLORS[j % len(FACTOR_COLORS)], MARKERS[j % len(MARKERS)]
        drawn = []
        for place in places:
            own = [row for row in rows if row[by] == name and row[x] == place]
            if own:
                errors = [row["error"] for row in own]
                drawn.append((place, np.median(errors)))
                axis.vlines(place, min(errors), max(errors), color=color, alpha=0.5, linewidth=3)
                if np.mean([row["right"] for row in own]) < 0.5:
                    wrong.append(drawn[-1])
        axis.plot(*zip(*drawn, strict=True), style, color=color, marker=marker, ms=5, label=name)
    if wrong:
        axis.plot(*zip(*wrong, strict=True), "kx", ms=9, zorder=4, label="wrong factors")
    axis.axhline(np.pi / 2, color=FAINT, linestyle=":", linewidth=1)
    axis.set_yscale("log")
    if x == "n":
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{place:,}" for place in places])
        axis.minorticks_off()
    axis.set_xlabel("points" if x == "n" else x)
    axis.set_ylabel("mean angle to the true factors (radians)")
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return tidy(axis)


# Parallel transport around loops.


def plot_holonomy(
    holonomy: Holonomy, factor_dims: Sequence[int] | np.ndarray | None = None, axis: Any = None
) -> Any:
    """Draw the cumulative distribution of the rotation angles of each factor around loops.

    Angles of a flat factor are zero; those of a curved factor grow with the length of the loops.

    Parameters
    ----------
    holonomy : Holonomy
    factor_dims : sequence of int, optional
        Dimensions for the legend.
    """
    axis = new_axis() if axis is None else axis
    angles = np.degrees(holonomy.angles)
    share = np.arange(1, len(angles) + 1) / max(len(angles), 1)
    for j, column in enumerate(angles.T):
        dim = "" if factor_dims is None else f" (dimension {factor_dims[j]})"
        middle = f": median {np.median(column):.0f}°" if len(column) else ""
        axis.step(
            np.r_[0.0, np.sort(column), 180.0],
            100 * np.r_[0.0, share, 1.0],
            where="post",
            color=FACTOR_COLORS[j % len(FACTOR_COLORS)],
            label=f"factor {j}{dim}{middle}",
        )
    if len(angles):
        length, leaked = np.median(holonomy.lengths), np.median(holonomy.leakage)
        axis.set_title(
            f"Parallel transport around {len(angles)} loops of {length:.0f} edges (median)\n"
            f"A flat factor stays at 0°; leakage between factors {leaked:.2g}",
            loc="left",
            fontsize=10,
        )
    axis.set_xlabel("rotation of the factor around the loop (degrees)")
    axis.set_ylabel("loops with a smaller rotation (%)")
    axis.set(xlim=(-3, 180), ylim=(0, 101), xticks=range(0, 181, 30))
    axis.legend(frameon=False, loc="lower right")
    return tidy(axis)
