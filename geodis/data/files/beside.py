"""Arrays of a file that describe the columns of its array `factors`: names, kinds, labels, ..."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import numpy as np

from geodis.base.check import InputError
from geodis.data.factors import FactorKind, Factors
from geodis.data.files.contents import Contents

FACTORS = "factors"
NAMES, KINDS = "factor_names", "factor_kinds"
LABELS, PERIODS = "factor_labels", "factor_periods"
GROUPS = "factor_groups"
DESCRIPTIONS = (NAMES, KINDS, LABELS, PERIODS, GROUPS)


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


def without_descriptions(contents: Contents) -> Contents:
    """The contents of a file without the arrays that only describe others."""
    others = {key: stored for key, stored in contents.arrays.items() if key not in DESCRIPTIONS}
    return replace(contents, arrays=others or contents.arrays)


def described_names(contents: Contents) -> list[str]:
    """The names of factors that a file holds; none if it holds none."""
    if NAMES not in contents.arrays:
        return []
    names = contents.read(NAMES)
    if not isinstance(names, np.ndarray) or names.ndim != 1 or names.dtype.kind != "U":
        return []
    return list(dict.fromkeys(map(str, names)))


def with_descriptions(factors: Factors, contents: Contents) -> Factors:
    """Factors with the kinds, labels, periods and groups that their file holds."""
    if KINDS not in contents.arrays:
        return factors
    known = get_args(FactorKind)
    kinds = _texts(contents, KINDS, factors)
    if odd := sorted(set(kinds.values()) - set(known)):
        raise InputError(
            f"{contents.path} must have only {', '.join(known)} in {KINDS}; "
            f"got {', '.join(map(repr, odd))}."
        )
    labelled = [name for name, kind in kinds.items() if kind in ("labels", "ordered")]
    cyclic = [name for name, kind in kinds.items() if kind == "cyclic"]
    labels = _texts(contents, LABELS, factors) if labelled else {}
    periods = _column(contents, PERIODS, "a number", "iuf", factors) if cyclic else {}
    groups: dict[str, tuple[str, ...]] = {}
    of_columns = _texts(contents, GROUPS, factors) if GROUPS in contents.arrays else {}
    for name, group in of_columns.items():
        if group:  # empty for a column of its own
            groups[group] = (*groups.get(group, ()), name)
    return Factors(
        factors.values,
        factors.names,
        {name: _read_labels(contents, name, labels[name]) for name in labelled},
        ordered=tuple(name for name in labelled if kinds[name] == "ordered"),
        periods={name: float(periods[name]) for name in cyclic},
        groups=groups,
    )


def _column(
    contents: Contents, key: str, what: str, dtype_kinds: str, factors: Factors
) -> dict[str, np.generic]:
    """An array with an entry for each factor, by name."""
    array = contents.read(key) if key in contents.arrays else None
    got = "no such array"
    if isinstance(array, np.ndarray):
        if array.dtype.kind in dtype_kinds and array.shape == (len(factors.names),):
            return dict(zip(factors.names, array, strict=True))
        got = f"an array of shape {array.shape} and dtype {array.dtype}"
    raise InputError(
        f"{contents.path} must have {what} for each of {len(factors.names)} factors in {key}; "
        f"got {got}."
    )


def _texts(contents: Contents, key: str, factors: Factors) -> dict[str, str]:
    column = _column(contents, key, "a text", "U", factors)
    return {name: str(text) for name, text in column.items()}


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
