"""Classes by their names: those of a kind that are defined, in other packages too."""

from __future__ import annotations

from typing import TypeVar

Kind = TypeVar("Kind")


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
