"""Factors of variation with names, labels, periods and groups, and their conversion from tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from geodis.base.check import InputError, check_finite, check_real
from geodis.data.columns import Labels, check_codes, columns_of, read_column

# Groups of columns that form one factor.


def read_factor_groups(groups: Any, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Check groups of columns that form one factor, such as a direction, rotation or position.

    Parameters
    ----------
    groups : mapping of str to sequence
        Name of each factor and its columns, by name or position.
    names : sequence of f str
        Names of all columns.

    Returns
    -------
    dict of str to tuple of str
        Every column is in at most one group; group names differ from column names.

    Examples
    --------
    >>> read_factor_groups({"direction": [1, 2, "z"]}, ["size", "x", "y", "z"])
    {'direction': ('x', 'y', 'z')}
    """
    if not isinstance(groups, Mapping):
        raise InputError(f"groups must be a mapping of names to columns; got {groups!r}.")
    read: dict[str, tuple[str, ...]] = {}
    taken: dict[str, str] = {}
    for key, columns in groups.items():
        group = str(key)
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise InputError(f"Group {group!r} must be a sequence of columns; got {columns!r}.")
        read[group] = tuple(_column(one, names, group) for one in columns)
        if not read[group]:
            raise InputError(f"Group {group!r} must have a column; got none.")
        for name in read[group]:
            if name in taken:
                raise InputError(
                    f"A column must be in one group, once; got {name!r} in {taken[name]!r} "
                    f"and {group!r}."
                )
            taken[name] = group
        if group in names and read[group] != (group,):
            raise InputError(f"A group needs a name of its own; got {group!r}, a column.")
    return read


def _column(one: Any, names: Sequence[str], group: str) -> str:
    if isinstance(one, str):
        if one in names:
            return one
    elif not isinstance(one, bool) and hasattr(one, "__index__"):
        place = one.__index__()
        if 0 <= place < len(names):
            return names[place]
    raise InputError(
        f"Group {group!r} must name columns among {', '.join(names)}, "
        f"or number them from 0; got {one!r}."
    )


FactorKind: TypeAlias = Literal["labels", "ordered", "numbers", "cyclic"]

MOST_LABELS_SHOWN = 4


