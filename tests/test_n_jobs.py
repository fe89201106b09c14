"""One rule for `n_jobs` wherever it stands: what is refused, and that results stay equal."""

import inspect
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest
from numpy.testing import assert_equal

import geodis as gd
from geodis import manifold, scores
from geodis.base import jobs
from geodis.base.check import InputError
from geodis.manifold.atlas.chart_fits import chart_fits
from geodis.manifold.atlas.charts import stepped_axes
from geodis.manifold.atlas.make_atlas import make_atlas
from geodis.manifold.confidence.stretch import LocalStretch, local_stretches, stretch_dependence
from geodis.manifold.flat.curvature import measure_curvature
from geodis.manifold.flat.differences import edges_of
from geodis.manifold.flat.may_be_flat import worth_unrolling
from geodis.manifold.holonomy.connection import connection, transports_between
from geodis.manifold.holonomy.diffusion import diffuse
from geodis.manifold.holonomy.eigenfields import extend_fields
from geodis.manifold.local.angles import tangent_error
from geodis.manifold.local.dimension_estimate import dimension_by_method
from geodis.manifold.local.dimension_methods import dimension_by_distances
from geodis.manifold.local.exact_search import searcher
from geodis.manifold.local.many_nearest import leaves_of, many_nearest, nearest_of_few
from geodis.manifold.local.neighborhood_size import balanced_n_neighbors
from geodis.manifold.local.neighbors import neighbors_at
from geodis.manifold.local.tangents import searched_tangent_frames
from geodis.manifold.maps.factor_map import FactorData
from geodis.manifold.maps.geodesics import geodesics_of
from geodis.manifold.maps.map_kinds import factor_maps
from geodis.manifold.maps.refined_map import refined_map
from geodis.manifold.maps.rigid_map import steps_within
from geodis.manifold.maps.samples import coarse_sample
from geodis.manifold.topology.topology_of import topology_of

SAMPLE = gd.product_manifold("S^2", 120, random_state=0)
POINTS = SAMPLE.points
NEAR = gd.nearest_neighbors(POINTS, 14, n_jobs=1)
GRAPH = gd.neighbor_graph(POINTS, 8, n_jobs=1)
PLANE = np.random.default_rng(1).uniform(-1, 1, (600, 2))
CIRCLE = np.column_stack([np.cos(PLANE[:, 0] * 4), np.sin(PLANE[:, 0] * 4)])
SADDLE = (  # points, frames, coordinates
    np.column_stack([PLANE, 0.2 * PLANE[:, 0] * PLANE[:, 1]]),
    np.broadcast_to(np.eye(2, 3), (600, 2, 3)),
    PLANE,
)
ROUND = gd.product_manifold("S^2", 320, random_state=0)
SPHERE = ROUND.points, ROUND.tangents[0]
FRAMES = manifold.tangent_frames(POINTS, NEAR, 2).frames
CSR = GRAPH.adjacency.indptr, GRAPH.adjacency.indices
TRANSPORTS = connection(FRAMES, GRAPH)
FIELDS = np.random.default_rng(0).standard_normal((120, 3, 2)).astype(np.float32)
ONES = np.ones(120, np.float32)
LATENTS = np.random.default_rng(1).standard_normal((200, 2))
FACTORS = (LATENTS > 0).astype(int)
ROWS = np.arange(0, 120, 7)
JUDGED = {"random_state": 0}
MAPPED = gd.GeoManCER(3, n_jobs=1, verbose=0).fit(
    gd.product_manifold("S^2 x S^1", 400, random_state=0).points
)
OF_MAPS = MAPPED.maps_, MAPPED.maps_[0].places, MAPPED.axes_
COARSE = np.arange(400), edges_of(MAPPED.graph_)
COLUMNS = np.ascontiguousarray(np.swapaxes(FRAMES, 1, 2))
STRETCH, PARTS = np.broadcast_to(POINTS[:, :1, None], (120, 2, 2)), np.arange(120) % 30


def eigenfields():
    laplacian = manifold.ConnectionLaplacian(GRAPH, TRANSPORTS)
    return manifold.bottom_eigenfields(laplacian, n_fields=2, random_state=0)


def split():
    return gd.GeoManCER(2, n_jobs=1, verbose=0).fit(POINTS).split_


def refined(n_jobs):
    points, axes = SPHERE
    rows = np.arange(len(points))
    samples = [(rows, coarse_sample(points, rows, axes))]
    own = refined_map(FactorData(points, points, axes, samples=samples, n_jobs=n_jobs))
    return own.at(points[:50] + 0.01, axes[:50], n_jobs=n_jobs)


def all_maps(n_jobs):
    points, axes = SPHERE
    graph = gd.neighbor_graph(points, 8)
    (made,) = factor_maps(points, points, axes, (2,), graph, unrolled=[None], n_jobs=n_jobs)
    return made.coordinates


