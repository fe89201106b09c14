"""Factors of any shape -> one block of numbers a factor, in which distance means difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.data.factors import FactorKind, Factors, as_factors
from geodis.scores.active import of_order_one
from geodis.scores.inputs import ScoredFactors, scored_factors


@dataclass(frozen=True)
class FactorBlock:
    """One factor of n rows.

    Attributes
    ----------
    name : str
    columns : tuple of int
        Its columns among those of the factors.
    values : ndarray of shape (n, c)
        Centred, of total variance one; zeros where nothing varies. Numbers and ordered labels as
        they are, a cyclic number as the cosine and sine of its angle, labels as a column of zeros
        and ones for each. Columns of numbers of one factor keep their common unit.
    numeric : bool
        Whether no column is made of labels without an order.
    cyclic : bool
        Whether it is one number with a period.
    """

    name: str
    columns: tuple[int, ...]
    values: np.ndarray
    numeric: bool
    cyclic: bool

    @property
    def varies(self) -> bool:
        """Whether it has more than one value."""
        return bool(self.values.any())


def factor_blocks(factors: Any) -> list[FactorBlock]:
    """Read every factor, of one column or several, in the order of their first columns.

    Parameters
    ----------
    factors : array-like of shape (n, f), Factors
        With ``groups``, columns that belong together are one factor.

    Returns
    -------
    list of FactorBlock

    Examples
    --------
    >>> from geodis.data.factors import as_factors
    >>> known = as_factors({"x": [0.0, 2.0], "angle": [0.0, 180.0]}, periods={"angle": 360.0})
    >>> [block.values.tolist() for block in factor_blocks(known)]
    [[[-1.0], [1.0]], [[1.0, 0.0], [-1.0, 0.0]]]
    """
    known = as_factors(factors).refuse_missing()
    group_of = {name: group for group, names in known.groups.items() for name in names}
    place = {name: j for j, name in enumerate(known.names)}
    kinds = known.kinds
    blocks, done = [], set()
    for j, name in enumerate(known.names):
        group = group_of.get(name, name)
        if group in done:
            continue
        done.add(group)
        members = known.groups[group] if name in group_of else (name,)
        columns = tuple(place[member] for member in members) or (j,)
        blocks.append(_block(known, group, columns, [kinds[column] for column in columns]))
    return blocks


def varying_blocks(factors: Any, n: int) -> tuple[list[FactorBlock], ScoredFactors]:
    """All blocks of n rows, and which of them vary."""
    blocks = factor_blocks(factors)
    if len(blocks[0].values) != n:
        raise InputError(
            f"latents and factors must have as many rows; got {n} and {len(blocks[0].values)}."
        )
    names = tuple(block.name for block in blocks)
    return blocks, scored_factors(np.array([block.varies for block in blocks]), names, names)


def _block(
    known: Factors, group: str, columns: tuple[int, ...], kinds: list[FactorKind]
) -> FactorBlock:
    if set(kinds) == {"numbers"}:
        # A common power of two: the columns keep their unit, and squares have room.
        together = known.values[:, list(columns)].astype(float)
        scale = np.abs(together).max() or 1.0
        parts = [_unit(of_order_one(together / scale) if len(columns) == 1 else together / scale)]
    else:
        parts = [_unit(_embedded(known, j, kind)) for j, kind in zip(columns, kinds, strict=True)]
    return FactorBlock(
        group,
        columns,
        _unit(np.column_stack(parts)),
        numeric="labels" not in kinds,
        cyclic=kinds == ["cyclic"],
    )


def _embedded(known: Factors, j: int, kind: FactorKind) -> np.ndarray:
    """One column as numbers whose squared differences say how far values are apart."""
    column = known.values[:, j].astype(float)
    if kind == "cyclic":
        angle = 2 * np.pi * np.remainder(column / known.periods[known.names[j]], 1.0)
        # Rounded, so that halves and quarters of a turn are exact.
        return np.round(np.column_stack([np.cos(angle), np.sin(angle)]), 15)
    if kind == "labels":
        present, codes = np.unique(column, return_inverse=True)
        return (codes.reshape(-1, 1) == np.arange(len(present))).astype(float)
    return column[:, None]


def _unit(values: np.ndarray) -> np.ndarray:
    """Centre, and scale to a total variance of one."""
    constant = values.max(axis=0) == values.min(axis=0)
    centred = np.where(constant, 0.0, values - values.mean(axis=0))
    total = np.sqrt((centred**2).sum(axis=1).mean())
    return centred / total if total > 0 else centred
