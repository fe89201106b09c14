"""Products of many kinds, each factor in columns of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.zoo_cases.case import Case, Dims, family
from benchmarks.zoo_cases.clouds import Cloud, beside, bumpy, flat, product
from geodis.data.manifolds.flat_products import FlatCase


def of_spec(spec: str, n: int, *dims: int) -> Case:
    """A product of the package's spaces, everything as it comes."""
    return Case(f"{spec}, n = {n:,}", partial(product, spec, n), (dims,))


@family("spheres", "tuning")
def spheres() -> Iterator[Case]:
    yield of_spec("S^2 x S^2", 2000, 2, 2)
    yield of_spec("S^3 x S^2", 3000, 3, 2)
    yield of_spec("S^3 x S^3", 3000, 3, 3)
    yield of_spec("S^4 x S^2", 4000, 4, 2)
    yield of_spec("S^2 x S^2 x S^2", 4000, 2, 2, 2)


def two_bumps(other: str, n: int, seed: int) -> Cloud:
    return beside(bumpy(product("S^2", n, seed)), product(other, n, seed + 1))


@family("curved surfaces", "held-out")
def surfaces() -> Iterator[Case]:
    yield of_spec("ellipsoid(1, 1.3, 1.6) x S^2", 2500, 2, 2)
    yield of_spec("ellipsoid(1, 1.2, 1.4, 1.6) x S^2", 3500, 3, 2)
    yield of_spec("ellipsoid(1, 1.5, 2) x ellipsoid(1, 1, 1.5)", 3000, 2, 2)
    yield of_spec("torus(2, .7) x S^2", 3000, 2, 2)
    yield of_spec("H^2 x S^2", 3000, 2, 2)
    for other in ("S^2", "torus(2, .7)"):
        yield Case(f"sphere with two bumps x {other}", partial(two_bumps, other, 3000), ((2, 2),))


@family("groups and spheres", "tuning")
def groups() -> Iterator[Case]:
    yield of_spec("SO(3) x S^2", 3000, 3, 2)
    yield of_spec("SO(3) x SO(3)", 4000, 3, 3)
    yield of_spec("SO(3) x S^1", 2500, 3, 1)
    yield of_spec("SO(3) x S^3", 4000, 3, 3)
    yield of_spec("SO(3) x torus(2, .7)", 4000, 3, 2)


@family("curved and flat", "held-out")
def curved_and_flat() -> Iterator[Case]:
    yield of_spec("S^2 x S^1", 2000, 2, 1)
    yield of_spec("S^2 x R^1", 2000, 2, 1)
    yield of_spec("S^2 x S^1 x S^1", 3000, 2, 1, 1)
    yield of_spec("S^2 x R^2", 3000, 2, 1, 1)
    yield of_spec("S^3 x S^1", 2500, 3, 1)
    yield of_spec("torus(2, .7) x S^1", 2500, 2, 1)
    yield of_spec("S^2 x S^2 x S^1", 4000, 2, 2, 1)


# Of flat parts the package tells latent variables apart by independence, so that a rectangle is
# two factors and a disc one.
FLAT: tuple[tuple[FlatCase, Dims], ...] = (
    ("rectangle", (1, 1)),
    ("swiss roll", (1, 1)),
    ("box", (1, 1, 1)),
    ("exponential", (1, 1, 1)),
    ("beta(2, 2)", (1, 1, 1)),
    ("disc x interval", (2, 1)),
    ("disc x disc", (2, 2)),
    ("circle x interval", (1, 1)),
    ("circle x circle", (1, 1)),
)


@family("flat products", "tuning")
def flats() -> Iterator[Case]:
    for name, dims in FLAT:
        yield Case(name, partial(flat, name, 2000), (dims,))


@family("many factors", "held-out")
def many() -> Iterator[Case]:
    yield of_spec("S^1 x S^1 x S^1", 2000, 1, 1, 1)
    yield of_spec("S^1 x S^1 x S^1 x S^1", 3000, 1, 1, 1, 1)
    yield of_spec("S^3 x S^2 x S^1", 4000, 3, 2, 1)
    yield of_spec("S^2 x S^2 x S^2 x S^1", 6000, 2, 2, 2, 1)
    yield Case("box of dimension 5", partial(flat, "box of dimension 5", 3000), ((1,) * 5,))
