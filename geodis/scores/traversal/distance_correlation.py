"""Rank correlation of latent with ground-truth distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_random_state
from geodis.distances.correlations import geometric_mean
from geodis.distances.distance_agreement import distance_correlations
from geodis.distances.factor_distances import FactorKinds
from geodis.distances.grid_distances import GROUND_TRUTH, LATENT
from geodis.distances.pairwise import LatentKind
from geodis.scores.card import IN_ORDER, Card, Cost, Shown
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.traversal.traversed import open_traversals


@register_score(
    family="ratios",
    takes_grid=True,
    halves=True,
    cost=Cost("0.04 s", intervals="seldom", many_latents=True),
    shown=Shown(figure=True),
    card=Card(
        rewards="Latent distances in the order of the distances of the factors.",
        blind="Directions: turned latents score as well. It moves when latents are only "
        "rescaled, and labels have no distances but equal ones.",
        answers="geometry",
        scale="-1 to 1",
        shapes=IN_ORDER,
        source="Michlo 2022, section 4.2",
    ),
)
def distance_correlation(
    latents: Any,
    factors: Any,
    *,
    kind: LatentKind = "l1",
    scaled: bool = False,
    kinds: FactorKinds | None = None,
    self_pairs: bool = False,
    n_pairs: int = 50_000,
    confidence: float | None = None,
    random_state: Any = None,
) -> Score:
    """Rank correlation of latent with ground-truth distances, along factors (4.2, 4.3).

    ``s_i = spearman(l1(y_a, y_b), d(z_a, z_b))`` over pairs on a traversal along factor i; the
    score is their geometric mean, and 0 where one of them is not positive.

    Parameters
    ----------
    latents, factors
        As for `linearity_ratio`. Ground-truth distances count steps between values: of a cyclic
        factor around its circle, of labels without an order one step between any two.
    kind, scaled, kinds, self_pairs, n_pairs, confidence, random_state
        As for `geodis.distances.distance_correlations`, which also compares perceived distances.

    Returns
    -------
    Score
        ``per_factor`` is NaN for factors whose distances have no order unless self pairs are in:
        those with two values, and labels without an order. ``details["global"]`` is the rank
        correlation of random pairs (4.1).

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5), names=("shape", "x"))
    >>> print(f"{distance_correlation(grid.factors(range(20)) * [1.0, 3.0], grid).value:.3f}")
    1.000
    """
    rng = check_random_state(random_state)
    source = open_traversals(latents, factors, "distance_correlation", None, rng)
    correlations = distance_correlations(
        source.grid,
        source.code,
        None,
        kind=kind,
        scaled=scaled,
        kinds=kinds,
        self_pairs=self_pairs,
        n_pairs=n_pairs,
        confidence=confidence,
        random_state=rng,
    )
    key = (GROUND_TRUTH, LATENT)
    names = source.grid.names
    kept = {names[j] for j in source.used}
    own = {name: of[key] for name, of in correlations.factors.items() if name in kept}
    if not own:
        raise InputError(
            "distance_correlation needs a factor with three values that have an order, or "
            f"self_pairs=True; got factors with {', '.join(map(str, source.grid.sizes))} values."
        )
    intervals = {name: one.spearman_interval for name, one in own.items() if confidence}
    # What is missing from the grid, and factors with one value, stand in the note already.
    two = [names[j] for j in source.used if names[j] not in own]
    dropped = f"Left out, for their distances have no order: {', '.join(two)}." if two else ""
    return Score(
        "distance_correlation",
        geometric_mean([one.spearman for one in own.values()]),
        per_factor=np.array([own[name].spearman if name in own else np.nan for name in names]),
        details={
            "global": correlations.random[key].spearman,
            "pearson": geometric_mean([one.pearson for one in own.values()]),
            "pearson_per_factor": [own[name].pearson if name in own else None for name in names],
            "pearson_global": correlations.random[key].pearson,
            "n_pairs": {name: one.n for name, one in own.items()},
            **({"intervals": intervals} if confidence else {}),
        },
        note=" ".join(filter(None, [source.note, dropped])),
        factor_names=source.names,
    )
