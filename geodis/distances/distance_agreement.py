"""Correlations between ground-truth, perceived and latent distances, by factor and overall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.base.progress import Stages
from geodis.data.grids.grid import FactorGrid
from geodis.distances.correlations import Correlation, correlation, geometric_mean
from geodis.distances.factor_distances import FactorKinds, LatentKind
from geodis.distances.grid_distances import (
    GROUND_TRUTH,
    DistanceSource,
    GridDistances,
    TraversalPairs,
    traversal_pairs,
    traversals_for,
)
from geodis.distances.image_losses import LossLike
from geodis.distances.sampling import sample_pairs

if TYPE_CHECKING:
    import pandas


RANDOM = "random"

# Two correlated kinds of distances.
SourcePair = tuple[str, str]


@dataclass(frozen=True)
class DistanceCorrelations:
    """Correlations between kinds of distances; prints as a table.

    Attributes
    ----------
    factors : dict of str to dict of (source, source) to Correlation
        By name of the factor, over pairs along it.
    random : dict of (source, source) to Correlation
        Over random pairs of points (4.1).
    overall : dict of (source, source) to (float, float)
        Geometric means over factors of Pearson's and Spearman's correlation (4.3); 0 if any is not
        positive. Empty if all factors were left out.
    exact : dict of str to bool
        Whether all pairs along a factor, or all pairs for "random", were used.
    loss : str
        Loss of the perceived distances.
    note : str
        Factors left out, missing combinations of the grid, and missing intervals.
    """

    factors: Mapping[str, Mapping[SourcePair, Correlation]]
    random: Mapping[SourcePair, Correlation]
    overall: Mapping[SourcePair, tuple[float, float]]
    exact: Mapping[str, bool]
    loss: str = ""
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return a table of linear and rank correlations for all pairs of kinds."""
        columns = list(self.random)
        rows = [("", *(f"{first} ~ {second}" for first, second in columns))]
        for name, by_pair in {RANDOM: self.random, **self.factors}.items():
            rows.append((name, *(_cell(by_pair[key]) for key in columns)))
        if self.overall:
            means = (f"{self.overall[key][0]:6.3f} {self.overall[key][1]:6.3f}" for key in columns)
            rows.append(("factors, geometric mean", *means))
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["Pearson and Spearman correlation of distances"]
        lines[0] += f", loss {self.loss}" if self.loss else ""
        for row in rows:
            cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        notes = [f"{name}: {note}" for name, note in self._notes().items()]
        return "\n".join([*lines, *notes, *([self.note] if self.note else [])])

    def _notes(self) -> dict[str, str]:
        named = {RANDOM: self.random, **self.factors}
        notes = {}
        for name, by_pair in named.items():
            constant = [f"{x} ~ {y}" for (x, y), measured in by_pair.items() if measured.note]
            if constant:
                notes[name] = f"0 in {', '.join(constant)}, for one side has no order"
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""

        def plain(by_pair: Mapping[SourcePair, Correlation]) -> dict[str, Any]:
            return {f"{x} ~ {y}": vars(measured) for (x, y), measured in by_pair.items()}

        return {
            "loss": self.loss,
            "random": plain(self.random),
            "factors": {name: plain(by_pair) for name, by_pair in self.factors.items()},
            "overall": {
                f"{x} ~ {y}": {"pearson": pearson, "spearman": spearman}
                for (x, y), (pearson, spearman) in self.overall.items()
            },
            "exact": dict(self.exact),
            "note": self.note,
            "settings": dict(self.settings),
        }

    def frame(self) -> pandas.DataFrame:
        """Return a pandas frame with a row for every factor and pair of sources."""
        import pandas

        rows = [
            {"factor": name, "a": x, "b": y, **vars(measured)}
            for name, by_pair in {RANDOM: self.random, **self.factors}.items()
            for (x, y), measured in by_pair.items()
        ]
        return pandas.DataFrame(rows)


def _cell(measured: Correlation) -> str:
    parts = []
    for value, span in (
        (measured.pearson, measured.pearson_interval),
        (measured.spearman, measured.spearman_interval),
    ):
        parts.append(f"{value:6.3f}" + (f" [{span[0]:.3f}, {span[1]:.3f}]" if span else ""))
    return " ".join(parts)


# Share of pairs of a point with itself among the random pairs of published numbers.
PUBLISHED_SELF_SHARE = 1 / 32

