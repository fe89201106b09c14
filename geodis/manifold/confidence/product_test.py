"""The product test: whether the metric of each factor is independent of the other factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from geodis.base.check import InputError, MissingResultError
from geodis.base.jobs import one_blas_thread
from geodis.base.progress import Stages
from geodis.manifold.confidence.stretch import (
    CoupledPeriods,
    Strength,
    coupled_periods,
    local_stretches,
    stretch_dependence,
)
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.fitted import Fit
from geodis.manifold.holonomy.factor_count import SLIGHT
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.graph import NeighborGraph
from geodis.manifold.local.tangents import Tangents, neighbors_for_tangents
from geodis.manifold.maps.factor_map import FactorMap
from geodis.manifold.maps.maps_of_fit import FEW, common_points, maps_of, share_at_same_places
from geodis.manifold.pipeline import published_pipeline
from geodis.manifold.split_result import Settings, Task, doubts_of

# Further splits, found in the map of a factor.

# A surface that splits is flat, and is left to the unrolling.
LEAST_DIM = 3
MOST_POINTS = 4000


def dims_of_map(own: FactorMap, *, n_jobs: int | None = None) -> tuple[int, ...]:
    """Find the dimensions of the factors into which the map of a factor clearly splits.

    The map is free of the other factors, of the errors due to these, and of most noise. So parallel
    fields may be clear in the map that are unclear in the whole space.

    Parameters
    ----------
    own : FactorMap
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    tuple of int
        Largest first; the whole dimension if the map does not split, or not clearly.
    """
    k = own.dim
    if k < LEAST_DIM or own.n_coordinates == k or own.periods is not None:
        return (k,)
    carriers, all_frames = own.tangents()
    some = np.linspace(0, len(carriers) - 1, min(len(carriers), MOST_POINTS)).astype(np.intp)
    rows, frames = carriers[some], np.swapaxes(all_frames[some], 1, 2)
    nothing = np.zeros(len(rows))
    count = min(neighbors_for_tangents(k), len(rows) // 2 - 1)
    known = Tangents(np.ascontiguousarray(frames), nothing, nothing, count)
    task = Task(Settings(n_jobs=n_jobs))
    split = published_pipeline(
        own.coordinates[rows], k, task, rows=np.arange(len(rows)), tangents=known
    ).split
    fields, departure = split.fields, split.departure
    clear = fields is not None and not doubts_of(fields, k)
    # The departure from a product may be due to the misfit of the map.
    if departure is not None and departure.low > max(SLIGHT, own.residual):
        clear = False
    if len(split.dims) < 2 or not clear:
        return (k,)
    return tuple(sorted(split.dims, reverse=True))


# Root mean square change of lengths below which it does not matter.
LEAST = 0.0015
# Errors explain a strength up to this share of the misfit of the maps: on true products (clean,
# noisy and bent) the strength is at most .2 of it, and on others at least .3. The misfit is limited
# to the second value, which maps of true products hardly exceed.
EXPLAINED, ERRONEOUS = 0.25, 0.1
# Maps with a larger misfit, or with relatively shorter steps, are not maps of a factor.
MISFIT, SHORTEST = 0.25, 0.9
# Number of blocks within which errors of the tangents and of the map may be correlated.
BLOCKS = 150


@dataclass(frozen=True)
class PairTest:
    """Whether the metric of one factor depends on the position in another.

    Attributes
    ----------
    factor, other : int
    tensor : Strength
        Root mean square relative change of lengths over points and directions. The map absorbs
        about half of the change: on S^2 x_f S^2 with f = 1 + c x, the value is .55 of the spread
        of f.
    scale : Strength
        The same for the mean over directions, which is independent of changes of shape.
    explained : float
        Strength that errors of the maps may explain.
    """

    factor: int
    other: int
    tensor: Strength
    scale: Strength
    explained: float

    @property
    def level(self) -> float:
        """The strength that chance and errors explain."""
        return max(self.tensor.null, self.explained)

    @property
    def is_there(self) -> bool:
        """Whether the strength is more than chance and errors explain."""
        return self.tensor.low > self.level

    @property
    def matters(self) -> bool:
        """Whether it is also large enough to matter."""
        return self.is_there and self.tensor.low > LEAST

    def __str__(self) -> str:
        """Describe the result in one line, in per cent."""
        tensor = self.tensor
        return (
            f"lengths in factor {self.factor} change with the position in factor {self.other} by "
            f"{100 * max(tensor.value, 0.0):.2f} % ({100 * tensor.low:.2f} to "
            f"{100 * tensor.high:.2f} %; chance {100 * tensor.null:.2f} %, errors of the maps up "
            f"to {100 * self.explained:.2f} %)"
        )


@dataclass(frozen=True)
class ProductTest:
    """Result of testing on the maps whether the space is a product of the factors.

    Attributes
    ----------
    pairs : tuple of PairTest
        All ordered pairs of factors.
    scales : tuple of float
        Length of steps in the map of every factor relative to that along its axes: one for a
        factor, and less if the map collapses.
    misfits : tuple of float
        Misfits of the maps.
    splits : tuple of tuple of int
        Dimensions into which the map of every factor clearly splits; its whole dimension if it
        does not.
    same : float
        Share of the points that coincide with different points in all maps.
    periods : CoupledPeriods
        Whether periods of flat factors involve two factors.
    """

    pairs: tuple[PairTest, ...]
    scales: tuple[float, ...]
    misfits: tuple[float, ...]
    splits: tuple[tuple[int, ...], ...]
    same: float = 0.0
    periods: CoupledPeriods = field(default_factory=CoupledPeriods)

    @property
    def worst(self) -> PairTest | None:
        """The pair whose change exceeds chance and errors most; None with one factor."""
        if not self.pairs:
            return None
        return max(self.pairs, key=lambda pair: pair.tensor.low - pair.level)

    @property
    def collapsed(self) -> tuple[int, ...]:
        """Factors without a map, along which the space does not split; empty with one factor."""
        if not self.pairs:
            return ()
        return tuple(
            j
            for j, (scale, misfit) in enumerate(zip(self.scales, self.misfits, strict=True))
            if scale < SHORTEST or misfit > MISFIT
        )

    @property
    def overlaid(self) -> bool:
        """Whether the maps together superimpose different points.

        The space is then a product locally, but not globally, as U(2) of S^3 and a circle. The
        factors are correct nevertheless.
        """
        return self.same > FEW

    @property
    def looped(self) -> bool:
        """Whether a period involves two flat factors, and all other factors have maps.

        Maps may collapse along such directions, which the period explains. If other factors have
        no maps either, the factors are mixed and periods say little.
        """
        lost = set(self.collapsed)
        return self.periods.there and (len(lost) < 2 or lost <= set(self.periods.pair or ()))

    @property
    def merge(self) -> tuple[int, int] | None:
        """Two factors that should be merged, the smaller number first; None for a product.

        If a period involves two flat factors, these. Otherwise the pair whose metrics depend most
        on each other, among pairs with as many collapsed factors as possible. If more than two
        factors have no map, the factors are mixed, and this pair is where to start.
        """
        if self.is_product:
            return None
        if self.looped:
            return self.periods.pair
        changes: dict[tuple[int, int], float] = {}
        for pair in self.pairs:
            both = (min(pair.factor, pair.other), max(pair.factor, pair.other))
            changes[both] = changes.get(both, 0.0) + max(pair.tensor.value, 0.0) ** 2
        lost = set(self.collapsed)
        candidates = [both for both in changes if len(lost & set(both)) == min(len(lost), 2)]
        return max(candidates, key=lambda both: changes[both])

    @property
    def is_product(self) -> bool:
        """Whether the space is a product of these factors, at least locally."""
        changes = any(pair.matters for pair in self.pairs)
        return not (self.collapsed or self.looped or changes)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts about these factors, with remedies."""
        found = []
        if self.merge is not None:
            pair = dict(zip(("one", "other"), self.merge, strict=True))
            if self.looped:
                found.append(doubt("common-loops", "split", **pair))
            elif self.collapsed:
                lost = " and ".join(map(str, self.collapsed))
                which = f"factor {lost} has no map of its own"
                if len(self.collapsed) > 1:
                    which = f"factors {lost} have no maps of their own"
                found.append(doubt("no-map", "split", which=which, **pair))
            else:
                found.append(doubt("changing-lengths", "split", change=str(self.worst), **pair))
        for j, dims in enumerate(self.splits):
            if len(dims) > 1:
                shown, total = " + ".join(map(str, dims)), len(self.splits) + len(dims) - 1
                about = ("factor", j)
                found.append(doubt("map-splits", about, factor=j, dims=shown, n_factors=total))
        return (*found, doubt("overlaid", "maps")) if self.overlaid else tuple(found)

    @property
    def verdict(self) -> str:
        """The result in words."""
        if self.doubts:
            return "; ".join(self.doubts)
        if self.worst is None:
            return "one factor, whose map does not split again"
        return f"a product{', but ' if self.worst.is_there else ': '}{self.worst}"

    def __str__(self) -> str:
        """Return the verdict, and one line for every pair."""
        lines = [f"product test: {self.verdict}", *(f"  {pair}" for pair in self.pairs)]
        shown = zip(self.scales, self.misfits, strict=True)
        lines += [
            f"  map of factor {j}: steps {scale:.2f} times as long, misfit {misfit:.3f}"
            for j, (scale, misfit) in enumerate(shown)
        ]
        if self.same:
            lines.append(f"  superimposed on others in all maps: {self.same:.1%} of the points")
        return "\n".join(lines)


