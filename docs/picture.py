"""The picture at the head of the README: `python docs/picture.py` draws it into docs/picture.png.

What it shows is the demo: 5,000 images, the maps of the two factors that are found in a code that
was fitted to the labels of 2,000 others, and a walk along each while the other stays.
"""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import geodis as gd
from geodis import plots
from geodis.commands.demo import IMAGES, KNOWN, SEEN, learnt_codes, pixel_components
from geodis.data.scenes.lit_object import turntable_images, turntable_sample
from geodis.plots.figure.linked_views import camera

HERE = Path(__file__).parent
ROWS, COLUMNS, SHOWN, STEPS = 9, 9, 64, 12
TITLES = (
    "5,000 images: an object turns, a lamp moves",
    "found in a code fitted to labels: a sphere and a circle, and where images lie on them",
    "along the sphere the lamp moves, and the object keeps still",
    "along the circle the object turns, and the lamp keeps still",
)


def draw_picture(path: Path) -> None:
    """Do what the demo does, and draw it."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    known = turntable_sample(KNOWN, SEEN, random_state=rng)
    drawn = turntable_sample(IMAGES, SEEN, random_state=rng)
    images = turntable_images(drawn.angles, drawn.lights, SHOWN)
    codes = learnt_codes(known, *pixel_components(known.images, drawn.images), rng)
    est = gd.GeoManCER(random_state=0, verbose=0).fit(codes)
    sphere = int(np.argmax(est.factor_dims_))
    order = [sphere, 1 - sphere]
    walks = [est.walk(0, j, length=2 * np.pi * (1 if j != sphere else 0.5), steps=STEPS)
             for j in order]  # fmt: skip
    figure = Figure(figsize=(12.0, 7.1), dpi=110)
    grid = figure.add_gridspec(3, 2, width_ratios=(1, 2.0), height_ratios=(4.0, 1, 1),
                               left=0.005, right=0.995, top=0.955, bottom=0.005, hspace=0.2,
                               wspace=0.02)  # fmt: skip
    tiles = images[: ROWS * COLUMNS].reshape(ROWS, COLUMNS, SHOWN, SHOWN, 3)
    places = [grid[0, 0], grid[0, 1], grid[1, :], grid[2, :]]
    shown = [
        np.vstack([np.hstack(row) for row in tiles]),
        _maps(est, images),
        *(np.hstack(images[walk.nearest]) for walk in walks),
    ]
    for place, picture, title in zip(places, shown, TITLES, strict=True):
        axis = figure.add_subplot(place)
        axis.imshow(picture)
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_axis_off()
    figure.savefig(path)


def _maps(est: Any, images: np.ndarray) -> np.ndarray:
    """The globe, only from the front here, and the circle."""
    described = plots.maps_figure(est, images=images, n_shown=2500)
    views = [replace(view, hides=False, title="", note="") for view in described.views]
    for j, view in enumerate(views):
        if view.turns and view.with_image is not None:
            towards = (view.places[view.with_image] @ camera())[:, 2]
            views[j] = replace(view, with_image=view.with_image[towards > 0.1])
    views.sort(key=lambda view: not view.turns)  # the globe first
    colors = described.colorings[0]
    if not described.views[0].turns:
        colors = replace(colors, colors=colors.colors[::-1])
    file = BytesIO()
    drawn = plots.draw_figure(replace(described, views=views, colorings=[colors]))
    drawn.figure.set_size_inches(8.2, 4.1)
    drawn.figure.savefig(file, dpi=200, format="png")
    return np.asarray(Image.open(file).convert("RGB"))


if __name__ == "__main__":
    draw_picture(HERE / "picture.png")
