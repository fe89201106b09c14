"""Descriptions of figures: marks in panels, drawn by matplotlib or by the script of a page.

Colours have names, so that a page can show them in light and dark mode. Texts are plain: each
backend escapes what it would read as markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

Numbers: TypeAlias = "np.ndarray | Sequence[float]"
Color: TypeAlias = Literal[
    "main", "accent", "faint", "pale", "c0", "c1", "c2", "c3", "c4", "c5", "c6"
]
Size: TypeAlias = Literal["tiny", "fine", "small", "middle", "large"]
Legend: TypeAlias = Literal["none", "inside", "beside"]
Frame: TypeAlias = Literal["open", "box", "none"]
FACTORS: tuple[Color, ...] = get_args(Color)[4:]


def factor_color(number: int) -> Color:
    """Return the colour of a factor, cycling through `FACTORS`.

    Examples
    --------
    >>> factor_color(1), factor_color(7)
    ('c1', 'c0')
    """
    return FACTORS[number % len(FACTORS)]


@dataclass(frozen=True, eq=False)
class Picked:
    """Positions along one of the two axes that a reader chooses: see `Choices`.

    Attributes
    ----------
    columns : str
        Key into `Choices.columns`.
    along : {"x", "y"}
    rows : ndarray of int, optional
        Indices into these columns; all by default.
    """

    columns: str
    along: Literal["x", "y"]
    rows: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class PickedEnds:
    """Short lines at some of the points, along both chosen axes: see `Choices`.

    Attributes
    ----------
    columns : str
        Key of the points in `Choices.columns`.
    directions : str
        Key of the direction of each line.
    rows : ndarray of int, shape (s,)
        Index of the point at the centre of each line.
    half : float
        Half the length of a line, as a share of the extent of the points.
    """

    columns: str
    directions: str
    rows: np.ndarray
    half: float


@dataclass(frozen=True, eq=False)
class PickedLabel:
    """A label with additional text for some pairs of chosen axes: see `Choices`.

    Attributes
    ----------
    text : str
    more : mapping of (int, int) to str
        Indices of the horizontal and the vertical axis -> text to append.
    """

    text: str
    more: Mapping[tuple[int, int], str]


@dataclass(frozen=True, eq=False)
class Dots:
    """Points in a panel.

    Attributes
    ----------
    x, y : array of shape (n,), or Picked
    label : str or PickedLabel
        Entry in the legend; an empty label has none.
    marker : int
        Index into `geodis.plots.MARKERS`.
    alpha : float
        Opacity.
    values : array of shape (n,), optional
        Values for a colour scale, instead of `color`.
    names : sequence of str
        Labels of the values 0, 1, ...
    spans : sequence of (low, high) or None, optional
        Interval in x for each point.
    notes : sequence of str
        Text written above each point.
    hover : str
        Tooltip template with the fields "{x}", "{y:.3g}", "{label}" and the keys of `told`.
    told : mapping of str to sequence
        More fields for `hover`, with one entry per point.
    """

    x: Numbers | Picked
    y: Numbers | Picked
    label: str | PickedLabel = ""
    color: Color = "main"
    marker: int = 0
    hollow: bool = False
    size: Size = "middle"
    alpha: float = 1.0
    values: Numbers | None = None
    names: Sequence[str] = ()
    spans: Sequence[tuple[float, float] | None] | None = None
    notes: Sequence[str] = ()
    hover: str = ""
    told: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Bars:
    """Vertical bars at the names of the x axis; those of one panel are grouped.

    Attributes
    ----------
    heights : array of shape (n,)
    hover, told
        As in `Dots`.
    """

    heights: Numbers
    label: str = ""
    color: Color = "main"
    hover: str = ""
    told: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix as coloured cells, first row on top; entries that are not finite are hatched.

    Attributes
    ----------
    values : ndarray of shape (rows, columns)
    low, high : float
        Limits of the scale.
    shade : int
        Index of the colour, for figures with several kinds of matrices.
    diverging : bool
        Use a diverging scale.
    digits : int or None
        Decimals of the numbers written in the cells; None for no numbers.
    bar : bool
        Draw a colour bar.
    unit : str
        Label of the colour bar.
    hover : str
        As in `Dots`, with "{z}" for the entry.
    """

    values: np.ndarray
    low: float
    high: float
    shade: int = 0
    diverging: bool = False
    digits: int | None = None
    bar: bool = False
    unit: str = ""
    hover: str = ""


