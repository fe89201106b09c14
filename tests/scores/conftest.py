"""A table of every score, made once."""

import numpy as np
import pandas as pd
import pytest

import geodis as gd


def sample(seed=0, n=600, sizes=(3, 4, 5)):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(size, size=n) for size in sizes])
    return factors @ rng.standard_normal((3, 4)) + 0.1 * rng.standard_normal((n, 4)), factors


@pytest.fixture(scope="session")
def everything():
    latents, factors = sample()
    frame = pd.DataFrame(factors, columns=["shape", "x", "y"])
    return latents, frame, gd.score_latents(latents, frame, verbose=False)
