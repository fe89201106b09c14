"""Correlations between ground-truth, perceived and latent distances, per factor and global."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state
from geodis.base.progress import Stages
from geodis.distances.correlations import Correlation, correlation, geometric_mean
from geodis.distances.grid_distances import GROUND_TRUTH, GridDistances
from geodis.distances.grid_traversals import traversal_pairs, traversals_for
from geodis.distances.sampling import sample_pairs

RANDOM = "random"
# The share of pairs of a point with itself among the random pairs behind published numbers.
PUBLISHED_SELF_SHARE = 1 / 32

Sources = tuple[str, str]


@dataclass(frozen=True)
class DistanceCorrelations:
    """Correlations between kinds of distances; prints as a table.

    Attributes
    ----------
    factors : dict of str to dict of (source, source) to Correlation
        By name of the factor: over pairs along it.
    random : dict of (source, source) to Correlation
        Over pairs of points drawn at random (4.1).
    overall : dict of (source, source) to (float, float)
        Pearson and Spearman of the factors by geometric mean (4.3); 0 where any is not positive.
        Empty where every factor was left out.
    exact : dict of str to bool
        Whether all pairs along a factor, or all pairs for "random", were taken.
    loss : str
        Loss of the perceived distances.
    note : str
        Factors that were left out, what is missing from the grid, and intervals that are.
    """

    factors: Mapping[str, Mapping[Sources, Correlation]]
    random: Mapping[Sources, Correlation]
    overall: Mapping[Sources, tuple[float, float]]
    exact: Mapping[str, bool]
    loss: str = ""
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """A table: linear and rank correlation for every two kinds of distances."""
        columns = list(self.random)
        rows = [("", *(f"{first} ~ {second}" for first, second in columns))]
        for name, found in {RANDOM: self.random, **self.factors}.items():
            rows.append((name, *(_cell(found[key]) for key in columns)))
        if self.overall:
            means = (f"{self.overall[key][0]:6.3f} {self.overall[key][1]:6.3f}" for key in columns)
            rows.append(("factors, geometric mean", *means))
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["Pearson and Spearman correlation of distances"]
        lines[0] += f", loss {self.loss}" if self.loss else ""
        for row in rows:
            cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        notes = [f"{name}: {item}" for name, item in self._notes().items()]
        return "\n".join([*lines, *notes, *([self.note] if self.note else [])])

    def _notes(self) -> dict[str, str]:
        named = {RANDOM: self.random, **self.factors}
        notes = {}
        for name, found in named.items():
            flat = [f"{x} ~ {y}" for (x, y), item in found.items() if item.note]
            if flat:
                notes[name] = f"0 in {', '.join(flat)}, for one side has no order"
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""

        def plain(found: Mapping[Sources, Correlation]) -> dict[str, Any]:
            return {f"{x} ~ {y}": vars(item) for (x, y), item in found.items()}

        return {
            "loss": self.loss,
            "random": plain(self.random),
            "factors": {name: plain(found) for name, found in self.factors.items()},
            "overall": {
                f"{x} ~ {y}": {"pearson": pearson, "spearman": spearman}
                for (x, y), (pearson, spearman) in self.overall.items()
            },
            "exact": dict(self.exact),
            "note": self.note,
            "settings": dict(self.settings),
        }

    def frame(self) -> Any:
        """A pandas table with a row for every factor and two sources."""
        import pandas

        rows = [
            {"factor": name, "a": x, "b": y, **vars(item)}
            for name, found in {RANDOM: self.random, **self.factors}.items()
            for (x, y), item in found.items()
        ]
        return pandas.DataFrame(rows)


def distance_correlations(
    grid: Any,
    code: Any = None,
    loss: Any = "mse",
    *,
    n_pairs: int = 50_000,
    kind: str = "l1",
    scaled: bool = False,
    self_pairs: bool = False,
    confidence: float | None = None,
    random_state: Any = None,
    verbose: bool | int = False,
) -> DistanceCorrelations:
    """Correlate ground-truth, perceived and latent distances with each other.

    Along every factor pairs share a traversal (4.2, 4.10); global pairs are any two points (4.1).

    Parameters
    ----------
    grid : FactorGrid
        A sample of a grid will do: traversals are found among its rows.
    code : array-like of shape (len(grid), z), or callable, optional
        Latents by index, or an encoder of float32 images (n, h, w, c).
    loss : name, callable or None
        Of perceived distances, as for `perceived`; None leaves them out.
    n_pairs : int
        About how many pairs a factor, and how many random ones; all pairs along a factor are
        taken where those are fewer.
    kind : {"l1", "l2", "kl", "symmetric_kl"}
        Of latent distances, as for `latent`.
    scaled : bool
        Scale every factor to [0, 1] in ground-truth distances (5.11).
    self_pairs : bool
        By default no pair is of a point with itself: such pairs are at distance zero on both
        sides whatever the representation, and lift every correlation (latents that are noise
        score 0.39 along factors). True draws them as published tables did: both points
        independently along a factor, and 1 in 32 of the random pairs.
    confidence : float, optional
        Such as 0.95: bootstrap intervals. Along factors whole traversals are resampled, of which
        there must be two; random pairs are taken to be independent, which makes their intervals
        too narrow where there are few points.
    random_state : int, Generator or None
    verbose : bool or int
        Show progress on a terminal.

    Returns
    -------
    DistanceCorrelations
        A factor with one value is left out, and one with two values unless self pairs are in:
        its ground-truth distances are all equal, so there is no order to agree with.

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
    distances = GridDistances(grid, code, loss, kind=kind, scaled=scaled)
    n_pairs = check_int(n_pairs, "n_pairs", low=2)
    fewest = 2 if self_pairs else 3  # two points have one distance, and nothing to order
    if len(grid) < fewest:
        raise InputError(
            f"Correlations of distances need at least {fewest} points; {len(grid)} came."
        )
    if len(distances.sources) < 2:
        raise InputError(
            "Correlations need two kinds of distances: give a grid with images, a code, or both; "
            "ground truth alone came."
        )
    rng = check_random_state(random_state)
    keys = list(combinations(distances.sources, 2))
    options: dict[str, Any] = {"confidence": confidence, "random_state": rng}
    factors: dict[str, dict[Sources, Correlation]] = {}
    exact: dict[str, bool] = {}
    left_out: list[str] = []  # no order
    unpaired: list[str] = []  # no two points on a traversal
    alone: list[str] = []  # one traversal, which cannot be resampled
    with Stages("distances", verbose) as stages:
        for j, name in enumerate(grid.names):
            # Between two values there is one distance, and nothing to order.
            pairs = None
            if grid.sizes[j] > (1 if self_pairs else 2):
                ordered = not distances.symmetric
                traversals = traversals_for(grid, j, n_pairs, rng, ordered=self_pairs or ordered)
                pairs = traversal_pairs(
                    traversals, n_pairs, rng, self_pairs=self_pairs, ordered=ordered
                )
            if pairs is None or len(pairs.a) < 2:
                (left_out if pairs is None or len(pairs.a) else unpaired).append(name)
                continue
            with stages.stage(name):
                found = _distances(distances, pairs.a, pairs.b)
                if (found[GROUND_TRUTH] == found[GROUND_TRUTH][0]).all():
                    left_out.append(name)
                    continue
                exact[name] = pairs.exact
                single = confidence is not None and (pairs.group == pairs.group[0]).all()
                alone += [name] if single else []
                own = options | {"confidence": None if single else confidence}
                factors[name] = {
                    (x, y): correlation(found[x], found[y], groups=pairs.group, **own)
                    for x, y in keys
                }
        with stages.stage(RANDOM):
            ab, exact[RANDOM] = random_pairs(
                grid, n_pairs, rng, self_pairs=self_pairs, ordered=not distances.symmetric
            )
            found = _distances(distances, *ab.T)
            random = {(x, y): correlation(found[x], found[y], **options) for x, y in keys}
    overall = {
        key: (
            geometric_mean([item[key].pearson for item in factors.values()]),
            geometric_mean([item[key].spearman for item in factors.values()]),
        )
        for key in (keys if factors else ())
    }
    notes = [grid.note] if grid.note else []
    if left_out:
        notes.append(f"Left out: {', '.join(left_out)} (ground-truth distances have no order).")
    if unpaired:
        notes.append(f"Left out: {', '.join(unpaired)} (no two points differ in it alone).")
    if alone:
        notes.append(f"No intervals along {', '.join(alone)}: there is one traversal to resample.")
    settings = {"n_pairs": n_pairs, "kind": kind, "scaled": scaled, "self_pairs": self_pairs}
    loss_name = distances.loss.name if distances.loss is not None else ""
    return DistanceCorrelations(
        factors, random, overall, exact, loss_name, " ".join(notes), settings
    )


def random_pairs(
    grid: Any,
    n: int,
    rng: np.random.Generator,
    *,
    self_pairs: bool = False,
    ordered: bool = False,
) -> tuple[np.ndarray, bool]:
    """Pairs (n, 2) of any two points, and whether they are all there are.

    Self pairs come with the share that they have behind published numbers.
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


def _distances(distances: GridDistances, a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    return {source: distances.between(a, b, source) for source in distances.sources}


def _cell(item: Correlation) -> str:
    parts = []
    for value, span in (
        (item.pearson, item.pearson_interval),
        (item.spearman, item.spearman_interval),
    ):
        parts.append(f"{value:6.3f}" + (f" [{span[0]:.3f}, {span[1]:.3f}]" if span else ""))
    return " ".join(parts)
