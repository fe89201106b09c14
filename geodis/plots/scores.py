"""Figures of scores: values against chance, scores per factor, and score matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.base.text import counted
from geodis.plots.figure.marks import (
    Axis,
    Bars,
    Cells,
    Dots,
    Figure,
    Panel,
    factor_color,
    one_panel,
    rows_panel,
)
from geodis.plots.figure.matplotlib_figure import draw_figure

if TYPE_CHECKING:
    from geodis.scores.many.many_scores import ManyScores
    from geodis.scores.many.score_agreement import Agreement
    from geodis.scores.score_table import ScoreTable


# Larger matrices are drawn without numbers, which would not be legible.
MAX_LABELLED = 24


def score_matrix_figure(
    score: Any,
    *,
    name: str = "matrix",
    about: str = "latents and factors",
    title: str | None = None,
    factor_names: Sequence[str] = (),
    latent_names: Sequence[str] = (),
    unit: str = "",
    entry: str = "",
    limit: float | None = None,
) -> Figure:
    """Describe the matrix behind a score: latents down, factors across.

    Parameters are those of `plot_score_matrix`, and `entry`: the name of an entry in tooltips.

    Examples
    --------
    >>> score_matrix_figure(np.eye(3), title="identity").panels[0][0].x.names
    ('0', '1', '2')
    """
    matrix = _matrix_of(score)
    z, f = matrix.shape
    if title is None:
        title = f"{score.name} {float(score):.3f}" if hasattr(score, "name") else ""
    across = tuple(factor_names) or tuple(getattr(score, "factor_names", None) or ())
    down = tuple(latent_names)
    if z <= 2 * MAX_LABELLED:
        down = down or tuple(map(str, range(z)))
    panel = Panel(
        [_matrix_cells(matrix, unit, entry, limit)],
        Axis("factor", names=across or tuple(map(str, range(f)))),
        Axis("latent", names=down),
        title=title,
        frame="none",
    )
    return one_panel(
        name,
        about,
        panel,
        size=(2.0 + 0.5 * min(f, 20), 1.6 + 0.32 * min(z, 40)),
        height=int(np.clip(110 + 26 * z, 220, 720)),
        min_width=120 + 56 * f,
    )


def _matrix_of(score: Any) -> np.ndarray:
    matrix = getattr(score, "matrix", score)
    if matrix is None:
        raise InputError(f"score must have a matrix of latents and factors; got {score.name}.")
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2:
        raise InputError(f"matrix must have shape (z, f); got shape {matrix.shape}.")
    return matrix


def _matrix_cells(matrix: np.ndarray, unit: str, entry: str, limit: float | None) -> Cells:
    finite = matrix[np.isfinite(matrix)]
    high = float(finite.max(initial=0.0)) if limit is None else limit
    label = (entry or unit or "value").replace("{", "{{").replace("}", "}}")
    return Cells(
        matrix,
        min(0.0, float(finite.min(initial=0.0))),
        high,
        digits=2 if max(matrix.shape) <= MAX_LABELLED else None,
        bar=True,
        unit=unit,
        hover=f"latent {{y}}, {{x}}\n{label}: {{z:.3f}}",
    )


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
    """Draw the matrix behind a score: latents down, factors across.

    A disentangled code has one dark cell in every row and column.

    Parameters
    ----------
    score : Score or array of shape (z, f)
        A score with a matrix, such as mutual information, importances or votes.
    title : str, optional
        By default the score and its value.
    factor_names, latent_names : sequence of str
        By default the names that the score stores, or numbers.
    unit : str
        Label of the colour bar.
    limit : float, optional
        Upper end of the colour scale, such as 1 for shares; the largest entry by default.

    Examples
    --------
    >>> plot_score_matrix(np.eye(3), title="identity").get_title(loc="left")
    'identity'
    """
    figure = score_matrix_figure(
        score,
        title=title,
        factor_names=factor_names,
        latent_names=latent_names,
        unit=unit,
        limit=limit,
    )
    return draw_figure(figure, axis)


def rank_agreement_figure(agreement: Agreement, *, order: bool = True) -> Figure:
    """Describe rank correlations of scores: parameters are those of `plot_agreement`."""
    frame = agreement.frame
    if order:
        frame = frame.iloc[(places := similar_order(agreement.matrix)), places]
    k = len(frame)
    names = tuple(map(str, frame.columns))
    percent = 100 * frame.to_numpy()
    digits = 0 if k <= MAX_LABELLED else None
    hover = "{y}\n{x}: {z:.0f} per cent"
    panel = Panel(
        [Cells(percent, -100.0, 100.0, diverging=True, digits=digits, hover=hover)],
        Axis(names=names),
        Axis(names=names),
        title=f"Rank correlation of scores across {len(agreement.values)} models (per cent)",
        frame="none",
    )
    return one_panel(
        "agreement",
        "rank correlations of scores over models",
        panel,
        size=(2.6 + 0.42 * k, 1.9 + 0.4 * k),
        height=200 + 22 * k,
        min_width=240 + 26 * k,
    )


def plot_agreement(agreement: Agreement, axis: Any = None, *, order: bool = True) -> Any:
    """Draw rank correlations of scores, as in figure 2 of Locatello et al. (2019).

    Parameters
    ----------
    agreement : Agreement
    order : bool
        Reorder the scores so that similar ones are adjacent.
    """
    return draw_figure(rank_agreement_figure(agreement, order=order), axis)


def similar_order(matrix: np.ndarray) -> np.ndarray:
    """Order rows by the leaves of an average-linkage tree, so that similar ones are adjacent.

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