@dataclass(frozen=True, eq=False, repr=False)
class Factors:
    """Factors of variation of n points, with their names.

    Functions that take an array accept this object; `len` counts the points.

    Attributes
    ----------
    values : ndarray of shape (n, f)
        Numbers, and integer codes for labels; NaN for missing values.
    names : tuple of f str
        All different.
    categories : mapping of str to tuple of str
        The labels of each factor made of labels, in order of their codes, by name.
    ordered : collection of str
        Names of the factors with ordered labels, as low < medium < high.
    periods : mapping of str to float
        Periods of the cyclic factors, by name.
    groups : mapping of str to tuple of str
        Names of the columns of each factor with several columns, by the name of the factor.

    Examples
    --------
    >>> Factors(np.array([[0.5, 0], [1.5, 1], [2.5, 0]]), ("x", "shape"), {"shape": ("box", "dot")})
    3 points, 2 factors
    name   distinct  range
    x             3  0.5 to 2.5
    shape         2  box, dot
    """

    values: np.ndarray
    names: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ordered: Collection[str] = ()
    periods: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise InputError(
                "Factors must have values of shape (n, f) and f names; got shape "
                f"{self.values.shape} and {len(self.names)} names."
            )
        if self.values.dtype.kind not in "biuf":
            raise InputError(
                f"Factors must have values that are numbers; got dtype {self.values.dtype}: "
                "gd.as_factors turns labels into codes."
            )
        if len(set(self.names)) != len(self.names):
            raise InputError(f"Factors must have different names; got {', '.join(self.names)}.")
        self._check_kinds()

    def _check_kinds(self) -> None:
        place = {name: j for j, name in enumerate(self.names)}
        for known, what in (
            (self.categories, "categories"),
            (self.ordered, "ordered"),
            (self.periods, "periods"),
        ):
            if unknown := [str(name) for name in known if name not in place]:
                raise InputError(
                    f"{what} must name factors among {', '.join(self.names)}; "
                    f"got {', '.join(unknown)}."
                )
        if numbers := [name for name in self.ordered if name not in self.categories]:
            raise InputError(
                f"ordered must name factors made of labels; got {', '.join(numbers)}, "
                "made of numbers, which are always ordered."
            )
        for name, labels in self.categories.items():
            check_codes(name, self.values[:, place[name]], len(labels))
        for name, period in self.periods.items():
            if name in self.categories:
                raise InputError(f"periods must name factors of numbers; got {name}, of labels.")
            if check_real(period, f"The period of {name}") <= 0:
                raise InputError(f"The period of {name} must be above 0; got {period}.")
        read_factor_groups(self.groups, self.names)

    @property
    def kinds(self) -> tuple[FactorKind, ...]:
        """The kind of every factor: labels, ordered labels, numbers or cyclic numbers."""
        return tuple(map(self.kind_of, self.names))

    def kind_of(self, name: str) -> FactorKind:
        """Return the kind of one factor.

        Examples
        --------
        >>> as_factors({"angle": [0.0, 90.0]}, periods={"angle": 360.0}).kind_of("angle")
        'cyclic'
        """
        if name not in self.names:
            raise InputError(f"name must be one of {', '.join(self.names)}; got {name!r}.")
        if name in self.categories:
            return "ordered" if name in self.ordered else "labels"
        return "cyclic" if name in self.periods else "numbers"

    @property
    def has_own_names(self) -> bool:
        """Whether any names were given, so that they differ from "factor 0", "factor 1", ..."""
        return self.names != default_names(len(self.names))

    @property
    def are_plain(self) -> bool:
        """Whether the array of values says everything: no names, labels, periods or groups."""
        return not self.has_own_names and set(self.kinds) <= {"numbers"} and not self.groups

    @property
    def complete(self) -> np.ndarray:
        """Rows (n,) without missing or infinite values."""
        return np.isfinite(self.values).all(axis=1)

    def take(self, rows: Any) -> Factors:
        """Return the factors of some rows.

        Parameters
        ----------
        rows : ndarray of int, shape (m,), or of bool, shape (n,), or slice
        """
        return replace(self, values=self.values[rows])

    def refuse_missing(self) -> Factors:
        """Return the factors unchanged, or raise an InputError if values are missing.

        Examples
        --------
        >>> as_factors({"shape": ["box", None, "dot"]}).refuse_missing()
        Traceback (most recent call last):
        geodis.base.check.InputError: factor 'shape' must have a value in every row; got 1 missing.
        """
        for j, name in enumerate(self.names):
            if name not in self.categories:
                check_finite(self.values[:, j], self.called(j))
            elif missing := int(np.isnan(self.values[:, j]).sum()):
                raise InputError(
                    f"{self.called(j)} must have a value in every row; got {missing} missing."
                )
        return self

    def called(self, j: int) -> str:
        """Return the name of factor j for a message.

        Examples
        --------
        >>> as_factors({"x": [1]}).called(0), as_factors([1]).called(0)
        ("factor 'x'", 'factor 0')
        """
        return called(self.names, j)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        rows = [("name", "distinct", "range")]
        for name, column in zip(self.names, self.values.T, strict=True):
            present = np.unique(column[~np.isnan(column)])
            rows.append((name, str(len(present)), self._range(name, present)))
        width = max(len(name) for name, _, _ in rows)
        counted = f"{len(self)} points, {len(self.names)} factor{'s'[: len(self.names) != 1]}"
        table = [f"{name:<{width}}  {count:>8}  {span}" for name, count, span in rows]
        return "\n".join([counted, *table])

    def _range(self, name: str, present: np.ndarray) -> str:
        """Describe the sorted distinct values of one factor."""
        if not len(present):
            return "all missing"
        if name not in self.categories:
            period = f", period {self.periods[name]:g}" if name in self.periods else ""
            return f"{present[0]:g} to {present[-1]:g}{period}"
        labels = [self.categories[name][int(code)] for code in present]
        between = " < " if name in self.ordered else ", "
        shown = between.join(labels[:MOST_LABELS_SHOWN])
        return shown + (f"{between}..." if len(labels) > MOST_LABELS_SHOWN else "")