# Reasons why a factor is left out, or has no intervals.
LACKS = {
    "order": "Left out: {} (ground-truth distances have no order).",
    "pair": "Left out: {} (no two points differ in it alone).",
    "interval": "No intervals along {}: there is one traversal to resample.",
}


def distance_correlations(
    grid: FactorGrid,
    code: Any = None,
    loss: LossLike | None = "mse",
    *,
    n_pairs: int = 50_000,
    kind: LatentKind = "l1",
    scaled: bool = False,
    kinds: FactorKinds | None = None,
    self_pairs: bool = False,
    confidence: float | None = None,
    random_state: Any = None,
    verbose: bool | int = False,
) -> DistanceCorrelations:
    """Correlate ground-truth, perceived and latent distances with each other.

    Pairs along a factor are on the same traversal (4.2, 4.10); random pairs are any two points
    (4.1).

    Parameters
    ----------
    grid : FactorGrid
        For a sample of a grid, traversals are found among its rows.
    code : array-like of shape (len(grid), z), or callable, optional
        Latents by index, or an encoder of float32 images (n, h, w, c).
    loss : name, callable or None
        Of perceived distances, as for `perceived`; None leaves them out.
    n_pairs : int
        Approximate number of pairs per factor, and number of random pairs; all pairs if there are
        fewer.
    kind : {"l1", "l2", "kl", "symmetric_kl"}
        Of latent distances, as for `latent`.
    scaled : bool
        Scale every factor to [0, 1] in ground-truth distances (5.11).
    kinds : str or sequence of str, optional
        Of the factors in ground-truth distances, as for `ground_truth`; by default those of the
        grid: distances of cyclic factors are around the circle, and labels without an order are
        equidistant, so that they contribute to random pairs only. "numbers" treats all factors as
        numbers, as in published tables.
    self_pairs : bool
        By default there are no pairs of a point with itself: their distances are always zero on
        both sides, which increases every correlation (to 0.39 along factors for noise). True
        includes them as in published tables: both points are drawn independently along a factor,
        and 1 in 32 random pairs is a self pair.
    confidence : float, optional
        Level of bootstrap intervals, such as 0.95. Along factors whole traversals are resampled, of
        which at least two are needed. Random pairs are treated as independent, which makes their
        intervals too narrow for few points.
    random_state : int, Generator or None
    verbose : bool or int
        Show progress on a terminal.

    Returns
    -------
    DistanceCorrelations
        Factors with one value are left out, and those with two values unless self pairs are
        included, because all their ground-truth distances are equal.

    Examples
    --------
    >>> from geodis.data.grids.grid import FactorGrid
    >>> grid = FactorGrid((4, 4), names=("x", "y"))
    >>> print(distance_correlations(grid, code=grid.factors(range(16)) ** 2, random_state=0))
    Pearson and Spearman correlation of distances
                             ground truth ~ latent
    random                    0.875  0.868
    x                         0.808  0.772
    y                         0.808  0.772
    factors, geometric mean   0.808  0.772
    """
    distances = GridDistances(grid, code, loss, kind=kind, scaled=scaled, kinds=kinds)
    n_pairs = check_int(n_pairs, "n_pairs", low=2)
    fewest = 2 if self_pairs else 3  # two points have a single distance
    if len(grid) < fewest:
        raise InputError(
            f"Correlations of distances need at least {fewest} points; got {len(grid)}."
        )
    if len(distances.sources) < 2:
        raise InputError(
            "Correlations need two kinds of distances: give a grid with images, a code, or both; "
            "got the ground truth alone."
        )
    rng = check_random_state(random_state)
    factors: dict[str, dict[SourcePair, Correlation]] = {}
    exact: dict[str, bool] = {}
    skipped: dict[str, list[str]] = {lack: [] for lack in LACKS}
    with Stages("distances", verbose) as stages:
        for j, name in enumerate(grid.names):
            pairs = _pairs_along(distances, j, n_pairs, self_pairs, rng)
            if pairs is None or len(pairs.a) < 2:
                skipped["order" if pairs is None or len(pairs.a) else "pair"].append(name)
                continue
            with stages.stage(name):
                measured = _distances(distances, pairs.a, pairs.b)
                if (measured[GROUND_TRUTH] == measured[GROUND_TRUTH][0]).all():
                    skipped["order"].append(name)
                    continue
                exact[name] = pairs.exact
                single = confidence is not None and (pairs.group == pairs.group[0]).all()
                if single:
                    skipped["interval"].append(name)
                span = None if single else confidence
                factors[name] = _correlations(distances, measured, pairs.group, span, rng)
        with stages.stage(RANDOM):
            ab, exact[RANDOM] = random_pairs(
                grid, n_pairs, rng, self_pairs=self_pairs, ordered=not distances.symmetric
            )
            random = _correlations(distances, _distances(distances, *ab.T), None, confidence, rng)
    overall = _over_factors(factors)
    lacks = [LACKS[lack].format(", ".join(names)) for lack, names in skipped.items() if names]
    notes = [*([grid.note] if grid.note else []), *lacks]
    settings: dict[str, Any] = {
        "n_pairs": n_pairs,
        "kind": kind,
        "scaled": scaled,
        "self_pairs": self_pairs,
    }
    settings["kinds"] = list(distances.kinds)
    loss_name = distances.loss.name if distances.loss is not None else ""
    return DistanceCorrelations(
        factors, random, overall, exact, loss_name, " ".join(notes), settings
    )


