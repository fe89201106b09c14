"""What a figure shows, said once: marks in panels. `static` and `interactive` draw it.

Colours are named by what they mean, so that a page can show them light and dark. Texts are plain:
each backend escapes what it would read as markup.
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
Legend: TypeAlias = Literal["none", "inside", "beside", "below"]
Frame: TypeAlias = Literal["open", "box", "none"]
FACTORS: tuple[Color, ...] = get_args(Color)[4:]


def factor_color(number: int) -> Color:
    """The colour of a factor; after the last comes the first again.

    Examples
    --------
    >>> factor_color(1), factor_color(7)
    ('c1', 'c0')
    """
    return FACTORS[number % len(FACTORS)]


@dataclass(frozen=True, eq=False)
class Picked:
    """Places along one of the two axes that a reader chooses: see `Choices`.

    Attributes
    ----------
    columns : str
        Which of its columns.
    along : {"x", "y"}
    rows : ndarray of int, optional
        Which of their entries; all by default.
    """

    columns: str
    along: Literal["x", "y"]
    rows: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class PickedEnds:
    """Ends of short lines at some of the points, along both chosen axes: see `Choices`.

    Attributes
    ----------
    columns : str
        Which of its columns has the points.
    directions : str
        Which has a direction for every line.
    rows : ndarray of int, shape (s,)
        The point of every line.
    half : float
        Half a line, in parts of the extent of the points.
    """

    columns: str
    directions: str
    rows: np.ndarray
    half: float


@dataclass(frozen=True, eq=False)
class PickedLabel:
    """A label that says more of some pairs of chosen axes: see `Choices`.

    Attributes
    ----------
    text : str
    more : mapping of (int, int) to str
        Numbers of the axes across and up -> what is added.
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
        In the legend; none where it is empty.
    marker : int
        Shape, counted through `geodis.plots.MARKERS`.
    alpha : float
        1 hides what lies below.
    values : array of shape (n,), optional
        Colours by a scale, in place of `color`; on a page the title of the panel stands beside it.
    names : sequence of str
        What the values 0, 1, ... stand for.
    spans : sequence of (low, high) or None, optional
        Intervals of x, one a point.
    notes : sequence of str
        Written above the points, where there is no pointer to hover.
    hover : str
        What the pointer is told: "{x}", "{y:.3g}", "{label}" and the names of `told` are filled in.
    told : mapping of str to sequence
        More that `hover` can tell, an entry a point.
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
    """Upright bars over the names of the x axis; those of one panel stand side by side.

    Attributes
    ----------
    heights : array of shape (n,)
    shown : bool
        Otherwise only the legend of a page has them, to be asked for.
    hover, told
        As of `Dots`.
    """

    heights: Numbers
    label: str = ""
    color: Color = "main"
    shown: bool = True
    hover: str = ""
    told: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix as coloured cells, the first row on top; what is not finite is hatched.

    Attributes
    ----------
    values : ndarray of shape (rows, columns)
    low, high : float
        Ends of the scale.
    shade : int
        Which of the scales, where figures tell kinds of matrices apart.
    diverging : bool
        A scale with a middle.
    digits : int or None
        Decimals of the numbers in the cells; None writes none.
    bar : bool
        The scale stands beside.
    unit : str
        Of that bar.
    hover : str
        As of `Dots`, with "{z}" for the entry.
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
    """Short lines.

    Attributes
    ----------
    ends : ndarray of shape (s, 2, 2), or PickedEnds
        Line, end, coordinate.
    alpha : ndarray of shape (s,)
    """

    ends: np.ndarray | PickedEnds
    alpha: np.ndarray
    label: str = ""
    color: Color = "main"


@dataclass(frozen=True)
class Band:
    """A range of y across the panel, and what to say of it."""

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
        What stands at 0, 1, 2, ... in place of numbers.
    whole : bool
        Only whole numbers are marked.
    limits : (float, float), optional
        Descending ones turn the axis round.
    zero : bool
        A line at zero.
    from_zero : bool
        It begins at zero.
    ticks : bool
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
        Below the x axis on paper, where there is no pointer to hover.
    equal : bool
        One unit is as long across as up.
    frame : {"open", "box", "none"}
        Lines at two sides, at all four or at none.
    striped : bool
        Every second name of y has a grey ground.
    empty : str
        Said in place of marks, where there are none.
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
        Of the element of a page, and of the file.
    about : str
        What it shows, for readers who cannot see it.
    panels : rows of Panel or None
        None leaves its place empty.
    rows, columns : sequence of str
        Names of the rows and columns of panels.
    legend : bool
        One for all panels, below.
    size : (float, float)
        Width and height on paper, in inches.
    height, min_width : int
        On a page, in pixels; a narrow screen scrolls what does not fit.
    """

    name: str
    about: str
    panels: Sequence[Sequence[Panel | None]]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    title: str = ""
    legend: bool = False
    size: tuple[float, float] = (6.4, 4.0)
    height: int = 380
    min_width: int = 0


def one_panel(name: str, about: str, panel: Panel, **more: Any) -> Figure:
    """A figure of a single panel.

    Examples
    --------
    >>> len(one_panel("points", "a point", Panel([Dots([0.0], [1.0])])).panels)
    1
    """
    return Figure(name, about, ((panel,),), **more)


# Texts and numbers that are short enough for a figure.

LONGEST_LABEL, LONGEST_NAME = 40, 24


def clip(text: Any, most: int = LONGEST_LABEL) -> str:
    """Text on one line, cut where it is long; its signs are as they were.

    Examples
    --------
    >>> clip("a <b>bold</b> name", 8)
    'a <b>bo…'
    """
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def short(values: Any, digits: int = 4) -> list[Any]:
    """Numbers with few digits, nested as the array is; None where there is none.

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
