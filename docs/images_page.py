"""A page of 5,000 rendered images, for readers who know nothing of geometry.

One object turns under a light that comes from anywhere. A network learns from 2,000 labelled images
which are near each other; 5,000 others become its codes, and from the codes alone GeoManCER finds
that two things vary, and makes a map of each. Run `python docs/images_page.py FOLDER`; it takes
some minutes, most of them for the network.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import geodis as gd
from geodis import models

SEEN, DRAWN = 32, 64  # pixels of the images that the network gets, and of those on the page
LABELLED, STEPS, BATCH = 2000, 1500, 192
AMBIENT = 0.3
TITLE = "5,000 pictures of one object: what changes from one to another?"


def learn_codes(n: int, *, labelled: int = LABELLED, steps: int = STEPS) -> tuple[np.ndarray, ...]:
    """Codes of shape (n, z) of images that the network never saw, and the images to be shown."""
    scenes = gd.Scenes(SEEN, rgb=True, ambient=AMBIENT)
    known = scenes.sample(labelled, random_state=0, verbose=0)
    # Squared distances |dR|^2 / 2 + |dl|^2: turns of the object and of the light count alike.
    labels = np.hstack([known.points[:, :9] / np.sqrt(2), known.points[:, 9:]])
    model = models.MetricEncoder((3, SEEN, SEEN), roll=True, random_state=0)
    data = known.images, labels
    models.train(model, data, steps, batch_size=BATCH, random_state=0)
    new = scenes.sample(n, random_state=1000, verbose=0)
    shown = gd.Scenes(DRAWN, rgb=True, ambient=AMBIENT).render(new.rotations, new.lights, verbose=0)
    return models.encode(model, new.images).astype(np.float64), shown


def write_page(folder: Path, n: int = 5000, **learnt: int) -> Path:
    """Write the report into a folder; return the page."""
    codes, images = learn_codes(n, **learnt)
    made = gd.report(codes, images=images, dim=5, out=folder, title=TITLE)
    assert made.path is not None
    return made.path


if __name__ == "__main__":
    print(write_page(Path(sys.argv[1] if len(sys.argv) > 1 else "images_page")))