@dataclass(frozen=True, eq=False)
class Segments:
    """Line segments.

    Attributes
    ----------
    ends : ndarray of shape (s, 2, 2), or PickedEnds
        Axes are line, end and coordinate.
    alpha : ndarray of shape (s,)
    """

    ends: np.ndarray | PickedEnds
    alpha: np.ndarray
    label: str = ""
    color: Color = "main"


@dataclass(frozen=True)
class Band:
    """A shaded range of y across the panel, with a label."""

    low: float
    high: float
    text: str = ""


Mark: TypeAlias = "Dots | Bars | Cells | Segments | Band"


@dataclass(frozen=True)
class Axis:
    """One axis of a panel.

    Attributes
    ----------
    names : sequence of str
        Tick labels at 0, 1, 2, ...
    whole : bool
        Place ticks at integers only.
    limits : (float, float), optional
        Descending limits invert the axis.
    zero : bool
        Draw a line at zero.
    from_zero : bool
        Start the axis at zero.
    ticks : bool
        Draw ticks.
    """

    title: str = ""
    log: bool = False
    names: Sequence[str] = ()
    whole: bool = False
    limits: tuple[float, float] | None = None
    zero: bool = False
    from_zero: bool = False
    ticks: bool = True


@dataclass(frozen=True)
class Panel:
    """Marks on two axes.

    Attributes
    ----------
    note : str
        Text below the x axis.
    equal : bool
        Use equal scales on both axes.
    frame : {"open", "box", "none"}
        Spines on two sides, on all four or on none.
    striped : bool
        Shade every second name of y.
    empty : str
        Text shown instead of an empty panel.
    """

    marks: Sequence[Mark] = ()
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    note: str = ""
    legend: Legend = "none"
    equal: bool = False
    frame: Frame = "open"
    striped: bool = False
    empty: str = ""


@dataclass(frozen=True)
class Figure:
    """Panels in rows and columns.

    Attributes
    ----------
    name : str
        Name of the file, and of the element on a page.
    about : str
        Description for screen readers.
    panels : rows of Panel or None
        None leaves the position empty.
    rows, columns : sequence of str
        Names of the rows and columns of panels.
    size : (float, float)
        Width and height in inches, outside pages.
    height, min_width : int
        Size on a page in pixels; narrow screens scroll.
    """

    name: str
    about: str
    panels: Sequence[Sequence[Panel | None]]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    title: str = ""
    size: tuple[float, float] = (6.4, 4.0)
    height: int = 380
    min_width: int = 0


def one_panel(name: str, about: str, panel: Panel, **more: Any) -> Figure:
    """Make a figure of a single panel.

    Examples
    --------
    >>> len(one_panel("points", "a point", Panel([Dots([0.0], [1.0])])).panels)
    1
    """
    return Figure(name, about, ((panel,),), **more)


def rows_panel(marks: Sequence[Dots], names: Sequence[str], x: Axis, title: str = "") -> Panel:
    """Make a striped panel with a row per name, first on top, and a legend.

    Examples
    --------
    >>> rows_panel([Dots([0.5], [0.0])], ["mig"], Axis("score")).y.limits
    (0.5, -0.5)
    """
    y = Axis(names=tuple(names), limits=(len(names) - 0.5, -0.5))
    return Panel(marks, x, y, title=title, legend="beside", striped=True)


# Short texts and numbers for figures.

LONGEST_LABEL, LONGEST_NAME = 40, 24


def clip(text: Any, most: int = LONGEST_LABEL) -> str:
    """Join a text into one line and truncate it to `most` characters.

    Examples
    --------
    >>> clip("a <b>bold</b> name", 8)
    'a <b>bo…'
    """
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def short(values: Any, digits: int = 4) -> list[Any]:
    """Round an array to few digits, as nested lists with None for entries that are not finite.

    Examples
    --------
    >>> short([[1.23456, np.nan], [100000.0, 2.0]])
    [[1.235, None], [100000, 2]]
    """
    array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return [short(row, digits) for row in array]
    return [_shortened(value, digits) for value in array.tolist()]


def _shortened(value: float, digits: int) -> float | int | None:
    if not np.isfinite(value):
        return None
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() else number
