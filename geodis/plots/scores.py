"""Figures of scores: values against chance, matrices of latents and factors, agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.plots.style import ACCENT, FAINT, INK, new_axis, tidy

# Cells with more entries than this hold no number: it could not be read.
MAX_LABELLED = 24
TILTED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}


def plot_score_matrix(
    score: Any,
    axis: Any = None,
    *,
    title: str | None = None,
    factor_names: Sequence[str] = (),
    latent_names: Sequence[str] = (),
    unit: str = "",
    limit: float | None = None,
) -> Any:
    """Draw what a score was read from: latents down, factors across.

    One dark cell in every row and column is a disentangled code.

    Parameters
    ----------
    score : Score or array of shape (z, f)
        A score with a matrix: mutual information, importances, votes.
    title : str, optional
        The score and its value by default.
    factor_names, latent_names : sequence of str
        Numbers by default, and the names that the score knows.
    unit : str
        Of the colour bar.
    limit : float, optional
        Darkest entry, such as 1 for shares: what a weak code has stays pale. The largest entry
        by default.

    Examples
    --------
    >>> plot_score_matrix(np.eye(3), title="identity").get_title(loc="left")
    'identity'
    """
    names = list(factor_names) or list(getattr(score, "factor_names", ()))
    matrix = getattr(score, "matrix", score)
    if matrix is None:
        raise InputError(f"{score.name} has no matrix of latents and factors.")
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2:
        raise InputError(f"A matrix (z, f) is needed; shape {matrix.shape} came.")
    z, f = matrix.shape
    axis = new_axis(2.0 + 0.5 * min(f, 20), 1.6 + 0.32 * min(z, 40)) if axis is None else axis
    if title is None:
        title = f"{score.name} {float(score):.3f}" if hasattr(score, "name") else ""
    finite = matrix[np.isfinite(matrix)]
    low = min(0.0, finite.min(initial=0.0))
    high = finite.max(initial=0.0) if limit is None else limit
    shown = _cells(axis, matrix, low, high, "Blues")
    bar = axis.figure.colorbar(shown, ax=axis, shrink=0.8)
    bar.outline.set_visible(False)
    bar.set_label(unit)
    axis.set_xticks(range(f), names or [str(j) for j in range(f)], **TILTED)
    if z <= 2 * MAX_LABELLED or latent_names:
        axis.set_yticks(range(z), list(latent_names) or [str(i) for i in range(z)])
    axis.set(xlabel="factor", ylabel="latent")
    axis.set_title(title, loc="left", fontsize=10)
    return axis


def plot_agreement(agreement: Any, axis: Any = None, *, order: bool = True) -> Any:
    """Draw rank correlations of scores, as in figure 2 of Locatello et al. (2019).

    Parameters
    ----------
    agreement : Agreement
    order : bool
        Put scores that agree side by side.
    """
    frame = agreement.frame
    if order:
        frame = frame.iloc[(places := similar_order(agreement.matrix)), places]
    k = len(frame)
    axis = new_axis(2.6 + 0.42 * k, 1.9 + 0.4 * k) if axis is None else axis
    percent = 100 * frame.to_numpy()
    _cells(axis, percent, -100, 100, "RdBu", digits=0)
    axis.set_xticks(range(k), list(frame.columns), **TILTED)
    axis.set_yticks(range(k), list(frame.index))
    axis.set_title(
        f"Rank correlation of scores across {len(agreement.values)} models (per cent)",
        loc="left",
        fontsize=10,
    )
    return axis


def similar_order(matrix: np.ndarray) -> np.ndarray:
    """Order of rows in which neighbours agree: the leaves of an average-linkage tree.

    Examples
    --------
    >>> similar_order(np.array([[1, 0, 0.9], [0, 1, 0], [0.9, 0, 1]])).tolist()
    [1, 2, 0]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(matrix) < 3:
        return np.arange(len(matrix))
    distance = 1 - np.nan_to_num((matrix + matrix.T) / 2)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return leaves_list(tree)


def _cells(
    axis: Any, matrix: np.ndarray, low: float, high: float, colors: str, digits: int = 2
) -> Any:
    """Coloured cells with their numbers, white on dark; NaN is grey."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    palette = colormaps[colors].with_extremes(bad="#e8e8e8")
    scale = Normalize(low, high if high > low else low + 1)
    shown = axis.imshow(np.ma.masked_invalid(matrix), cmap=palette, norm=scale, aspect="auto")
    rows, columns = matrix.shape
    if rows <= MAX_LABELLED and columns <= MAX_LABELLED:
        for (i, j), value in np.ndenumerate(matrix):
            if np.isfinite(value):
                red, green, blue, _ = palette(scale(value))
                dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
                axis.text(
                    j,
                    i,
                    f"{value:.{digits}f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else "black",
                )
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    return shown


def plot_scores(table: Any, axis: Any = None) -> Any:
    """Draw every score between 0 and 1 as a bar to its value, with its chance level and interval.

    Scores that have no chance level, because they use no factors, are left out: they have no
    common scale.

    Parameters
    ----------
    table : ScoreTable
    """
    frame = table.frame
    frame = frame[frame["chance"].notna() | frame["better"].eq("higher")]
    if frame.empty:
        raise InputError("The table has no score of latents and factors.")
    k = len(frame)
    axis = new_axis(6.4, 1.3 + 0.24 * k) if axis is None else axis
    place = np.arange(k)
    value = frame["value"].to_numpy(float)
    axis.barh(place, value, height=0.62, color=INK, alpha=0.85, label="value")
    if frame["chance"].notna().any():
        # Most chance levels are 0, on the edge.
        marks: dict[str, Any] = {
            "color": ACCENT,
            "ms": 11,
            "mew": 2.5,
            "clip_on": False,
            "zorder": 3,
        }
        axis.plot(frame["chance"], place, "|", label="chance", **marks)
    if frame["low"].notna().any():
        for y, low, high in zip(place, frame["low"], frame["high"], strict=True):
            axis.plot([low, high], [y, y], color="black", lw=1)
        axis.plot([], [], color="black", lw=1, label="95% interval")
    for edge in np.flatnonzero(frame["family"].to_numpy()[1:] != frame["family"].to_numpy()[:-1]):
        axis.axhline(edge + 0.5, color=FAINT, lw=0.6, ls=":")
    axis.set_yticks(place, list(frame.index))
    axis.set_ylim(k - 0.4, -0.6)
    drawn = frame[["value", "chance", "low", "high"]].to_numpy(float)
    axis.set_xlim(min(0.0, float(np.nanmin(drawn))), max(1.0, float(np.nanmax(drawn))))
    axis.set_xlabel("score")
    axis.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    axis.tick_params(axis="y", length=0)
    return tidy(axis)
