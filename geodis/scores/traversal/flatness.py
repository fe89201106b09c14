"""Flatness: width of the latents of a traversal over the length of the way through them."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice
from geodis.scores.card import IN_ORDER, QUICK, Card
from geodis.scores.registry import register_score
from geodis.scores.score import Score
from geodis.scores.traversal.spreads import (
    in_range,
    ratio_or_zero,
    traversal_score,
    widths_and_lengths,
)
from geodis.scores.traversal.traversed import open_traversals

FlatnessNorm = Literal["mixed", "l1", "l2"]
# Orders of the norms of widths and of lengths.
NORMS: dict[FlatnessNorm, tuple[int, int]] = {"mixed": (2, 1), "l1": (1, 1), "l2": (2, 2)}


@register_score(
    family="ratios",
    takes_grid=True,
    halves=True,
    cost=QUICK,
    card=Card(
        rewards="Paths that do not turn back: as wide as they are long.",
        blind="Which latents, and which factors. Values must have an order; circles turn back "
        "by design.",
        answers="geometry",
        chance="0.1 to 0.2",
        shapes=IN_ORDER.replace("order are", "order and of more than three values are"),
        source="Michlo 2022, A.2",
    ),
)
def flatness(
    latents: Any,
    factors: Any,
    *,
    norm: FlatnessNorm = "mixed",
    n_traversals: int | None = None,
    random_state: Any = None,
) -> Score:
    """Flatness: width of the latents of a traversal over the length of the way through them.

    ``mean width / mean length`` for each factor, and the mean over factors: the width is the
    largest distance between two points, the length adds up all steps but the largest, the one
    from the last point back to the first included.

    Parameters
    ----------
    latents, factors, n_traversals, random_state
        As for `linearity_ratio`. In a sample, rows of a traversal with the same value of the
        factor are averaged first.
    norm : {"mixed", "l1", "l2"}
        "mixed" divides an L2 width by an L1 length, and is 1 only along an axis.

    Notes
    -----
    The way goes through the values in their order, and closes the circle of cyclic factors. Labels
    without an order have no such way if they are more than three: those factors are left out.

    Returns
    -------
    Score
        0 where the latents stand still; ``details`` has the mean widths and lengths.

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
