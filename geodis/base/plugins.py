"""What other packages add to geodis: entry points, found by the group that they are declared in.

A package declares in its pyproject, for instance,

    [project.entry-points."geodis.scores"]
    my_scores = "my_package.scores"

and geodis imports that module when scores are first asked for; importing it registers what it
has.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import entry_points
from typing import Literal

from geodis.base.check import GeodisWarning

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