def _pairs_along(
    distances: GridDistances, factor: int, n_pairs: int, self_pairs: bool, rng: np.random.Generator
) -> TraversalPairs | None:
    """Return pairs along a factor; None if all its distances are equal."""
    grid = distances.grid
    unordered = distances.kinds[factor] == "labels" and not self_pairs
    if unordered or grid.sizes[factor] <= (1 if self_pairs else 2):
        return None
    ordered = not distances.symmetric
    traversals = traversals_for(grid, factor, n_pairs, rng, ordered=self_pairs or ordered)
    return traversal_pairs(traversals, n_pairs, rng, self_pairs=self_pairs, ordered=ordered)


def _correlations(
    distances: GridDistances,
    measured: Mapping[DistanceSource, np.ndarray],
    groups: np.ndarray | None,
    confidence: float | None,
    rng: np.random.Generator,
) -> dict[SourcePair, Correlation]:
    """Correlate all pairs of kinds of distances."""
    return {
        (x, y): correlation(
            measured[x],
            measured[y],
            groups=groups,
            confidence=confidence,
            rounding=(distances.rounding(x), distances.rounding(y)),
            random_state=rng,
        )
        for x, y in combinations(measured, 2)
    }


def _over_factors(
    factors: Mapping[str, Mapping[SourcePair, Correlation]],
) -> dict[SourcePair, tuple[float, float]]:
    """Return geometric means over factors (4.3); empty without factors."""
    if not factors:
        return {}
    every = list(factors.values())
    return {
        key: (
            geometric_mean([by_pair[key].pearson for by_pair in every]),
            geometric_mean([by_pair[key].spearman for by_pair in every]),
        )
        for key in every[0]
    }


def random_pairs(
    grid: FactorGrid,
    n: int,
    rng: np.random.Generator,
    *,
    self_pairs: bool = False,
    ordered: bool = False,
) -> tuple[np.ndarray, bool]:
    """Draw n pairs of any two points, or return all pairs if there are fewer.

    Parameters
    ----------
    grid : FactorGrid
    n : int
    rng : Generator
    self_pairs : bool
        Include pairs of a point with itself, with their share in published numbers.
    ordered : bool
        Include (a, b) and (b, a) if all pairs are returned.

    Returns
    -------
    ndarray of int64, shape (m, 2)
    bool
        Whether these are all pairs.

    Examples
    --------
    >>> pairs, exact = random_pairs(FactorGrid((3,)), 10, np.random.default_rng(0))
    >>> pairs.tolist(), exact
    ([[0, 1], [0, 2], [1, 2]], True)
    """
    size = len(grid)
    if not self_pairs and size * (size - 1) <= n * (2 - ordered):
        first, second = np.triu_indices(size, 1)
        pairs = np.stack([first, second], axis=1)
        return (np.concatenate([pairs, pairs[:, ::-1]]) if ordered else pairs), True
    pairs = sample_pairs(grid, n, random_state=rng)
    if self_pairs:
        alone = rng.random(n) < PUBLISHED_SELF_SHARE
        pairs[alone, 1] = pairs[alone, 0]
    return pairs, False


def _distances(
    distances: GridDistances, a: np.ndarray, b: np.ndarray
) -> dict[DistanceSource, np.ndarray]:
    return {source: distances.between(a, b, source) for source in distances.sources}
