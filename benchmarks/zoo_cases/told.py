"""Told dimensions and numbers of factors: a wrong one must be flagged or refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.zoo_cases.case import Case, Dims, family
from benchmarks.zoo_cases.clouds import product
from benchmarks.zoo_cases.homogeneous import complex_projective


def told(spec: str, n: int, right: Dims | None = None, **fit: int) -> Case:
    """A product fitted with what it is told; right dims where that is true."""
    what = ", ".join(f"{name} = {value}" for name, value in fit.items())
    accepted = () if right is None else (right,)
    return Case(f"{spec} told {what}", partial(product, spec, n), accepted, fit=fit)


@family("told a dimension", "tuning")
def told_dimension() -> Iterator[Case]:
    yield told("S^2 x S^2", 2500, (2, 2), dim=4)
    yield told("S^2 x S^2", 2500, dim=3)
    yield told("S^2 x S^2", 2500, dim=5)
    yield told("S^2 x S^1", 2000, dim=2)
    yield told("SO(3)", 2000, dim=2)
    yield told("S^3", 2000, dim=4)


@family("told a number of factors", "held-out")
def told_factors() -> Iterator[Case]:
    yield told("S^2 x S^2", 2500, (2, 2), n_factors=2)
    yield told("S^2 x S^2", 2500, n_factors=3)
    yield told("S^2 x S^2 x S^2", 3500, n_factors=2)
    yield told("S^4", 2500, n_factors=2)
    yield told("S^3 x S^2", 3000, n_factors=3)
    yield told("SO(3)", 2000, n_factors=2)
    projective = partial(complex_projective, 3000, 3)
    yield Case("CP^2 told n_factors = 2", projective, (), fit={"n_factors": 2})


@family("told a dimension, other spaces", "held-out")
def told_other_dimension() -> Iterator[Case]:
    yield told("S^3 x S^2", 3000, (3, 2), dim=5)
    yield told("S^3 x S^2", 3000, dim=4)
    yield told("torus(2, .7) x S^1", 2500, dim=4)
    yield told("S^4", 2500, dim=3)


@family("told both", "tuning")
def told_both() -> Iterator[Case]:
    yield told("S^2 x S^1", 2000, (2, 1), dim=3, n_factors=2)
    yield told("S^2 x S^1", 2000, dim=3, n_factors=3)
    yield told("S^3 x S^2", 3000, dim=4, n_factors=2)
    yield told("S^4", 2500, dim=4, n_factors=2)
    yield told("S^2 x S^2 x S^2", 3500, dim=6, n_factors=2)