def steps_on_a_chart(n_jobs):
    bends, radius = np.ones((320, 3, 3)), np.ones(320)
    return stepped_axes(*SPHERE, bends, radius, ROWS, SPHERE[0][ROWS + 1], n_jobs=n_jobs)[0]


def in_ranges(n_jobs):
    rows = np.zeros(100)

    def fill(start, stop):
        rows[start:stop] = np.arange(start, stop)

    jobs.over_ranges(fill, len(rows), n_jobs)
    return rows


def in_blocks(n_jobs):
    rows = np.zeros(100)

    def fill(some):
        rows[some] = np.arange(100)[some]

    jobs.over_blocks(fill, len(rows), 7, n_jobs)
    return rows


# Name -> what to call with `n_jobs`, and what of its result is compared.
CALLS = {
    "in_threads": lambda n: jobs.in_threads(abs, [-1, 2], n),
    "in_processes": lambda n: list(jobs.in_processes(pow, [(2, 3), (3, 2)], n)),
    "over_ranges": in_ranges,
    "over_blocks": in_blocks,
    "check_jobs": lambda n: jobs.check_jobs(n) > 0,
    "nearest_neighbors": lambda n: gd.nearest_neighbors(POINTS, 5, n_jobs=n).distances,
    "searcher": lambda n: searcher(POINTS, n_jobs=n)(POINTS, 3),
    "nearest_of_few": lambda n: nearest_of_few(POINTS, ROWS, 3, n_jobs=n)[1],
    "many_nearest": lambda n: many_nearest(leaves_of(POINTS), ROWS, 3, n_jobs=n),
    "neighbors_at": lambda n: neighbors_at(POINTS, ROWS, 3, n_jobs=n).distances,
    "neighbor_graph": lambda n: gd.neighbor_graph(POINTS, 5, n_jobs=n).adjacency.toarray(),
    "intrinsic_dimension": lambda n: gd.intrinsic_dimension(POINTS, n_jobs=n).mle,
    "dimension_by_distances": lambda n: (
        dimension_by_distances(POINTS, n_jobs=n, random_state=np.random.default_rng(0)).two_nn
    ),
    "searched_tangent_frames": lambda n: searched_tangent_frames(POINTS, 2, 14, n_jobs=n).frames,
    "tangent_frames": lambda n: manifold.tangent_frames(POINTS, NEAR, 2, n_jobs=n).frames,
    "choose_n_neighbors": lambda n: manifold.choose_n_neighbors(POINTS, 2, n_jobs=n),
    "balanced_n_neighbors": lambda n: balanced_n_neighbors(POINTS, 2, searcher(POINTS), n_jobs=n),
    "tangent_error": lambda n: tangent_error(POINTS, 2, 14, n_jobs=n).angle,
    "surface_points": lambda n: manifold.surface_points(*SPHERE, 40, n_jobs=n).points,
    "dimension_by_method": lambda n: dimension_by_method(POINTS, "gride", 0.0, n).dim,
    "measure_curvature": lambda n: measure_curvature(*SADDLE, n_jobs=n).mean,
    "worth_unrolling": lambda n: worth_unrolling(POINTS, FRAMES, n_jobs=n),
    "connection": lambda n: connection(FRAMES, GRAPH, n_jobs=n),
    "transports_between": lambda n: transports_between(FRAMES, FRAMES, *CSR, n_jobs=n),
    "diffuse": lambda n: diffuse(*CSR, TRANSPORTS, FIELDS, scales=(ONES, ONES), n_jobs=n),
    "ConnectionLaplacian": lambda n: manifold.ConnectionLaplacian(
        GRAPH, TRANSPORTS, n_jobs=n
    ).apply(FIELDS),
    "extend_fields": lambda n: extend_fields(FIELDS, FRAMES, FRAMES, NEAR.indices[:, :3], n_jobs=n),
    "coarse_start": lambda n: manifold.coarse_start(POINTS, FRAMES, 2, n_jobs=n),
    "factor_axes": lambda n: manifold.factor_axes(eigenfields(), 1, n_jobs=n, random_state=0).axes,
    "split_flat_part": lambda n: manifold.split_flat_part(POINTS, FRAMES, n_jobs=n).coordinates,
    "Settings": lambda n: manifold.Settings(n_jobs=n).refines,
    "steps_within": lambda n: steps_within(*SPHERE, ROWS, ROWS + 1, n_jobs=n).out,
    "coarse_sample": lambda n: (
        coarse_sample(SPHERE[0], np.arange(320), SPHERE[1], n_jobs=n).edges.i
    ),
    "geodesics_of": lambda n: (
        geodesics_of(SPHERE[0], np.swapaxes(SPHERE[1], 1, 2), n_jobs=n).lengths
    ),
    "FactorData": refined,
    "factor_maps": all_maps,
    "topology_of": lambda n: topology_of(CIRCLE, 1, n_jobs=n).size,
    "axes_at": lambda n: manifold.axes_at(
        split(), POINTS, split().axes, POINTS[ROWS] + 0.01, n_jobs=n
    ),
    "chart_fits": lambda n: chart_fits(*SPHERE, searcher(SPHERE[0]), 13, n_jobs=n).bends,
    "stepped_axes": steps_on_a_chart,
    "make_atlas": lambda n: make_atlas(MAPPED.fitted_, MAPPED.maps_, n_jobs=n).reach,
    "GeoManCER": lambda n: gd.GeoManCER(2, n_jobs=n, verbose=0).fit(POINTS).axes_,
    "fit_confidence": lambda n: (
        gd.manifold.fit_confidence(
            gd.GeoManCER(2, n_jobs=1, verbose=0).fit(POINTS), quick=True, n_jobs=n, verbose=0
        ).angles
    ),
    "local_stretches": lambda n: local_stretches(*OF_MAPS, *COARSE, n_jobs=n)[0].logs,
    "stretch_dependence": lambda n: (
        stretch_dependence(LocalStretch(POINTS, COLUMNS, STRETCH, 1.0), POINTS, PARTS, n_jobs=n)[
            0
        ].value
    ),
    "product_test": lambda n: (
        manifold.product_test(*OF_MAPS, MAPPED.graph_, n_jobs=n).pairs[0].tensor.value
    ),
    "sap": lambda n: scores.sap(LATENTS, FACTORS, n_jobs=n, **JUDGED).value,
    "dci": lambda n: scores.dci(LATENTS, FACTORS, method="lasso", n_jobs=n, **JUDGED).value,
    "explicitness": lambda n: scores.explicitness(LATENTS, FACTORS, n_jobs=n, **JUDGED).value,
    "downstream": lambda n: scores.downstream(LATENTS, FACTORS, n_jobs=n, **JUDGED).value,
    "score_latents": lambda n: (
        gd.score_latents(
            LATENTS, FACTORS, ["modularity", "mig"], n_jobs=n, verbose=False
        ).values_by_name
    ),
    "report": lambda n: (
        gd.report(
            LATENTS[:40],
            FACTORS[:40],
            dim=1,
            n_factors=1,
            intervals=0,
            out=None,
            verbose=0,
            n_jobs=n,
        ).scores.values_by_name
    ),
    "Scenes": lambda n: gd.Scenes(8, n_jobs=n).sample(3, random_state=0).images,
}
# Stand behind `score_latents`, `fit_confidence` and `product_test`, and are called by nothing else;
# `compare` hands its own to `report`.
BEHIND = {
    *("curve_graph", "connected_graph", "run_jobs", "LocalAxes", "repeat_fit", "dims_of_map"),
    *("ReportSettings", "compare", "nearest_fitted", "share_at_same_places", "more_neighbors"),
    *("common_points", "angles_of_parts", "mended_curve", "kdtree_search", "brute_search"),
}


