"""Tables of pyarrow, from memory or from a Parquet file -> columns of pandas."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import GeodisWarning

if TYPE_CHECKING:
    import pandas as pd


def columns_of_arrow(table: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Take a table of pyarrow apart; a pandas index stored with it is left out.

    Returns
    -------
    columns : list of f pandas series
    names : tuple of f str
    """
    frame = frame_of_arrow(table)
    names = tuple(map(str, frame.columns))
    return [exact_column(table, frame.iloc[:, j]) for j in range(len(names))], names


def frame_of_arrow(table: Any) -> pd.DataFrame:
    """Convert to pandas, and make categoricals again of those that Parquet stores as their values.

    The order of their categories is not stored with these: they are without one.
    """
    import pandas as pd

    frame = table.to_pandas()
    known = {str(name): name for name in frame.columns}  # pandas may have had numbers for names
    for name in _rebuilt(table).keys() & known.keys():
        frame[known[name]] = pd.Categorical(np.asarray(_integers(table, name)))
    return frame


def exact_column(table: Any, series: pd.Series) -> pd.Series:
    """A column of the frame, or what of the table that one has lost, or a warning that it is lost.

    Of integers with gaps pandas makes floats; here they are objects. Ordered categories of
    anything but text come out of Parquet without their order.
    """
    name = str(series.name)
    if _rebuilt(table).get(name):
        warnings.warn(
            f"The order of the categories of {name} is not in the file, which stores that of text "
            "alone: they are read as labels without one.",
            GeodisWarning,
            stacklevel=2,
        )
    elif series.dtype.kind == "f" and "int" in _type(table, name):
        return _integers(table, name)
    return series


def _rebuilt(table: Any) -> dict[str, bool]:
    """Categoricals of pandas that are none in the table, by name; and whether they were ordered."""
    return {
        column["field_name"]: bool((column.get("metadata") or {}).get("ordered"))
        for column in (table.schema.pandas_metadata or {}).get("columns", ())
        if column["pandas_type"] == "categorical"
        and _type(table, column["field_name"])
        and not _type(table, column["field_name"]).startswith("dictionary")
    }


def _type(table: Any, name: str) -> str:
    """The type of a column, "" where there is none or several of the name."""
    j = table.schema.get_field_index(name)
    return "" if j < 0 else str(table.schema.field(j).type)


def _integers(table: Any, name: str) -> pd.Series:
    return table.column(name).to_pandas(integer_object_nulls=True)
