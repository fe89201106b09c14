"""The data sets that have a name: those that are drawn, and those that are read from files."""

from __future__ import annotations

from typing import Any, Literal, get_args

from geodis.base.check import check_choice
from geodis.data.grids.grid import FactorGrid

BuiltInName = Literal["xysquares", "xyobject", "xyobject-shades", "sprites"]
PublishedName = Literal["dsprites", "shapes3d", "cars3d", "smallnorb", "mpi3d"]
BUILT_IN: tuple[BuiltInName, ...] = get_args(BuiltInName)
PUBLISHED: tuple[PublishedName, ...] = get_args(PublishedName)


def built_in_grid(name: BuiltInName, **settings: Any) -> FactorGrid:
    """Make a built-in data set by its name; `published_grid` opens the others.

    Parameters
    ----------
    name : {"xysquares", "xyobject", "xyobject-shades", "sprites"}
    **settings
        Of `XYSquares`, `XYObject`, `XYObjectShades` or `Sprites`.

    Returns
    -------
    FactorGrid

    Examples
    --------
    >>> built_in_grid("xysquares", n_squares=1)
    XYSquares(x_R=8, y_R=8)
    """
    check_choice(name, "name", BUILT_IN)
    if name == "sprites":
        from geodis.data.grids.sprites import Sprites

        return Sprites(**settings)
    from geodis.data.grids import squares

    makers = {
        "xysquares": squares.XYSquares,
        "xyobject": squares.XYObject,
        "xyobject-shades": squares.XYObjectShades,
    }
    return makers[name](**settings)
