"""The parts of a report: each one computes its own, and none needs another to end well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError
from geodis.report.material import Material

if TYPE_CHECKING:
    from geodis.distances.agreement import DistanceCorrelations
    from geodis.distances.along_factors import FactorImportance
    from geodis.inspection import Inspection
    from geodis.manifold.geomancer import GeoManCER
    from geodis.scores._score_table import ScoreTable

# Where the dimension was estimated, factors are sought up to this one: the work grows with the
# fourth power of the dimension, and the points that it takes with the second.
MAX_DIM = 9
# Factors are sought among so many rows that n k^4 stays below this: about ten seconds on two cores.
WORK = 1.2e7
# Scores so cheap that they can be computed again for an interval. The others would take minutes.
CHEAP = (
    "mig",
    "robust_mig",
    "mig_sup",
    "modularity",
    "completeness",
    "sap",
    "sap_continuous",
    "informativeness_r2",
    "irs",
    "linearity_ratio",
    "axis_ratio",
    "axis_orientation",
    "flatness",
    "distance_correlation",
)
INTERVALS = 20
SCORED_ROWS = 10_000
# Enough for correlations to a hundredth; a thousand resamplings of more would take minutes.
PAIRS, SHOWN_PAIRS = 5_000, 300
MAX_MATRIX = 40  # values of a factor beyond which its distance matrix cannot be read


@dataclass
class Part:
    """What became of one part.

    Attributes
    ----------
    name : str
    value : object
        What the part found; None where it failed or did not apply.
    failure : str
        Why there is none.
    notes : list of str
        Warnings while it ran.
    seconds : float
    """

    name: str
    value: Any = None
    failure: str = ""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class DistanceFindings:
    """Distances of factors, images and latents.

    Attributes
    ----------
    correlations : DistanceCorrelations or None
        None without factors.
    matrices : dict of str to dict of str to ndarray of shape (s, s)
        Kind of distance -> factor -> average distances between its values.
    pairs : dict of str to dict of str to ndarray
        "random" or a factor -> kind -> distances of some pairs.
    importance : FactorImportance or None
        What each factor weighs in perceived distances; None without images.
    plain : Correlation or None
        Perceived with latent distances of random pairs, where there are no factors.
    """

    correlations: DistanceCorrelations | None
    matrices: dict[str, dict[str, np.ndarray]]
    pairs: dict[str, dict[str, np.ndarray]]
    importance: FactorImportance | None = None
    plain: Any = None


def inspect_part(material: Material, random_state: Any) -> Inspection:
    """Sizes, defects, pieces, dimension."""
    from geodis.inspection import inspect_points

    return inspect_points(material.latents, random_state=random_state)


def factorise_part(
    material: Material,
    dim: int | None,
    n_factors: int | None,
    inspection: Inspection | None,
    random_state: Any,
) -> tuple[GeoManCER, Material]:
    """A fitted GeoManCER, and the rows that it was fitted to."""
    from geodis.manifold.geomancer import GeoManCER

    found = dim
    if found is None and inspection is not None:
        found = inspection.dimension.dim
        if not np.isfinite(inspection.dimension.two_nn):
            raise InputError(
                "The points are evenly spaced, so their dimension cannot be estimated: say which "
                "it is with dim (--dim) to have factors sought."
            )
        if found > MAX_DIM:
            raise InputError(
                f"The points have about {found} dimensions: to look for factors takes at least "
                f"{inspection.recommended:,} points and minutes beyond {MAX_DIM}. Say which "
                f"dimension with dim (--dim) to have it done."
            )
    rows = rows_for(found or 2)
    used = material.thinned(rows, random_state)
    est = GeoManCER(
        dim="auto" if dim is None else dim,
        n_factors="auto" if n_factors is None else n_factors,
        random_state=random_state,
        verbose=0,
    ).fit(used.latents)
    return est, used


def rows_for(dim: int) -> int:
    """Rows that factors are sought among, at least as many as they can be trusted for.

    Examples
    --------
    >>> rows_for(2), rows_for(5), rows_for(8)
    (750000, 19200, 3600)
    """
    from geodis.manifold.local.dimension import points_needed

    return max(int(WORK / dim**4), points_needed(dim)[1])


def score_part(material: Material, intervals: int, random_state: Any) -> ScoreTable:
    """Every score with its chance level, and intervals of those that are cheap."""
    from dataclasses import replace

    from geodis.scores.table import score_latents

    used = material.thinned(SCORED_ROWS, random_state)
    options: dict[str, Any] = {"bins": used.bins, "verbose": 0, "random_state": random_state}
    table = score_latents(used.latents, used.factors, **options)
    cheap = [name for name in CHEAP if name in table.scores]
    if not intervals or not cheap:
        return table
    spread = score_latents(
        used.latents, used.factors, cheap, chance=0, intervals=intervals, **options
    )
    frame = table.frame.copy()
    for column in ("low", "high"):
        frame.loc[spread.frame.index, column] = spread.frame[column]
    return replace(table, frame=frame)


def distance_part(material: Material, random_state: Any) -> DistanceFindings:
    """Distances along factors and between random points, by every source that there is."""
    from geodis.base.check import check_random_state

    rng = check_random_state(random_state)
    if material.classes is None:
        return _without_factors(material, rng)
    from geodis.data.grids.grid import FactorGrid
    from geodis.distances import distance_correlations, factor_importance, traversal_matrix
    from geodis.distances.grid_distances import GridDistances

    grid = FactorGrid.from_arrays(
        None if material.images is None else _rows_of(material), material.classes
    )
    code = material.latents
    if grid.complete:  # whose rows are in order of the index
        code = code[np.lexsort(material.classes.values.T[::-1])]
    found = distance_correlations(grid, code, n_pairs=PAIRS, confidence=0.95, random_state=rng)
    distances = GridDistances(grid, code)
    matrices: dict[str, dict[str, np.ndarray]] = {}
    for kind in distances.sources:
        matrices[kind] = {
            name: traversal_matrix(grid, name, kind, code=code, random_state=0)
            for name, size in zip(grid.names, grid.sizes, strict=True)
            if 1 < size <= MAX_MATRIX
        }
    importance = None
    if grid.image_shape is not None:
        importance = factor_importance(grid, n_pairs=PAIRS, random_state=rng)
    return DistanceFindings(found, matrices, _some_pairs(distances, found, rng), importance)


def _some_pairs(distances: Any, found: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Distances of a few pairs for a figure: at random, and along every factor that has some."""
    from geodis.distances import sample_pairs

    grid = distances.grid
    drawn = {"random": sample_pairs(grid, SHOWN_PAIRS, random_state=rng)}
    for name in found.factors:
        drawn[name] = sample_pairs(grid, SHOWN_PAIRS, "factor", factor=name, random_state=rng)
    return {
        name: {kind: distances.between(*pairs.T, kind) for kind in distances.sources}
        for name, pairs in drawn.items()
    }


def _without_factors(material: Material, rng: np.random.Generator) -> DistanceFindings:
    from geodis.distances import correlation, latent, perceived

    n = len(material.latents)
    if material.images is None:
        raise InputError(
            "Distances can be compared when there are two kinds of them: give factors, images, "
            "or both."
        )
    a = rng.integers(n, size=min(2000, 4 * n))
    b = (a + rng.integers(1, n, size=len(a))) % n  # never the point itself
    seen = perceived(material.images_of(a), material.images_of(b))
    felt = latent(material.latents[a], material.latents[b])
    shown = {"perceived": seen[:SHOWN_PAIRS], "latent": felt[:SHOWN_PAIRS]}
    plain = correlation(seen, felt, confidence=0.95, random_state=rng)
    return DistanceFindings(None, {}, {"random": shown}, None, plain)


def _rows_of(material: Material) -> Any:
    """Images of the rows, in memory only where they are all meant or few."""
    if len(material.rows) == material.n_given:
        return material.images
    return np.asarray(material.images[material.rows])
