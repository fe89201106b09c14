"""Ground-truth factored components: linearity, axis alignment, flatness, distance correlation.

All look at traversals: points that differ in one factor alone. They take latents and factors of a
plain sample, among whose rows traversals are found; or a code and its `FactorGrid`. The equations
are those of the thesis on distances in VAEs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state
from geodis.distances.agreement import distance_correlations
from geodis.distances.correlations import geometric_mean
from geodis.distances.grid_distances import GROUND_TRUTH, LATENT
from geodis.scores._result import Score
from geodis.scores._spreads import (
    axis_variances,
    largest_share,
    linear_variances,
    widths_and_lengths,
)
from geodis.scores._traversed import Traversed, open_traversals

SPREADS = ("variance", "std")
NORMS = {"mixed": (2, 1), "l1": (1, 1), "l2": (2, 2)}


def linearity_ratio(
    latents: Any,
    factors: Any,
    *,
    spread: str = "variance",
    top: int | None = None,
    normalise: bool = True,
    n_traversals: int | None = None,
    random_state: Any = None,
) -> Score:
    """Linearity ratio: how close the latents of a traversal are to any one line (4.7 to 4.9).

    With l_1 >= ... >= l_z the variances along the principal directions of a traversal,

        s_i = E_traversals [(l_1 / sum_k l_k - 1/z) / (1 - 1/z)],

    and the score is the geometric mean of s_i over the factors. It does not change when the
    latents are rotated, moved or scaled.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
        With a grid: an array whose row is the grid index, or an encoder of float32 images
        (n, h, w, c).
    factors : array-like of shape (n, f), or FactorGrid
    spread : {"variance", "std"}
        Shares of variance as published, or of its root.
    top : int, optional
        2 compares the two largest only, which does not depend on the number of latents.
    normalise : bool
        Give the worst ratio, 1/z, the score 0.
    n_traversals : int, optional
        Most traversals a factor, drawn at random; by default all up to 65,536, or 512 where an
        encoder has to be run.
    random_state : int, Generator or None

    Returns
    -------
    Score
        ``per_factor`` is NaN where a factor has one value and was left out. Where the latents
        stand still along a traversal it counts as 0. ``details["n_traversals"]`` counts them.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5), names=("shape", "x"))
    >>> diagonal = grid.factors(range(20)) @ [[1.0, 1.0], [1.0, -1.0]]
    >>> print(linearity_ratio(diagonal, grid))
    linearity_ratio 1.000
      per factor  shape 1.000 x 1.000
    """
    source = open_traversals(latents, factors, "linearity_ratio", n_traversals, random_state)
    per_factor = np.full(source.n_factors, np.nan)
    for j in source.used:
        spreads = _spreads(source.latents(j), linear_variances, spread)
        per_factor[j] = _shares(spreads, top, normalise).mean()
    two = [source.grid.names[j] for j in source.used if source.grid.sizes[j] == 2]
    note = f"1 wherever latents move, for two points are on a line: {', '.join(two)}."
    return _ratio_score("linearity_ratio", source, per_factor, note if two else "")


def axis_ratio(
    latents: Any,
    factors: Any,
    *,
    spread: str = "variance",
    top: int | None = None,
    normalise: bool = True,
    pooled: bool = False,
    n_traversals: int | None = None,
    random_state: Any = None,
) -> Score:
    """Axis-alignment ratio: how close the latents of a traversal are to one axis (4.4 to 4.6).

        s_i = E_traversals [(max_k Var[z_k] / sum_k Var[z_k] - 1/z) / (1 - 1/z)],

    and the geometric mean over factors. It is never above `linearity_ratio`, for a principal
    direction has more variance than any axis.

    Parameters
    ----------
    latents, factors, spread, top, normalise, n_traversals, random_state
        As for `linearity_ratio`.
    pooled : bool
        Average the spread of each latent over the traversals before the ratio: then one latent
        has to stand for the factor everywhere.

    Returns
    -------
    Score
        As for `linearity_ratio`; ``matrix`` (z, f) has the mean share of each latent.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5), names=("shape", "x"))
    >>> float(axis_ratio(grid.factors(range(20)), grid))
    1.0
    >>> diagonal = grid.factors(range(20)) @ [[1.0, 1.0], [1.0, -1.0]]
    >>> float(axis_ratio(diagonal, grid))
    0.0
    """
    source = open_traversals(latents, factors, "axis_ratio", n_traversals, random_state)
    per_factor = np.full(source.n_factors, np.nan)
    matrix = np.zeros((source.n_latents, source.n_factors))
    for j in source.used:
        spreads = _spreads(source.latents(j), axis_variances, spread)
        matrix[:, j] = _over(spreads, spreads.sum(axis=1, keepdims=True)).mean(axis=0)
        if pooled:
            spreads = spreads.mean(axis=0, keepdims=True)
        per_factor[j] = _shares(spreads, top, normalise).mean()
    return _ratio_score("axis_ratio", source, per_factor, matrix=matrix)


def axis_orientation(
    latents: Any,
    factors: Any,
    *,
    spread: str = "variance",
    top: int | None = None,
    n_traversals: int | None = None,
    random_state: Any = None,
) -> Score:
    """Axis orientation: how well lines are aligned with axes, ``s_axis / s_linear`` (A.1).

    Parameters
    ----------
    latents, factors, spread, top, n_traversals, random_state
        As for `linearity_ratio`.

    Returns
    -------
    Score
        The ratio of the two scores, 0 where the linearity is 0; ``details`` has both, and
        ``per_traversal``: the geometric mean over factors of the mean of the ratios that every
        traversal has by itself, as other software computes it.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5), names=("shape", "x"))
    >>> turned = grid.factors(range(20)) @ [[0.8, 0.6], [-0.6, 0.8]]
    >>> print(axis_orientation(turned, grid))
    axis_orientation 0.280
      per factor  shape 0.280 x 0.280
      axis_ratio 0.280, linearity_ratio 1.000, per_traversal 0.280
    """
    source = open_traversals(latents, factors, "axis_orientation", n_traversals, random_state)
    axis, linear, alone = (np.full(source.n_factors, np.nan) for _ in range(3))
    for j in source.used:
        parts = source.latents(j)
        on_axis, on_line = (
            _shares(_spreads(parts, of, spread), top) for of in (axis_variances, linear_variances)
        )
        axis[j], linear[j] = on_axis.mean(), on_line.mean()
        alone[j] = _over(on_axis, on_line).mean()
    s_axis, s_linear = (geometric_mean(values[source.used]) for values in (axis, linear))
    return Score(
        "axis_orientation",
        float(_over(np.array(s_axis), np.array(s_linear))),
        per_factor=np.where(np.isnan(axis), np.nan, _over(axis, linear)),
        details={
            "axis_ratio": s_axis,
            "linearity_ratio": s_linear,
            "per_traversal": geometric_mean(alone[source.used]),
            "n_traversals": source.counts,
        },
        note=source.note,
        factor_names=source.names,
    )


def flatness(
    latents: Any,
    factors: Any,
    *,
    norm: str = "mixed",
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
    norms = NORMS[check_choice(norm, "norm", tuple(NORMS))]
    source = open_traversals(latents, factors, "flatness", n_traversals, random_state)
    width, length = (np.full(source.n_factors, np.nan) for _ in range(2))
    for j in source.used:
        parts, scale = _in_range(source.latents(j, once=True))
        found = [widths_and_lengths(part, *norms) for part in parts]
        width[j] = scale * np.concatenate([item[0] for item in found]).mean()
        length[j] = scale * np.concatenate([item[1] for item in found]).mean()
    per_factor = np.where(np.isnan(width), np.nan, _over(width, length))
    return Score(
        "flatness",
        float(per_factor[source.used].mean()),
        per_factor=per_factor,
        details={"widths": width, "lengths": length, "n_traversals": source.counts},
        note=source.note,
        factor_names=source.names,
    )


def distance_correlation(
    latents: Any,
    factors: Any,
    *,
    kind: str = "l1",
    scaled: bool = False,
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
        As for `linearity_ratio`. Ground-truth distances count steps between values.
    kind, scaled, self_pairs, n_pairs, confidence, random_state
        As for `geodis.distances.distance_correlations`, which also compares perceived distances.

    Returns
    -------
    Score
        ``per_factor`` is NaN for factors with two values, whose distances have no order unless
        self pairs are in. ``details["global"]`` is the rank correlation of random pairs (4.1).

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 5), names=("shape", "x"))
    >>> print(f"{distance_correlation(grid.factors(range(20)) * [1.0, 3.0], grid).value:.3f}")
    1.000
    """
    rng = check_random_state(random_state)
    source = open_traversals(latents, factors, "distance_correlation", None, rng)
    found = distance_correlations(
        source.grid,
        source.code,
        None,
        kind=kind,
        scaled=scaled,
        self_pairs=self_pairs,
        n_pairs=n_pairs,
        confidence=confidence,
        random_state=rng,
    )
    key = (GROUND_TRUTH, LATENT)
    names = source.grid.names
    kept = {names[j] for j in source.used}
    own = {name: item[key] for name, item in found.factors.items() if name in kept}
    if not own:
        raise InputError(
            "distance_correlation needs a factor with three values, or self_pairs=True; "
            f"factors with {', '.join(map(str, source.grid.sizes))} values came."
        )
    intervals = {name: item.spearman_interval for name, item in own.items() if confidence}
    # What is missing from the grid, and factors with one value, stand in the note already.
    two = [names[j] for j in source.used if names[j] not in own]
    dropped = f"Left out, for their distances have no order: {', '.join(two)}." if two else ""
    return Score(
        "distance_correlation",
        geometric_mean([item.spearman for item in own.values()]),
        per_factor=np.array([own[name].spearman if name in own else np.nan for name in names]),
        details={
            "global": found.random[key].spearman,
            "pearson": geometric_mean([item.pearson for item in own.values()]),
            "pearson_per_factor": [own[name].pearson if name in own else None for name in names],
            "pearson_global": found.random[key].pearson,
            "n_pairs": {name: item.n for name, item in own.items()},
            **({"intervals": intervals} if confidence else {}),
        },
        note=" ".join(filter(None, [source.note, dropped])),
        factor_names=source.names,
    )