def product_test_of(fit: Fit) -> ProductTest:
    """Run the product test of a fit on first use; its doubts are added to those of the fit.

    Raises
    ------
    MissingResultError
        If there are too few points for maps, or too few points in common.
    """
    return fit.once("product test", lambda: _test_fit(fit))


def _test_fit(fit: Fit) -> ProductTest:
    maps = maps_of(fit)
    stages = Stages("product test", fit.settings.verbose)
    with stages, one_blas_thread(), stages.stage("product test"):
        try:
            return product_test(maps, fit.places, fit.flat.axes, fit.graph, n_jobs=fit.n_jobs)
        except InputError as problem:
            raise MissingResultError(str(problem)) from problem


def product_test(
    maps: Sequence[FactorMap],
    places: np.ndarray,
    axes: np.ndarray,
    graph: NeighborGraph,
    *,
    n_jobs: int | None = None,
) -> ProductTest:
    """Test on the maps whether the space is a product of the factors.

    On a product the metric of each factor is independent of the position in the others, and its map
    is isometric. See `stretch_dependence` for the dependence, `dims_of_map` for factors that split
    again, `share_at_same_places` for maps that superimpose points, and `coupled_periods` for
    periods that involve two factors.

    Parameters
    ----------
    maps : sequence of FactorMap
    places : ndarray of shape (n, c)
        The points in the reduced space.
    axes : ndarray of shape (n, k, c)
        Grouped by factor, in the order of the maps; NaN for points without axes.
    graph : NeighborGraph
        Graph of the points, whose largest piece is tested.
    n_jobs : int, optional
        Threads; one by default, -1 for every core.

    Returns
    -------
    ProductTest

    Examples
    --------
    >>> import geodis as gd
    >>> est = gd.GeoManCER(verbose=0).fit(gd.product_manifold("S^2 x S^1", 600).points)
    >>> est.product_test_.is_product, est.product_test_.splits
    (True, ((2,), (1,)))
    """
    misfits = tuple(0.0 if np.isnan(own.residual) else float(own.residual) for own in maps)
    splits = tuple(dims_of_map(own, n_jobs=n_jobs) for own in maps)
    if len(maps) < 2:
        return ProductTest((), (1.0,) * len(maps), misfits, splits)
    rows, edges = common_points(maps, places, axes, graph, n_jobs)
    stretches = local_stretches(maps, places, axes, rows, edges, n_jobs=n_jobs)
    rng = np.random.default_rng(0)
    n_blocks = min(BLOCKS, len(rows) // 4)
    centres = places[rows[np.sort(rng.choice(len(rows), n_blocks, replace=False))]]
    blocks = searcher(centres, n_jobs=n_jobs)(places[rows], 1)[0][:, 0]
    pairs = []
    for f, g in permutations(range(len(maps)), 2):
        tensor, scale = stretch_dependence(
            stretches[f], stretches[g].positions, blocks, n_jobs=n_jobs, random_state=rng
        )
        # The strain of an unrolled map says little about errors of single steps; misfits do.
        fitted = maps[f].periods is None and maps[g].periods is None
        misfit = max(misfits[f], misfits[g]) if fitted else max(misfits)
        explained = EXPLAINED * min(misfit, ERRONEOUS)
        pairs.append(PairTest(f, g, tensor, scale, explained))
    same = share_at_same_places(maps, places, rows, edges, n_jobs=n_jobs)
    scales = tuple(own.scale for own in stretches)
    stops = np.cumsum([own.dim for own in maps])[:-1]
    by_factor = np.split(axes[rows], stops, axis=1)
    flat = [j for j, own in enumerate(maps) if own.dim == 1 or own.periods is not None]
    periods = CoupledPeriods()
    # Unrolled factors have already been split along their periods.
    if len(flat) > 1 and any(maps[j].periods is None for j in flat):
        periods = coupled_periods(places[rows], [by_factor[j] for j in flat], flat, edges)
    return ProductTest(tuple(pairs), scales, misfits, splits, same, periods)