def as_factors(
    factors: Any,
    *,
    names: Sequence[str] | None = None,
    periods: Mapping[str, float] | None = None,
    groups: Mapping[str, Sequence[str | int]] | None = None,
) -> Factors:
    """Convert a table of any kind to factors.

    Parameters
    ----------
    factors : array-like of shape (n, f), or (n,) for one factor
        An array, a list (of rows, which may mix text and numbers, or of records by name), a
        tensor, a pandas or polars frame or series, a table of pyarrow, a mapping of names to
        columns, a structured array (its fields are the factors), a masked array, an AnnData
        object (its ``obs``), a `FactorGrid` (all its rows), or `Factors`, which are unchanged.
        For a file name, use `load_factors`.
    names : sequence of f str, optional
        Replace the names of the factors; by default "factor 0", "factor 1", ... if unnamed.
    periods : mapping of str to float, optional
        The periods of cyclic numeric factors, such as angles, by name.
    groups : mapping of str to sequence of str or int, optional
        The columns of each factor with several columns, such as a direction, by its name.

    Returns
    -------
    Factors
        Missing values (None, NaN, NaT, NA, masked) are NaN.

    Notes
    -----
    Columns are read as:

    - *numbers*: integers and floats of any width, booleans (0 and 1), and objects that can all be
      converted to numbers;
    - *labels*: text, in alphabetical order, even if it looks like numbers ("01" is not "1"), and
      categoricals, in the order of their categories, whatever these are;
    - *ordered labels*: ordered categoricals, polars Enum, dates, periods, times, durations, and
      integers beyond 2^53, which may not be exact as floats: their labels are their digits, in
      numerical order.

    Complex numbers are refused.

    Examples
    --------
    >>> as_factors([("box", 1), ("dot", 2), ("box", 4)], names=["shape", "x"])
    3 points, 2 factors
    name   distinct  range
    shape         2  box, dot
    x             3  1 to 4
    """
    new_names = None if names is None else _check_names(names)
    if periods is not None and not isinstance(periods, Mapping):
        raise InputError(f"periods must be a mapping of names to numbers; got {periods!r}.")
    if hasattr(factors, "known_factors"):  # a grid
        factors = factors.known_factors(np.arange(len(factors)))
    if not isinstance(factors, Factors):
        known = _read(factors, new_names)
    else:
        known = factors if new_names is None else _renamed(factors, new_names)
    if groups is not None:
        known = replace(known, groups=read_factor_groups(groups, known.names))
    return replace(known, periods={**known.periods, **periods}) if periods else known


def _check_names(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names must be a sequence of names, one per factor; got {names!r}.")
    return tuple(map(str, names))


def _require_one_each(names: tuple[str, ...], count: int) -> None:
    if len(names) != count or len(set(names)) != len(names):
        raise InputError(f"names must be {count} different names, one per factor; got {names}.")


def _read(factors: Any, new_names: tuple[str, ...] | None) -> Factors:
    columns, own = columns_of(factors)
    names = default_names(len(columns)) if own is None else own
    if new_names is not None:
        _require_one_each(new_names, len(columns))
        names = new_names
    elif len(set(names)) != len(names):
        raise InputError(f"factors must have different names; got {', '.join(names)}.")
    named = enumerate(zip(names, columns, strict=True))
    return from_columns({name: read_column(x, called(names, j)) for j, (name, x) in named})


def from_columns(columns: Mapping[str, np.ndarray | Labels]) -> Factors:
    """Combine columns that were read into factors.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n,) or Labels
        By name of the factor.
    """
    labels = {name: column for name, column in columns.items() if isinstance(column, Labels)}
    numbers = [x.numbers() if isinstance(x, Labels) else x for x in columns.values()]
    lengths = sorted({len(column) for column in numbers})
    if lengths in ([], [0]):
        raise InputError("factors must hold at least one row and one factor; got none.")
    if len(lengths) > 1:
        raise InputError(
            f"factors must have equally many values; got from {lengths[0]} to {lengths[-1]}."
        )
    return Factors(
        np.column_stack(numbers),
        tuple(columns),
        {name: column.categories for name, column in labels.items()},
        ordered=tuple(name for name, column in labels.items() if column.ordered),
    )


def _renamed(factors: Factors, names: tuple[str, ...]) -> Factors:
    _require_one_each(names, len(factors.names))
    new = dict(zip(factors.names, names, strict=True))
    return replace(
        factors,
        names=names,
        categories={new[name]: labels for name, labels in factors.categories.items()},
        ordered=tuple(new[name] for name in factors.ordered),
        periods={new[name]: period for name, period in factors.periods.items()},
        groups={
            group: tuple(new[name] for name in columns) for group, columns in factors.groups.items()
        },
    )


def default_names(count: int) -> tuple[str, ...]:
    """Return the names of unnamed factors.

    Examples
    --------
    >>> default_names(2)
    ('factor 0', 'factor 1')
    """
    return tuple(f"factor {j}" for j in range(count))


def called(names: Sequence[str], j: int) -> str:
    """Return the name of factor j for a message, with or without names.

    Examples
    --------
    >>> called(("x",), 0), called((), 0)
    ("factor 'x'", 'factor 0')
    """
    numbered = f"factor {j}"
    return f"factor {names[j]!r}" if names and names[j] != numbered else numbered
