"""Flatness of traversals, and rank correlation of latent with ground-truth distances."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_random_state
from geodis.distances.correlations import geometric_mean
from geodis.distances.distance_agreement import distance_correlations
from geodis.distances.factor_distances import FactorKinds, LatentKind
from geodis.distances.grid_distances import GROUND_TRUTH, LATENT
from geodis.scores.card import IN_ORDER, QUICK, Cost, Score, Shown
from geodis.scores.geometry.traversals import (
    in_range,
    open_traversals,
    ratio_or_zero,
    traversal_score,
    widths_and_lengths,
)
from geodis.scores.registry import register_score

FlatnessNorm = Literal["mixed", "l1", "l2"]
# Norm -> orders of the norms of widths and of lengths.
NORMS: dict[FlatnessNorm, tuple[int, int]] = {"mixed": (2, 1), "l1": (1, 1), "l2": (2, 2)}


@register_score(family="ratios", takes_grid=True, halves=True, cost=QUICK, answers="geometry")
def flatness(
    latents: Any,
    factors: Any,
    *,
    norm: FlatnessNorm = "mixed",
    n_traversals: int | None = None,
    random_state: Any = None,
) -> Score:
    """Flatness: the ratio of the width of a traversal to the length of its path.

    ``mean width / mean length`` for each factor, and the mean over factors. The width is the
    largest distance between two points. The length is the sum of all steps, including that from
    the last point to the first, except the largest.

    Parameters
    ----------
    latents, factors, n_traversals, random_state
        As for `linearity_ratio`. In a sample, rows of a traversal with the same value of the
        factor are averaged first.
    norm : {"mixed", "l1", "l2"}
        "mixed" divides an L2 width by an L1 length, and is 1 only along an axis.

    Notes
    -----
    The path visits the values in their order and is closed. Factors of labels without an order and
    with more than three values are left out.

    Returns
    -------
    Score
        0 for constant latents; ``details`` has the mean widths and lengths.

    Rewards
    -------
    Paths that do not turn back: as wide as they are long.

    Cannot see
    ----------
    Which latents, and which factors. Values must have an order; circles turn back by design.

    By chance
    ---------
    0.1 to 0.2

    Factors of any shape
    --------------------
    Values in their order, around the circle where a cyclic factor has even steps; labels without an
    order and of more than three values are left out. Columns of one factor count one by one.

    Source
    ------
    Michlo 2022, A.2

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5))
    >>> float(flatness(grid.factors(range(20)), grid))
    1.0
    """
    norms = NORMS[check_choice(norm, "norm", get_args(FlatnessNorm))]
    source = open_traversals(latents, factors, "flatness", n_traversals, random_state)
    width, length = (np.full(source.n_factors, np.nan) for _ in range(2))
    unordered = [
        j for j in source.used if source.grid.kinds[j] == "labels" and source.grid.sizes[j] > 3
    ]
    used = [j for j in source.used if j not in unordered]
    names = ", ".join(source.grid.names[j] for j in unordered)
    if not used:
        raise InputError(f"flatness needs a factor whose values have an order; got {names}.")
    lost = f"Left out, for their values have no order: {names}." if unordered else ""
    for j in used:
        parts, scale = in_range(source.latents(j, once=True))
        widths, lengths = zip(*(widths_and_lengths(part, *norms) for part in parts), strict=True)
        width[j] = scale * np.concatenate(widths).mean()
        length[j] = scale * np.concatenate(lengths).mean()
    per_factor = np.where(np.isnan(width), np.nan, ratio_or_zero(width, length))
    return traversal_score(
        "flatness",
        source,
        per_factor,
        value=float(per_factor[used].mean()),
        details={"widths": width, "lengths": length},
        note=lost,
    )


@register_score(
    family="ratios",
    takes_grid=True,
    halves=True,
    cost=Cost("0.04 s", intervals="seldom", many_latents=True),
    shown=Shown(figure=True),
    answers="geometry",
    shapes=IN_ORDER,
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
    score is their geometric mean, or 0 if one of them is not positive.

    Parameters
    ----------
    latents, factors
        As for `linearity_ratio`. Ground-truth distances count steps between values: for cyclic
        factors around the circle; for labels without an order any two are one step apart.
    kind, scaled, kinds, self_pairs, n_pairs, confidence, random_state
        As for `geodis.distances.distance_correlations`, which also compares perceived distances.

    Returns
    -------
    Score
        ``per_factor`` is NaN for factors with two values and labels without an order, unless self
        pairs are included. ``details["global"]`` is the rank correlation of random pairs (4.1).

    Rewards
    -------
    Latent distances in the order of the distances of the factors.

    Cannot see
    ----------
    Directions: turned latents score as well. It moves when latents are only rescaled, and labels
    have no distances but equal ones.

    Range
    -----
    -1 to 1

    Source
    ------
    Michlo 2022, section 4.2

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
    # The note already has missing combinations and constant factors.
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
