"""Periods of closed directions: of the lattices that explain all jumps the coarsest."""

import numpy as np
import pytest

from geodis import GeoManCER, product_manifold, sample_population
from geodis.manifold.flat.flat_graph import connected_graph, unrolled_with_periods
from geodis.manifold.flat.periods import _clusters


@pytest.mark.parametrize(("ratio", "seed"), [(1, 0), (1, 1), (4, 0), (4, 1)])
def test_a_torus_has_the_lengths_of_its_circles(ratio, seed):
    spec = f"S^1 x S^1({ratio})"
    sample = product_manifold(spec, 1500, noise=0.03, random_state=seed)
    graph = connected_graph(sample.points, 2, None, 1, np.random.default_rng(0))
    frames = np.concatenate(sample.tangents, axis=1)
    lengths = np.linalg.norm(unrolled_with_periods(sample.points, frames, graph).vectors, axis=1)
    assert np.allclose(np.sort(lengths), 2 * np.pi * np.array([1, ratio]), rtol=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_few_cells_tuned_to_two_circles_are_split_or_doubted(seed):
    counts = sample_population(
        "ring x ring", 2000, cells=100, peak=30, joint=True, random_state=seed
    ).counts
    est = GeoManCER(prepare="sqrt", verbose=0).fit(counts)
    assert est.uncertain_ and est.dim_ == 2
    if est.factor_dims_.tolist() == [1, 1]:
        lengths = [np.linalg.norm(period) for period in est.periods_]
        assert max(lengths) < 1.2 * min(lengths)  # both are circles of the same tuning


@pytest.mark.parametrize("spec", ["torus(2, .7)", "torus(3, 1)"])
def test_tori_of_revolution_stay_whole(spec):
    est = GeoManCER(verbose=0).fit(product_manifold(spec, 2000, random_state=0).points)
    assert est.factor_dims_.tolist() == [2] and not est.uncertain_


@pytest.mark.parametrize("seed", range(3))
def test_loops_are_gathered_into_clusters_the_fullest_first_in_any_order(seed):
    rng = np.random.default_rng(seed)
    vectors = np.repeat([[0.0, 2.0], [3.0, 0.0]], [30, 60], axis=0)
    vectors = vectors * rng.choice([-1, 1], (90, 1)) + 0.05 * rng.standard_normal((90, 2))
    for order in (slice(None), slice(None, None, -1), rng.permutation(90)):
        clusters = _clusters(vectors[order])
        assert np.abs(clusters) == pytest.approx(np.array([[3.0, 0.0], [0.0, 2.0]]), abs=0.05)
