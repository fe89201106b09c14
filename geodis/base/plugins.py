"""Entry points by which other packages extend geodis.

A package declares in its pyproject, for example,

    [project.entry-points."geodis.scores"]
    my_scores = "my_package.scores"

and geodis imports that module when scores are first requested. Importing it registers its scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from itertools import count
from typing import Any, ClassVar, Literal, TypeVar

from geodis.base.check import GeodisWarning, InputError

Group = Literal[
    "geodis.scores",
    "geodis.models",
    "geodis.file_formats",
    "geodis.spaces",
    "geodis.sections",
    "geodis.commands",
]


@cache
def load_plugins(group: Group) -> tuple[str, ...]:
    """Import the modules that other packages declare in a group, and return their names.

    A module that cannot be imported is skipped with a warning.

    Examples
    --------
    >>> load_plugins("geodis.scores")
    ()
    """
    loaded = []
    for entry in entry_points(group=group):
        try:
            entry.load()
        except (Exception, SystemExit) as problem:  # importing a script may end the program
            warnings.warn(
                f"{entry.name} of {entry.value}, declared in {group}, could not be loaded: "
                f"{type(problem).__name__}: {problem}",
                GeodisWarning,
                stacklevel=2,
            )
        else:
            loaded.append(entry.name)
    return tuple(loaded)


# Lookup of classes by name, including those defined in other packages.

Kind = TypeVar("Kind")
_DEFINED = count()


class Numbered:
    """A base of classes that are looked up by name: numbered in order of definition."""

    _number: ClassVar[int] = -1

    def __init_subclass__(cls, **options: Any) -> None:
        """Number the class."""
        super().__init_subclass__(**options)
        cls._number = next(_DEFINED)


def newest_of_each(kinds: Iterable[type[Kind]]) -> list[type[Kind]]:
    """Keep the latest definition of each class, as when a notebook cell is run again.

    Examples
    --------
    >>> class Shape(Numbered): pass
    >>> class Square(Shape): pass
    >>> class Square(Shape): pass
    >>> len(all_subclasses(Shape)), newest_of_each(all_subclasses(Shape)) == [Square]
    (2, True)
    """
    in_order = sorted(kinds, key=lambda kind: getattr(kind, "_number", -1))
    return list({(kind.__module__, kind.__qualname__): kind for kind in in_order}.values())


def only_one(kinds: list[type[Kind]]) -> type[Kind]:
    """Return the only class of a name, or raise an error that lists several."""
    if len(kinds) > 1:
        places = " and ".join(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
        raise InputError(
            f"The name {kinds[-1].__name__} must mean one class; got {places}: rename one of them."
        )
    return kinds[0]


def all_subclasses(kind: type[Kind]) -> list[type[Kind]]:
    """List all subclasses at any depth, in order of definition among siblings.

    Examples
    --------
    >>> class Shape: pass
    >>> class Square(Shape): pass
    >>> [kind.__name__ for kind in all_subclasses(Shape)]
    ['Square']
    """
    below: list[type[Kind]] = []
    for subclass in kind.__subclasses__():
        below += [subclass, *all_subclasses(subclass)]
    return below
