"""Linked views -> plain data, which the script beside this file draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.plots.figure.labels import clip, short
from geodis.plots.figure.linked_views import LinkedViews, View, camera, spread_order
from geodis.plots.figure.sprite_sheet import sprite_sheet

# So many things are tried as images on a view; those that fit are shown.
TRIED_IMAGES = 240
LONGEST_TOLD, LONGEST_VIEW_TITLE = 300, 120


def views_data(figure: LinkedViews) -> dict[str, Any]:
    """Everything that the script needs; texts are plain, for it sets them as text.

    Examples
    --------
    >>> from geodis.plots.figure.linked_views import SpotColors
    >>> view = View("<b>", "a note", np.zeros((1, 3)))
    >>> data = views_data(LinkedViews("v", "about", [view], [SpotColors("all", [["#fff"]])]))
    >>> data["views"][0]["title"], data["sheet"]
    ('<b>', None)
    """
    sheet = None if figure.images is None else sprite_sheet(figure.images)._asdict()
    return {
        "views": [_view(view, with_images=sheet is not None) for view in figure.views],
        "colorings": [
            {
                "name": clip(one.name),
                "colors": [list(colors) for colors in one.colors],
                "legend": [[clip(text), color] for text, color in one.legend],
            }
            for one in figure.colorings
        ],
        "sheet": sheet,
        "told": [clip(text, LONGEST_TOLD) for text in figure.told],
        "shown": list(figure.shown_points),
        "rows": [] if figure.rows is None else figure.rows.tolist(),
    }


def _view(view: View, with_images: bool) -> dict[str, Any]:
    eye = camera().T if view.turns else np.eye(3)
    return {
        "title": clip(view.title, LONGEST_VIEW_TITLE),
        "note": view.note,
        "places": short(view.places, 3),
        "order": _order(view).tolist() if with_images else [],
        "outlines": [
            {"path": short(one.path, 3), "look": one.look, "heads": one.heads}
            for one in view.outlines
        ],
        "letters": [[text, short(place, 3)] for text, place in view.letters],
        "turns": view.turns,
        "hides": view.hides,
        "eye": short(eye, 5),
        "ends": [[text, int(number)] for text, number in view.ends],
    }


def _order(view: View) -> np.ndarray:
    if (first := view.first_images) is not None:
        return first
    return spread_order(view.places, TRIED_IMAGES)
