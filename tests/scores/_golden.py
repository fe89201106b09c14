"""Reference values of scores, and small codes of known quality."""

import numpy as np

from tests import GOLDEN

FOLDER = GOLDEN / "disentanglement_lib"
NAMES = [path.stem for path in sorted(FOLDER.glob("latents_s*.npz"))]


def load(name):
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return dict(file)


def grid(sizes=(3, 4, 5), copies=10):
    """Every combination of factors, `copies` times."""
    factors = np.array(list(np.ndindex(*sizes)))
    return np.tile(factors, (copies, 1))


def sample(seed, n=600, sizes=(3, 4, 5), noise=0.3, spare=1):
    """Factors, and a latent for each with noise; spare latents know nothing."""
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(0, size, n) for size in sizes])
    latents = factors + noise * rng.standard_normal(factors.shape)
    return np.column_stack([latents, rng.standard_normal((n, spare))]), factors
