"""Scores of a model while it trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.data.grids.grid import FactorGrid
from geodis.models.encoding import encode
from geodis.models.model import Model

if TYPE_CHECKING:
    from geodis.scores.registry import ScoreEntry


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
        Images, drawn once; all of a smaller grid. Scores that look along traversals, or fix a
        factor, draw images of their own from the grid, the same at every call.
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
    >>> scores = score_during(grid, ["mig"])(VAE(grid, latents=2))
    >>> list(scores), 0 <= scores["mig"] <= 1
    (['mig'], True)
    """
    from geodis.scores import score_latents
    from geodis.scores.registry import choose_scores

    if not isinstance(grid, FactorGrid):
        raise InputError(
            "Scores need images with their factors: a FactorGrid, such as "
            f"FactorGrid.from_arrays(images, factors); got {type(grid).__name__}."
        )
    n = min(check_int(n, "n", low=1), len(grid))
    rng = check_random_state(random_state)
    seed = int(rng.integers(2**31))
    index = np.sort(rng.choice(len(grid), n, replace=False))
    images, factors = grid.images(index, "auto"), grid.factors(index)
    chosen = choose_scores(list(scores))
    on_rows = [entry.name for entry in chosen if not entry.takes_grid]
    # A few rows of a large grid have no traversals among them: these draw their own images.
    on_grid = [entry for entry in chosen if entry.takes_grid]

    def score(model: Model) -> dict[str, float]:
        values: dict[str, float] = {}
        if on_rows:
            latents = encode(model, images)
            table = score_latents(
                latents, factors, on_rows, chance=False, verbose=0, random_state=seed
            )
            values |= table.values_by_name
        for entry in on_grid:
            options = _limits(entry, n)
            drawn = entry.compute(partial(encode, model), grid, random_state=seed, **options)
            values |= entry.rows_of(drawn)
        return values

    return score


def _limits(entry: ScoreEntry, n: int) -> dict[str, int]:
    """How much to draw where a score draws for itself: about n images a factor."""
    limits = {"n_pairs": n, "n_traversals": max(2, n // 8)}
    return {option: limit for option, limit in limits.items() if entry.has_option(option)}
