"""One small report that several test files look at: made once, in a folder of its own."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import geodis as gd

HOSTILE = "<script>document.title='run'</script>"
NAMES = (HOSTILE, "size & ${x}", "hue")
N = 400


@cache
def example_arrays():
    """Latents that hold three factors, the factors and images of them."""
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.integers(s, size=N) for s in (3, 4, 5)])
    latents = values @ np.array([[1.0, 0, 0, 0], [0, 0.7, 0, 0], [0, 0.2, 0.5, 0]])
    latents = latents + 0.3 * rng.standard_normal(latents.shape)
    images = np.zeros((N, 6, 6, 1), np.uint8)
    images[np.arange(N), values[:, 1], values[:, 2]] = 80 * values[:, :1] + 60
    labels = {HOSTILE: ("<b>dot</b>", "box", "%{x}")}
    return latents, gd.Factors(values.astype(float), NAMES, labels), images


@cache
def example_report():
    """The report on them, written to disk."""
    latents, factors, images = example_arrays()
    return gd.report(
        latents,
        factors,
        images,
        intervals=2,
        out=Path(tempfile.mkdtemp()) / "out",
        title="<i>a title</i>",
        sources={"latents": "z<.npy", "factors": "f.csv", "images": "x.npy"},
        verbose=0,
    )
