"""Scores of a model while it trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from geodis._check import check_int, check_random_state
from geodis.data.grids import FactorGrid
from geodis.models.model import Model
from geodis.models.use import encode


def score_during(
    grid: FactorGrid,
    scores: Sequence[str] = ("mig", "dci", "linearity_ratio", "axis_ratio"),
    n: int = 1000,
    *,
    random_state: Any = 0,
) -> Callable[[Model], dict[str, float]]:
    """Make a callback for `train` that scores the latents of images held fixed.

    Parameters
    ----------
    grid : FactorGrid
        Where the images and their factors are from.
    scores : sequence of str
        As for `geodis.score_latents`.
    n : int
        Images, drawn once; all of a smaller grid.
    random_state : None, int or Generator
        Of the draw and of the scores.

    Returns
    -------
    callable
        Model -> score by name.

    Examples
    --------
    >>> from geodis.models import VAE
    >>> grid = FactorGrid.from_arrays(np.random.default_rng(0).random((6, 8, 8)),
    ...                               [[a, b] for a in range(2) for b in range(3)])
    >>> found = score_during(grid, ["mig"])(VAE(grid, latents=2))
    >>> list(found), 0 <= found["mig"] <= 1
    (['mig'], True)
    """
    from geodis.scores import score_latents

    n = min(check_int(n, "n", low=1), len(grid))
    index = np.sort(check_random_state(random_state).choice(len(grid), n, replace=False))
    images, factors = grid.images(index), grid.factors(index)
    seed = random_state if isinstance(random_state, int) else 0

    def score(model: Model) -> dict[str, float]:
        latents = encode(model, images)
        table = score_latents(
            latents, factors, list(scores), chance=False, verbose=0, random_state=seed
        )
        return table.values_by_name

    return score
