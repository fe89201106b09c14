"""How much of the variance of every score over models a setting explains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError

if TYPE_CHECKING:
    import pandas as pd


def variance_explained(table: Any, by: str | Sequence[str]) -> pd.DataFrame:
    """How much of the variance of every score over models a setting explains.

    The share of the sum of squares that lies between the groups of equal settings: R^2 of the
    regression of the score on one indicator a group, as in the tables of Locatello et al. (2019,
    section 5.4). Several settings form their Cartesian product. What remains is due to
    everything else, the random seed above all.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a model: columns of scores, and of settings.
    by : str or sequence of str
        Columns of settings, such as "objective", or ["objective", "strength"].

    Returns
    -------
    pandas.DataFrame
        One row a score. ``explained`` is the share, 0 to 1; ``adjusted`` corrects it for the
        number of groups, 1 - (1 - R^2) (n - 1) / (n - groups), for groups of few models explain
        much by chance; ``models`` and ``groups`` say of how many. Both shares are NaN where all
        models have the same score, ``adjusted`` also where every group has one model.

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
    """One line of the table: the score of that name in rows that have it."""
    group = rows.groupby(settings, sort=False)[name]
    n, groups = len(rows), int(group.ngroups)
    values = rows[name].to_numpy(float)
    whole = ((values - values.mean()) ** 2).sum() if n else 0.0
    within = ((values - group.transform("mean").to_numpy(float)) ** 2).sum() if n else 0.0
    # Equal numbers differ by rounding when their mean is taken.
    varies = n > 1 and whole > 1e-24 * max((values**2).sum(), 1e-300)
    share = 1 - within / whole if varies else np.nan
    adjusted = 1 - (1 - share) * (n - 1) / (n - groups) if n > groups else np.nan
    return {"explained": share, "adjusted": adjusted, "models": n, "groups": groups}
