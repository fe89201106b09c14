"""What stands beside factors in a file: arrays that say what the columns of `factors` are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from geodis.base.check import InputError
from geodis.data.factors import FactorKind, Factors
from geodis.data.files.contents import Contents
from geodis.data.read_column import Column

# What the array is called that they belong to, and they themselves: text, and numbers for periods.
FACTORS = "factors"
NAMES, KINDS = "factor_names", "factor_kinds"
LABELS, PERIODS = "factor_labels", "factor_periods"
GROUPS = "factor_groups"
BESIDE = (NAMES, KINDS, LABELS, PERIODS, GROUPS)


def arrays_of_factors(factors: Factors) -> dict[str, np.ndarray]:
    """Arrays for a file, from which `load_factors` makes the same factors again.

    Examples
    --------
    >>> known = Factors(np.array([[0, 90], [1, 0]]), ("shape", "angle"), {"shape": ("box", "dot")})
    >>> {name: array.tolist() for name, array in arrays_of_factors(known).items()}
    {'factors': [[0, 90], [1, 0]], 'factor_names': ['shape', 'angle'], \
'factor_kinds': ['labels', 'numbers'], 'factor_labels': ['["box", "dot"]', '']}
    """
    names = factors.names
    arrays = {FACTORS: factors.values, NAMES: np.array(names), KINDS: np.array(factors.kinds)}
    if factors.categories:
        labels = [factors.categories.get(name) for name in names]
        arrays[LABELS] = np.array(["" if own is None else json.dumps(own) for own in labels])
    if factors.periods:
        arrays[PERIODS] = np.array([float(factors.periods.get(name, np.nan)) for name in names])
    if factors.groups:
        of = {column: group for group, own in factors.groups.items() for column in own}
        arrays[GROUPS] = np.array([of.get(name, "") for name in names])
    return arrays


def without_beside(contents: Contents) -> Contents:
    """The contents of a file without what only says what other arrays are."""
    kept = {key: stored for key, stored in contents.arrays.items() if key not in BESIDE}
    return replace(contents, arrays=kept or contents.arrays)


def names_beside(contents: Contents) -> list[str]:
    """Names of the columns of a table that stand in an array beside it."""
    if NAMES not in contents.arrays:
        return []
    names = contents.read(NAMES)
    if not isinstance(names, np.ndarray) or names.ndim != 1 or names.dtype.kind != "U":
        return []
    return list(dict.fromkeys(map(str, names)))


def with_kinds_beside(factors: Factors, contents: Contents) -> Factors:
    """Factors as what stands beside them in the file says that they are."""
    if KINDS not in contents.arrays:
        return factors
    kinds = _texts(contents, KINDS, factors)
    if odd := sorted(set(kinds) - set(get_args(FactorKind))):
        raise InputError(
            f"{contents.path} must have only {', '.join(get_args(FactorKind))} in {KINDS}; "
            f"got {', '.join(map(repr, odd))}."
        )
    of_kinds = dict(zip(factors.names, kinds, strict=True))
    labelled = [name for name, kind in of_kinds.items() if kind in ("labels", "ordered")]
    return Factors(
        factors.values,
        factors.names,
        _labels(contents, factors, labelled),
        ordered=tuple(name for name in labelled if of_kinds[name] == "ordered"),
        periods=_periods(contents, factors, of_kinds),
        groups=_groups(contents, factors),
    )


def _groups(contents: Contents, factors: Factors) -> Mapping[str, tuple[str, ...]]:
    """Columns that are one factor, by what each says that it belongs to; nothing for alone."""
    if GROUPS not in contents.arrays:
        return {}
    groups: dict[str, tuple[str, ...]] = {}
    for name, group in zip(factors.names, _texts(contents, GROUPS, factors), strict=True):
        if group:
            groups[group] = (*groups.get(group, ()), name)
    return groups


def _texts(contents: Contents, key: str, factors: Factors) -> list[str]:
    array: Any = contents.read(key) if key in contents.arrays else None
    wanted = (len(factors.names),)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "U" or array.shape != wanted:
        raise _unfit(contents, key, "a text", factors, array)
    return list(map(str, array))


def _labels(
    contents: Contents, factors: Factors, labelled: list[str]
) -> Mapping[str, tuple[str, ...]]:
    if not labelled:
        return {}
    texts = dict(zip(factors.names, _texts(contents, LABELS, factors), strict=True))
    return {name: _read_labels(contents, name, texts[name]) for name in labelled}


def _read_labels(contents: Contents, name: str, text: str) -> tuple[str, ...]:
    try:
        labels = json.loads(text)
    except (ValueError, RecursionError):
        labels = None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(
            f"{contents.path} must have a list of texts in JSON for {name!r} in {LABELS}; "
            f"got {text[:40]!r}."
        )
    return tuple(labels)


def _periods(contents: Contents, factors: Factors, kinds: Mapping[str, str]) -> Mapping[str, float]:
    cyclic = [name for name, kind in kinds.items() if kind == "cyclic"]
    if not cyclic:
        return {}
    array: Any = contents.read(PERIODS) if PERIODS in contents.arrays else None
    wanted = (len(factors.names),)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf" or array.shape != wanted:
        raise _unfit(contents, PERIODS, "a number", factors, array)
    return {name: float(array[factors.names.index(name)]) for name in cyclic}


def _unfit(
    contents: Contents, key: str, what: str, factors: Factors, array: Column | None
) -> InputError:
    got = "no such array"
    if isinstance(array, np.ndarray):
        got = f"an array of shape {array.shape} and dtype {array.dtype}"
    return InputError(
        f"{contents.path} must have {what} for each of {len(factors.names)} factors in {key}; "
        f"got {got}."
    )