def _spreads(
    parts: list[np.ndarray], variances: Callable[[np.ndarray], np.ndarray], spread: str
) -> np.ndarray:
    """Spreads (t, z) of all traversals, up to one common factor."""
    check_choice(spread, "spread", SPREADS)
    found = np.concatenate([variances(part) for part in _in_range(parts)[0]])
    return np.sqrt(found) if spread == "std" else found


def _in_range(parts: list[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """Latents from the first point of each traversal, over a common scale, and that scale.

    Squares of very large or very small latents leave the range of floats; the scale is a power
    of two, so that nothing is rounded.
    """
    moved = [part - part[:, :1] for part in parts]
    largest = max((float(np.abs(part).max(initial=0.0)) for part in moved), default=0.0)
    scale = float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0
    return [part / scale for part in moved], scale


def _shares(spreads: np.ndarray, top: int | None, normalise: bool = True) -> np.ndarray:
    """Ratio of every traversal."""
    if top is not None:
        check_int(top, "top", low=2)
    return largest_share(spreads, top, normalise)


def _ratio_score(
    name: str,
    source: Traversed,
    per_factor: np.ndarray,
    note: str = "",
    *,
    matrix: np.ndarray | None = None,
) -> Score:
    return Score(
        name,
        geometric_mean(per_factor[source.used]),
        per_factor=per_factor,
        matrix=matrix,
        details={"n_traversals": source.counts},
        note=" ".join(filter(None, [source.note, note])),
        factor_names=source.names,
    )


def _over(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide, and give 0 where there is nothing to divide by."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.0)