def scores_per_factor_figure(table: ScoreTable, scores: Sequence[str] | None = None) -> Figure:
    """Describe grouped bars: the scores of each factor, with a colour per score.

    Parameters
    ----------
    table : ScoreTable
    scores : sequence of str, optional
        Which to show; by default one of each kind that the table has.
    """
    from geodis.scores.registry import entries

    parts = table.per_factor
    if scores is None:
        scores = [entry.name for entry in entries() if entry.shown.figure]
    wanted = [name for name in scores if name in parts.index]
    wanted = wanted or list(parts.index[:5])
    if not wanted:
        raise InputError("table must have a score with a value for every factor; got none.")
    names = tuple(map(str, parts.columns))
    bars = [
        Bars(
            parts.loc[name].to_numpy(float),
            str(name),
            factor_color(i),
            "{label}\n{factor}: {y:.3f}",
            {"factor": names},
        )
        for i, name in enumerate(wanted)
    ]
    panel = Panel(bars, Axis(names=names), Axis("score of the factor", zero=True), legend="beside")
    about = f"scores of {counted(len(names), 'factor')}"
    size = (2.4 + 1.3 * len(names), 3.6)
    return one_panel("per_factor", about, panel, size=size, min_width=76 * len(names))


def plot_scores_per_factor(
    table: ScoreTable, scores: Sequence[str] | None = None, axis: Any = None
) -> Any:
    """Draw grouped bars: the scores of each factor, with a colour per score.

    Parameters
    ----------
    table : ScoreTable
    scores : sequence of str, optional
        Which to show; by default one of each kind that the table has.
    """
    return draw_figure(scores_per_factor_figure(table, scores), axis)


def scores_figure(table: ScoreTable) -> Figure:
    """Describe the scores on a common scale, with their chance levels and intervals.

    Parameters
    ----------
    table : ScoreTable
    """
    frame = table.frame
    frame = frame[frame["chance"].notna() | frame["better"].eq("higher")]
    if frame.empty:
        raise InputError("table must have a score of latents and factors; got none.")
    k, names = len(frame), tuple(map(str, frame.index))
    value, chance = (frame[column].to_numpy(float) for column in ("value", "chance"))
    spans = [
        (float(low), float(high)) if np.isfinite(low) else None
        for low, high in zip(frame["low"], frame["high"], strict=True)
    ]
    place = np.arange(k)
    told = {"chance": [f"{level:.3f}" for level in chance]}
    marks = [
        Dots(chance, place, "chance", "accent", hollow=True, hover="{y}: chance {x:.3f}"),
        Dots(value, place, "value, with its 95 % interval", "main", spans=spans,
             hover="{y}: {x:.3f}, by chance {chance}", told=told),
    ]  # fmt: skip
    drawn = frame[["value", "chance", "low", "high"]].to_numpy(float)
    ends = min(-0.02, float(np.nanmin(drawn))), max(1.02, float(np.nanmax(drawn)))
    panel = rows_panel(marks, names, Axis("score", limits=ends))
    about = f"{counted(k, 'score')} and their chance levels"
    return one_panel("scores", about, panel, size=(7.6, 1.3 + 0.24 * k), height=80 + 19 * k)


def plot_scores(table: ScoreTable, axis: Any = None) -> Any:
    """Draw the scores on a common scale, with their chance levels and intervals.

    Scores without a chance level, which use no factors, are left out.

    Parameters
    ----------
    table : ScoreTable
    """
    return draw_figure(scores_figure(table), axis)


# The distribution of scores over many models.


def spread_figure(table: ManyScores) -> Figure:
    """Describe the median, quartiles and range of every score with values in [0, 1].

    Parameters
    ----------
    table : ManyScores
    """
    spread = table.spread
    shown = spread[(spread["low"] >= 0) & (spread["high"] <= 1)]
    if shown.empty:
        raise InputError("table must have a score with values between 0 and 1; got none.")
    places = np.arange(len(shown), dtype=float)
    told = {"score": list(map(str, shown.index)), "best": list(shown["best"])}
    told["worst"] = list(shown["worst"])
    middle = Dots(
        shown["median"].to_numpy(float),
        places,
        "median and quartiles",
        spans=list(zip(shown["quarter"], shown["3 quarters"], strict=True)),
        hover="{score}\nmedian {x:.3f}",
        told=told,
    )
    ends = [
        Dots(
            shown[end].to_numpy(float),
            places,
            "lowest and highest" if end == "low" else "",
            hollow=True,
            size="small",
            hover="{score}\n" + end + " {x:.3f}",
            told=told,
        )
        for end in ("low", "high")
    ]
    known = shown["chance"].notna().to_numpy()
    chance = Dots(
        shown["chance"].to_numpy(float)[known],
        places[known],
        "chance",
        "accent",
        marker=2,
        size="small",
        hover="chance {x:.3f}",
    )
    marks = [*ends, middle, *([chance] if known.any() else [])]
    panel = rows_panel(marks, told["score"], Axis("value", limits=(-0.03, 1.03)))
    about = f"spread of {counted(len(shown), 'score')} over {counted(len(table.models), 'model')}"
    size = (6.4, 1.6 + 0.26 * len(shown))
    return one_panel("spread", about, panel, size=size, height=int(160 + 24 * len(shown)))


def plot_spread(table: ManyScores, axis: Any = None) -> Any:
    """Draw the median, quartiles and range of every score with values in [0, 1].

    Parameters
    ----------
    table : ManyScores
    """
    return draw_figure(spread_figure(table), axis)
