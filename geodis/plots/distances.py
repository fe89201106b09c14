"""Figures of distances: averages along factors, and their distribution."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.distances.agreement_table import RANDOM
from geodis.distances.along_factors import FactorImportance
from geodis.plots.correlations import RANDOM_PAIRS
from geodis.plots.figure.marks import Axis, Cells, Figure, Panel
from geodis.plots.figure.static import draw_figure
from geodis.plots.style import FACTOR_COLORS, new_axis, tidy

LEGEND_WIDTH = 20  # letters a line
HIDDEN = Axis(ticks=False)


def traversal_matrices_figure(
    matrices: Mapping[str, Mapping[str, np.ndarray]], title: str = ""
) -> Figure:
    """Describe average distance matrices: a row for every kind of distance, a column for a factor.

    Parameters are those of `plot_traversal_matrices`.

    Examples
    --------
    >>> steps = np.abs(np.subtract.outer(range(4), range(4)))
    >>> traversal_matrices_figure({"ground truth": {"x": steps}}).columns
    ('x',)
    """
    names = tuple(dict.fromkeys(name for row in matrices.values() for name in row))
    if not names:
        raise InputError("A figure of distance matrices needs at least one matrix; got none.")
    kinds = tuple(matrices)
    panels = [
        [_matrix_panel(row[name], kind, i) if name in row else None for name in names]
        for i, (kind, row) in enumerate(matrices.items())
    ]
    return Figure(
        "distance_matrices",
        f"distance matrices of {', '.join(kinds)} distances",
        panels,
        rows=kinds,
        columns=names,
        title=title,
        size=(1.5 * len(names) + 0.9, 1.75 * len(kinds)),
        height=50 + 170 * len(kinds),
        min_width=60 + 76 * len(names),
    )


def _matrix_panel(matrix: np.ndarray, kind: str, shade: int) -> Panel:
    """Shades go from zero to the largest distance of the panel."""
    matrix = np.asarray(matrix, float)
    high = float(np.nanmax(matrix)) if np.isfinite(matrix).any() else 0.0
    kind = kind.replace("{", "{{").replace("}", "}}")
    told = f"{kind} distance of\nvalues {{x}} and {{y}}: {{z:.3g}}"
    cells = Cells(matrix, 0.0, high, shade, hover=told)
    note = f"up to {high:.3g}"
    return Panel([cells], HIDDEN, HIDDEN, note=note, equal=True, frame="box")


def plot_traversal_matrices(
    matrices: Mapping[str, Mapping[str, np.ndarray]], title: str = "", *, figure: Any = None
) -> Any:
    """Draw average distance matrices: a row for every kind of distance, a column for a factor.

    Shades of a panel go from zero to its own largest distance, which stands below it. What no
    traversal of a sample has is hatched.

    Parameters
    ----------
    matrices : mapping of str to mapping of str to ndarray of shape (s, s)
        Kind of distance -> factor -> matrix, as `geodis.distances.traversal_matrix` returns them.
    title : str
    figure : matplotlib Figure or SubFigure, optional
        What the panels are drawn on; one of their own by default.

    Returns
    -------
    axis
        The first panel.

    Examples
    --------
    >>> steps = np.abs(np.subtract.outer(range(4), range(4)))
    >>> plot_traversal_matrices({"ground truth": {"x": steps}}).get_title()
    'x'
    """
    return draw_figure(traversal_matrices_figure(matrices, title), whole=figure)


def plot_distance_distribution(importance: FactorImportance, axis: Any = None) -> Any:
    """Draw the cumulative proportion of perceived distances along each factor and at random.

    Factors further to the right have larger distances and matter more to the loss; a step is one
    distance that many pairs share, which leaves nothing to order them by. Factors whose curves
    are the same share one.

    Parameters
    ----------
    importance : FactorImportance

    Examples
    --------
    >>> from geodis.data.grids.squares import XYSquares
    >>> from geodis.distances import factor_importance
    >>> importance = factor_importance(XYSquares(4), n_pairs=100, random_state=0)
    >>> plot_distance_distribution(importance).get_xlabel()
    'perceived distance (mse)'
    """
    axis = new_axis() if axis is None else axis
    curves = {name: _proportions(values) for name, values in importance.distances.items()}
    right = 1.03 * max(float(distances[-1]) for distances, _ in curves.values()) or 1.0
    alike: list[list[str]] = []
    for name in importance.names:
        if name == RANDOM:
            continue
        same = (names for names in alike if _same(curves[names[0]], curves[name]))
        if (names := next(same, None)) is None:
            alike.append([name])
        else:
            names.append(name)
    # Curves that nearly agree lie under each other: the earlier ones are drawn wider.
    widths = np.linspace(4.5, 1.2, len(alike)) if len(alike) > 1 else [1.8]
    for names, color, width in zip(alike, cycle(FACTOR_COLORS), widths, strict=False):
        label = fill(", ".join(names), LEGEND_WIDTH)
        _steps(axis, curves[names[0]], right, color=color, lw=width, label=label)
    if RANDOM in curves:
        _steps(axis, curves[RANDOM], right, color="black", lw=1.2, ls="--", label=RANDOM_PAIRS)
    axis.set(
        xlabel=f"perceived distance ({importance.loss})",
        ylabel="cumulative proportion of pairs",
        ylim=(0, 1.02),
    )
    axis.set_xlim(0, right)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    return tidy(axis)


def _proportions(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct distances, and the proportion that is not above each."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, np.cumsum(counts) / max(len(values), 1)


def _same(curve: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(curve, other, strict=True))


def _steps(axis: Any, curve: tuple[np.ndarray, np.ndarray], right: float, **style: Any) -> None:
    """Draw from 0 at the least distance to 1, and on to the edge of the figure."""
    distinct, height = curve
    x = np.concatenate([distinct[:1], distinct, [right]])
    axis.step(x, np.concatenate([[0.0], height, height[-1:]]), where="post", **style)
