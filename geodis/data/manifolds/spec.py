"""Spaces, their registration under a text form, and the reading of specs."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias, TypeVar

import numpy as np

from geodis.base.check import InputError
from geodis.base.plugins import load_plugins

Number: TypeAlias = int | float


class Space(ABC):
    """A manifold in Euclidean space.

    The rows of a frame are orthonormal and span the tangent space at their point.

    Attributes
    ----------
    name : str
        The text that `product_manifold` reads as this space.
    dim : int
        Intrinsic dimension.
    ambient_dim : int
        Dimension of the surrounding Euclidean space.
    """

    def __init__(self, name: str, dim: int, ambient_dim: int) -> None:
        self.name, self.dim, self.ambient_dim = name, dim, ambient_dim

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw n points (n, ambient_dim) and their frames (n, dim, ambient_dim)."""


Maker = TypeVar("Maker", bound=Callable[..., Space])


@dataclass(frozen=True)
class SpaceForm:
    """How a space is written, which numbers it takes, and how it is made from them."""

    form: str
    needs: str
    valid: Callable[..., bool]
    make: Callable[..., Space]
    counts: tuple[float, float]  # minimum and maximum number of numbers

    @property
    def name(self) -> str:
        """The letters at the beginning of the form."""
        return _letters(self.form)

    @property
    def has_power(self) -> bool:
        """Whether the first number is a power, as in S^2."""
        return self.form.startswith(f"{self.name}^")

    def read(self, text: str) -> Space | None:
        """Return the space described by the text after the name, or None."""
        match = re.fullmatch(r"(?:(\^?)\s*(\d+))?\s*(?:\(([^()]*)\))?", text)
        if match is None:
            return None
        caret, power, arguments = match.groups()
        if self.has_power and power is None:
            return None
        # SO3 can only be SO(3), while St32 could mean two things, and SO^3 a product.
        if not self.has_power and power is not None and (caret or self.counts != (1, 1)):
            return None
        texts = [] if power is None else [power]
        texts += [] if arguments is None else arguments.split(",")
        try:
            numbers = [_number(number) for number in texts]
        except (ValueError, OverflowError):
            return None
        fewest, most = self.counts
        if not (fewest <= len(numbers) <= most and self.valid(*numbers)):
            return None
        return self.make(*numbers)


FORMS: dict[str, SpaceForm] = {}  # by name in lower case


def register_space(
    form: str, *, needs: str, valid: Callable[..., bool], counts: tuple[float, float] = (1, 1)
) -> Callable[[Maker], Maker]:
    """Let specs name the space that the decorated class or function makes.

    If a package declares a module in the entry-point group "geodis.spaces", the module is imported
    when a spec names an unknown space.

    Parameters
    ----------
    form : str
        How the space is written: its name in letters, followed by ``^k`` if the first number is a
        power, or by numbers in brackets, as in "S^k" or "torus(R, r)".
    needs : str
        The requirement on the numbers, for a message.
    valid : callable
        Returns whether the numbers are valid.
    counts : (int, int)
        Minimum and maximum number of numbers.

    Returns
    -------
    callable
        A decorator that returns the class or function unchanged. It is called with the numbers and
        returns a `Space`.

    Examples
    --------
    >>> from geodis.data import product_manifold
    >>> from geodis.data.manifolds.spaces import Cube
    >>> @register_space("square(a)", needs="a = 1", valid=lambda a: a == 1)
    ... def square(a):
    ...     return Cube(2)
    >>> product_manifold("square(1) x S^1", n=5, random_state=0).dim
    3
    >>> unregister_space("square")
    """

    def register(make: Maker) -> Maker:
        space = SpaceForm(form, needs, valid, make, counts)
        if not space.name:
            raise InputError(f"form must begin with the name of the space; got {form!r}.")
        if space.name.lower() in FORMS:
            raise InputError(f"A space must have a name of its own; got a second {space.name!r}.")
        FORMS[space.name.lower()] = space
        return make

    return register


def unregister_space(name: str) -> None:
    """Remove a space, for example before defining it again in a notebook."""
    if str(name).lower() not in FORMS:
        raise InputError(f"name must be that of a registered space; got {name!r}.")
    del FORMS[name.lower()]


def read_spec(spec: str | Sequence[str]) -> list[Space]:
    """Return the spaces that a spec names.

    Examples
    --------
    >>> from geodis.data.manifolds import products
    >>> [space.name for space in read_spec(["S2×so3", "ellipsoid(1,2, 0.50)"])]
    ['S^2', 'SO(3)', 'ellipsoid(1, 2, 0.5)']
    """
    texts = [spec] if isinstance(spec, str) else spec
    if not (isinstance(texts, Sequence) and all(isinstance(text, str) for text in texts)):
        raise InputError(
            f"spec must be a text such as 'S^2 x SO(3)' or a list of such; got {spec!r}."
        )
    factors = _split(texts)
    if not all(_letters(_plain(factor)).lower() in FORMS for factor in factors):
        load_plugins("geodis.spaces")
        factors = _split(texts)
    if not factors or "" in factors:
        raise InputError(
            "spec needs a space on either side of every separator, such as 'S^2 x SO(3)'; "
            f"got {spec!r}."
        )
    return [_read_factor(factor) for factor in factors]


def is_whole(value: Number, low: int) -> bool:
    """Return whether a number of a spec is an integer of at least `low`."""
    return isinstance(value, int) and value >= low


def _split(texts: Sequence[str]) -> list[str]:
    """Split texts at their separators, but not at an x inside the name of a space."""
    names = sorted((name for name in FORMS if "x" in name), key=len, reverse=True)
    token = re.compile("|".join([*names, "(?P<separator>[x×*])"]), re.IGNORECASE)
    factors = []
    for text in texts:
        start = 0
        for match in token.finditer(text):
            if match["separator"]:
                factors.append(text[start : match.start()].strip())
                start = match.end()
        factors.append(text[start:].strip())
    return factors


def _read_factor(factor: str) -> Space:
    text = _plain(factor)
    name = _letters(text)
    form = FORMS.get(name.lower())
    if form is None:
        known = ", ".join(FORMS[name].form for name in sorted(FORMS))
        raise InputError(f"spec must consist of the spaces {known}; got {factor!r}.")
    space = form.read(text[len(name) :].strip())
    if space is None:
        raise InputError(f"{form.form} needs {form.needs}; got {factor!r}.")
    return space


def _plain(text: str) -> str:
    """Replace superscripts and double-struck capitals by plain characters."""
    return unicodedata.normalize("NFKC", text)


def _letters(text: str) -> str:
    """Return the letters at the beginning of a text."""
    match = re.match("[A-Za-z]*", text)
    return match.group() if match else ""


def _number(text: str) -> Number:
    text = text.strip()
    number = int(text) if text.isdecimal() else float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number