def names_with_n_jobs():
    """Every public function and class of the package that has an argument `n_jobs`."""
    names = set()
    for module in walk_packages(gd.__path__, "geodis."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(import_module(module.name)).items():
            own = getattr(value, "__module__", None) == module.name and not name.startswith("_")
            called = value.__init__ if inspect.isclass(value) else value
            if (
                own
                and inspect.isfunction(called)
                and "n_jobs" in inspect.signature(called).parameters
            ):
                names.add(name)
    return names


def test_every_name_with_n_jobs_is_called_here():
    assert names_with_n_jobs() == {*CALLS, *BEHIND}


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "2"])
@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_n_jobs_is_refused(name, n_jobs):
    with pytest.raises(InputError, match=r"n_jobs must be (an integer|at least -?1).*; got "):
        CALLS[name](n_jobs)


@pytest.mark.parametrize("name", CALLS)
def test_results_do_not_depend_on_n_jobs(name):
    one, default, every = (CALLS[name](n_jobs) for n_jobs in (1, None, -1))
    assert_equal(default, one)
    assert_equal(every, one)


@pytest.mark.parametrize("name", ["neighbor_graph", "choose_n_neighbors"])
def test_it_is_checked_where_nothing_is_searched(name):
    calls = {
        "neighbor_graph": lambda: gd.neighbor_graph(graph=[[0, 1], [1, 0]], n_jobs=0),
        "choose_n_neighbors": lambda: manifold.choose_n_neighbors(POINTS, 3, n_jobs=0),
    }
    with pytest.raises(InputError, match="n_jobs must be at least 1, or -1 for all cores; got 0"):
        calls[name]()
