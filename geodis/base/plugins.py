"""What other packages add to geodis: entry points, found by the group that they are declared in.

A package declares in its pyproject, for instance,

    [project.entry-points."geodis.scores"]
    my_scores = "my_package.scores"

and geodis imports that module when scores are first asked for; importing it registers what it
has.
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
    """Import what other packages declare in a group, once; return the names of their entries.

    One that cannot be imported is left out with a warning: it must not take geodis with it.

    Examples
    --------
    >>> load_plugins("geodis.scores")
    ()
    """
    loaded = []
    for entry in entry_points(group=group):
        try:
            entry.load()
        except (Exception, SystemExit) as problem:  # a script that ends itself is no plugin
            warnings.warn(
                f"{entry.name} of {entry.value}, declared in {group}, could not be loaded: "
                f"{type(problem).__name__}: {problem}",
                GeodisWarning,
                stacklevel=2,
            )
        else:
            loaded.append(entry.name)
    return tuple(loaded)


# Classes by their names: those of a kind that are defined, in other packages too.

Kind = TypeVar("Kind")
_DEFINED = count()


class Numbered:
    """A base of classes that are looked up by name: each knows how many were defined before it."""

    _number: ClassVar[int] = -1

    def __init_subclass__(cls, **options: Any) -> None:
        """Number the class."""
        super().__init_subclass__(**options)
        cls._number = next(_DEFINED)


def newest_of_each(kinds: Iterable[type[Kind]]) -> list[type[Kind]]:
    """Leave out what was defined anew in its place, as a class of a notebook that is run again.

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
    """Return the one class of a name, or say where there is another."""
    if len(kinds) > 1:
        places = " and ".join(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
        raise InputError(
            f"The name {kinds[-1].__name__} must mean one class; got {places}: rename one of them."
        )
    return kinds[0]


def all_subclasses(kind: type[Kind]) -> list[type[Kind]]:
    """List all classes below one; those that were defined later come later among their siblings.

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
