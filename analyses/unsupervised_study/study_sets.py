"""The sets of the study: sprites of few pixels, plain, coloured, before noise and a picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import product

import numpy as np
from sklearn.datasets import load_sample_image

from geodis import FactorGrid, Sprites

IMAGE_SIZE = 16
# A photograph that comes with scikit-learn; the published painting cannot be shipped.
PICTURE = "flower.jpg"
PLAIN, COLOR, NOISY, SCREAM = "plain", "color", "noisy", "scream"
SETS = (PLAIN, COLOR, NOISY, SCREAM)
# Names of the published tables.
PUBLISHED = {
    PLAIN: "dSprites",
    COLOR: "Color-dSprites",
    NOISY: "Noisy-dSprites",
    SCREAM: "Scream-dSprites",
}
# Every fourth orientation, every other place: 16 pixels do not show more.
LEVELS = (range(3), range(6), range(0, 40, 4), range(0, 32, 2), range(0, 32, 2))


@cache
def study_set(name: str) -> FactorGrid:
    """One of `SETS`: 46,080 images of 16 x 16 pixels, each variant with one random draw an image.

    Examples
    --------
    >>> grid = study_set("plain")
    >>> len(grid), grid.image_shape, grid.names
    (46080, (16, 16, 1), ('shape', 'scale', 'orientation', 'x', 'y'))
    """
    if name != PLAIN:
        from geodis.data.grids.variants import variant_of

        picture = load_sample_image(PICTURE) if name == SCREAM else None
        return variant_of(study_set(PLAIN), name, picture=picture, random_state=0)  # type: ignore[arg-type]
    sprites = Sprites(IMAGE_SIZE)
    chosen = np.array(list(product(*LEVELS)))
    images = sprites.images(sprites.index(chosen), "auto")
    return FactorGrid.from_arrays(images, chosen, names=sprites.names)


def opened(names: tuple[str, ...]) -> dict[str, Callable[[], FactorGrid]]:
    """The sets as `models.sweep` takes them."""
    return {name: partial(study_set, name) for name in names}
