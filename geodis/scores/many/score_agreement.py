"""Rank correlations of scores across models, and variance explained by settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """Rank correlations of scores across models.

    Attributes
    ----------
    names : tuple of str
        The scores, k of them.
    matrix : ndarray of shape (k, k)
        Spearman's correlation of two scores over the models that have both; NaN if one of them is
        constant, or fewer than three models have both.
    counts : ndarray of int64, shape (k, k)
        Number of models of each correlation.
    values : pandas.DataFrame
        The scores, models by scores.

    Examples
    --------
    >>> import pandas as pd
    >>> ranks = agreement(pd.DataFrame({"mig": [0.1, 0.2, 0.3], "sap": [0.3, 0.2, 0.1]}))
    >>> print(ranks)
    Rank correlation of 2 scores across 3 models
          mig   sap
    mig  1.00 -1.00
    sap -1.00  1.00
    """

    names: tuple[str, ...]
    matrix: np.ndarray
    counts: np.ndarray
    values: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """The matrix with names."""
        import pandas as pd

        return pd.DataFrame(self.matrix, index=list(self.names), columns=list(self.names))

    def pairs(self) -> pd.DataFrame:
        """Return all pairs of scores in ascending order of their correlation."""
        import pandas as pd

        rows, columns = np.triu_indices(len(self.names), 1)
        pairs = pd.DataFrame(
            {
                "first": [self.names[i] for i in rows],
                "second": [self.names[j] for j in columns],
                "correlation": self.matrix[rows, columns],
            }
        )
        return pairs.sort_values("correlation", ignore_index=True)

    def __str__(self) -> str:
        body = self.frame.to_string(float_format=lambda x: f"{x:.2f}", na_rep="-")
        # Pandas pads every line to one width.
        lines = [line.rstrip() for line in body.split("\n")]
        head = f"Rank correlation of {len(self.names)} scores across {len(self.values)} models"
        return "\n".join([head, *lines])

    __repr__ = __str__


def agreement(tables: Any) -> Agreement:
    """Rank correlations of scores over models, as in figure 2 of Locatello et al. (2019).

    Parameters
    ----------
    tables : sequence or mapping of tables, or pandas.DataFrame
        Each table is the result of `score_latents` for one model, or its JSON file. A frame has one
        row per model and one column per score; columns that are not numeric are left out.

    Returns
    -------
    Agreement
        Values are not negated: scores for which lower is better, such as the total correlation,
        agree with others if the correlation is negative.

    Examples
    --------
    >>> import pandas as pd
    >>> agreement(pd.DataFrame({"a": [1, 2, 3, 4], "b": [1, 3, 2, 4]})).matrix.round(2)
    array([[1. , 0.8],
           [0.8, 1. ]])
    """
    values = scores_by_model(tables)
    if len(values) < 3:
        raise InputError(
            f"agreement compares the ranks of models and needs three at least; got {len(values)}."
        )
    if values.shape[1] < 2:
        raise InputError(f"agreement needs two scores at least; got {values.shape[1]}.")
    present = values.notna().to_numpy().astype(np.int64)
    counts = present.T @ present
    matrix = values.corr("spearman", min_periods=3).to_numpy(copy=True)
    constant = values.nunique().to_numpy() < 2
    matrix[constant] = matrix[:, constant] = np.nan
    known = np.flatnonzero(~constant & (np.diag(counts) >= 3))
    matrix[known, known] = 1.0
    return Agreement(tuple(map(str, values.columns)), matrix, counts, values)


def scores_by_model(tables: Any) -> pd.DataFrame:
    """Return a frame with a row per model and a column per score, NaN for missing scores."""
    import pandas as pd

    if isinstance(tables, pd.DataFrame):
        return tables.select_dtypes("number")
    if isinstance(tables, Mapping):
        named = {str(name): _values(table) for name, table in tables.items()}
    elif isinstance(tables, Sequence) and not isinstance(tables, str):
        named = {str(i): _values(table) for i, table in enumerate(tables)}
    else:
        raise InputError(
            "tables must be a sequence or mapping of score tables, or a frame of models by "
            f"scores; got {type(tables).__name__}."
        )
    return pd.DataFrame.from_dict(named, orient="index").astype(float)


def _values(table: Any) -> dict[str, float]:
    """Return score -> value of one model."""
    if hasattr(table, "values_by_name"):  # a ScoreTable
        return dict(table.values_by_name)
    if isinstance(table, Mapping):
        return {str(name): float(value) for name, value in table.items()}
    if isinstance(table, str | Path):
        try:
            rows = json.loads(Path(table).read_text(encoding="utf-8"))["rows"]
            pairs = {row["score"]: row["value"] for row in rows}
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InputError(
                f"{table} is not a score table that geodis wrote as JSON: {problem!r}."
            ) from None
        return {name: np.nan if value is None else float(value) for name, value in pairs.items()}
    raise InputError(
        "a table must be a ScoreTable, a mapping of score to value, or a JSON file of one; "
        f"got {type(table).__name__}."
    )


def variance_explained(table: Any, by: str | Sequence[str]) -> pd.DataFrame:
    """Share of the variance of every score over models that is explained by settings.

    This is the R^2 of the regression of the score on indicators of the groups with equal settings,
    as in Locatello et al. (2019, section 5.4). Several settings form their Cartesian product. The
    remaining variance is due to other causes, such as the random seed.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per model, with columns of scores and of settings.
    by : str or sequence of str
        Columns of settings, such as "objective", or ["objective", "strength"].

    Returns
    -------
    pandas.DataFrame
        One row per score. ``explained`` is R^2; ``adjusted`` corrects it for the number of groups,
        1 - (1 - R^2) (n - 1) / (n - groups), because small groups explain much by chance;
        ``models`` and ``groups`` are their numbers. Both shares are NaN if all models have the same
        score, ``adjusted`` also if every group has one model.

    Examples
    --------
    >>> import pandas as pd
    >>> models = pd.DataFrame({"objective": ["a", "a", "b", "b"], "mig": [0.1, 0.2, 0.7, 0.8]})
    >>> variance_explained(models, by="objective").round(3)
         explained  adjusted  models  groups
    mig      0.973     0.959       4       2
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise InputError(
            "table must be a frame with one row a model, columns of scores and of settings; "
            f"got {type(table).__name__}."
        )
    settings = [by] if isinstance(by, str) else list(by)
    missing = [name for name in settings if name not in table.columns]
    if missing or not settings:
        raise InputError(
            f"by must name columns of the table ({', '.join(map(str, table.columns))}); "
            f"got {', '.join(map(str, missing)) or 'none'}."
        )
    explained = {
        str(name): _explained(table[[*settings, name]].dropna(), settings, name)
        for name in table.columns.difference(settings, sort=False)
        if pd.api.types.is_numeric_dtype(table[name])
    }
    if not explained:
        raise InputError("table has no column of numbers beside the settings.")
    frame = pd.DataFrame.from_dict(explained, orient="index")
    return frame.astype({"models": int, "groups": int})


def _explained(rows: pd.DataFrame, settings: list[str], name: str) -> dict[str, float]:
    """Return the row of the table for one score."""
    group = rows.groupby(settings, sort=False)[name]
    n, groups = len(rows), int(group.ngroups)
    values = rows[name].to_numpy(float)
    whole = ((values - values.mean()) ** 2).sum() if n else 0.0
    within = ((values - group.transform("mean").to_numpy(float)) ** 2).sum() if n else 0.0
    # The variance of equal numbers may be a rounding error.
    varies = n > 1 and whole > 1e-24 * max((values**2).sum(), 1e-300)
    share = 1 - within / whole if varies else np.nan
    adjusted = 1 - (1 - share) * (n - 1) / (n - groups) if n > groups else np.nan
    return {"explained": share, "adjusted": adjusted, "models": n, "groups": groups}
