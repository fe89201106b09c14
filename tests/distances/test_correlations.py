"""Correlations equal scipy's and the reference, rounding makes no order, intervals cover."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from geodis.base.check import InputError
from geodis.distances import correlation, geometric_mean, ground_truth, latent, triplet_agreement
from tests import GOLDEN
from tests.reference import distances as slow

EXPECTED = GOLDEN / "disent"
lists = st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 3)), min_size=3, max_size=30)


@given(lists)
def test_correlations_equal_scipy_and_the_literal_twin(pairs):
    a, b = (np.array(side, float) for side in zip(*pairs, strict=True))
    measured = correlation(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert (measured.pearson, measured.spearman) == (0, 0) and "no order" in measured.note
        return
    assert measured.pearson == pytest.approx(slow.pearson(a.tolist(), b.tolist()), abs=1e-12)
    ranks = slow.mean_ranks(a.tolist()), slow.mean_ranks(b.tolist())
    assert measured.spearman == pytest.approx(slow.pearson(*ranks), abs=1e-12)
    assert measured.spearman == pytest.approx(scipy.stats.spearmanr(a, b).statistic, abs=1e-12)
    assert measured.n == len(a) and not measured.note


@pytest.mark.parametrize(("dtype", "noise"), [(np.float64, 1e-15), (np.float32, 2e-7)])
def test_rounding_makes_no_order(rng, dtype, noise):
    truth = rng.integers(1, 5, 2000).astype(float)
    seen = (truth**2 * (1 + noise * rng.uniform(-1, 1, 2000))).astype(dtype)
    assert correlation(truth, seen).spearman == pytest.approx(1, abs=1e-12)
    assert correlation(np.ones(2000), seen / truth**2).spearman == 0


@pytest.mark.parametrize("seed", range(5))
def test_equal_distances_beside_an_edge_of_the_raster_are_ties(seed):
    """2^k (1 + 2^-21) is half way between two numbers of 20 bits."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 5, 500).astype(float)
    middle = truth * (1 + 2.0**-21)
    seen = (middle * (1 + 1e-7 * rng.uniform(-1, 1, 500))).astype(np.float32)
    assert correlation(truth, seen).spearman == pytest.approx(1, abs=1e-12)
    side = rng.permutation(500)
    assert triplet_agreement(truth, truth[side], seen, seen[side]) == 1


def test_rounding_that_is_told_makes_ties():
    a, b = [1, 1, 2, 2], [1.0, 1.1, 2.0, 2.1]
    assert correlation(a, b).spearman < 0.99
    assert correlation(a, b, rounding=(0, 0.2)).spearman == pytest.approx(1)
    assert triplet_agreement([1], [1], [2.0], [2.1]) == 0
    assert triplet_agreement([1], [1], [2.0], [2.1], rounding=(0, 0.2)) == 1
    # Where everything is near its neighbour, the order of what is further apart is left.
    line = np.arange(100.0)
    assert 0.99 < correlation(line, line, rounding=(0, 3.0)).spearman < 1
    for wrong in (1.0, (1.0,), (0.0, -1.0)):
        with pytest.raises(InputError, match="rounding must be"):
            correlation(a, b, rounding=wrong)


def test_distances_that_differ_more_than_by_rounding_are_ordered():
    a = np.arange(5.0)
    assert correlation(a, 1 + 1e-10 * a).spearman == pytest.approx(1)
    assert correlation(a, (1 + 1e-4 * a).astype(np.float32)).spearman == pytest.approx(1)
    assert correlation(a, 1e-300 * a).spearman == pytest.approx(1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_intervals_of_normal_data_agree_with_fisher(seed):
    rng = np.random.default_rng(seed)
    a, noise = rng.standard_normal((2, 800))
    b = 0.6 * a + 0.8 * noise
    measured = correlation(a, b, confidence=0.95, random_state=seed)
    assert measured.pearson_interval and measured.spearman_interval
    z, half = np.arctanh(measured.pearson), 1.96 / np.sqrt(800 - 3)
    np.testing.assert_allclose(
        np.array([*measured.pearson_interval]), np.tanh([z - half, z + half]), atol=0.02
    )
    low, high = measured.spearman_interval
    assert low < measured.spearman < high and high - low < 0.12
    assert measured == correlation(a, b, confidence=0.95, random_state=seed)


def test_the_bootstrap_of_ranks_equals_ranking_every_resample(rng):
    a, b = rng.integers(6, size=(2, 40)).astype(float)
    measured = correlation(a, b, confidence=0.9, n_resamples=60, random_state=3)
    draws = np.random.default_rng(3)
    expected = []
    for _ in range(60):
        rows = draws.integers(40, size=40)
        expected.append(scipy.stats.spearmanr(a[rows], b[rows]).statistic)
    assert measured.spearman_interval
    np.testing.assert_allclose(measured.spearman_interval, np.percentile(expected, [5, 95]))


def test_pairs_that_share_points_widen_the_interval(rng):
    level = rng.standard_normal(30).repeat(50)  # thirty traversals, one number each
    a = level + 0.01 * rng.standard_normal(1500)
    b = rng.standard_normal(30).repeat(50) + level
    group = np.arange(30).repeat(50)
    alone = correlation(a, b, confidence=0.95, random_state=0).pearson_interval
    whole = correlation(a, b, confidence=0.95, groups=group, random_state=0).pearson_interval
    assert alone and whole
    assert whole[1] - whole[0] > 3 * (alone[1] - alone[0])


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=5))
def test_geometric_mean(values):
    assert geometric_mean(values) == pytest.approx(scipy.stats.gmean(values))
    assert geometric_mean([*values, 0.0]) == geometric_mean([*values, -0.5]) == 0


# The peer's whole metric with its draws recorded: distances are replayed pair by pair.


@pytest.fixture(params=range(1, 7))
def recorded(request):
    data = np.load(EXPECTED / f"factored_full_s{request.param}.npz")
    return {key: data[key] for key in data.files}


def replay(data, positions, triplets, step):
    """Distances (anchor, positive) and (anchor, negative) of every repeat, by source."""
    sizes = data["factor_sizes"]
    parts: dict[str, list[np.ndarray]] = {"ground": [], "data": [], "l1": [], "l2": []}
    for rows, (a, p, n) in zip(positions, triplets, strict=True):
        index = np.ravel_multi_index(tuple(rows.T.astype(int)), sizes)
        for other in (p, n):
            if step:
                parts["ground"].append(np.abs(a - other))
            else:
                parts["ground"].append(ground_truth(rows[a], rows[other]))
            x, y = (data["data"][index[k]].astype(float) for k in (a, other))
            parts["data"].append(((x - y) ** 2).mean(axis=1))
            # In double precision, as the peer has them: it takes rounding for an order.
            z, w = (data["codebook"][index[k]].astype(float) for k in (a, other))
            parts["l1"].append(latent(z, w, "l1"))
            parts["l2"].append(latent(z, w, "l2"))
    return parts


def scores_of(parts):
    by_name = {}
    for source, other, name in (
        ("ground", "data", "ground_data"),
        ("ground", "l1", "ground_latent.l1"),
        ("ground", "l2", "ground_latent.l2"),
        ("l1", "data", "latent_data.l1"),
        ("l2", "data", "latent_data.l2"),
    ):
        a, b = parts[source], parts[other]
        both = correlation(np.concatenate(a), np.concatenate(b))
        near_far = [np.concatenate(side[k::2]) for side in (a, b) for k in (0, 1)]
        by_name[f"rcorr_{name}"], by_name[f"lcorr_{name}"] = both.spearman, both.pearson
        by_name[f"rsame_{name}"] = triplet_agreement(*near_far)
    return by_name


def test_correlations_along_factors_equal_the_reference(recorded):
    used = [j for j, size in enumerate(recorded["factor_sizes"]) if size > 1]
    each = [
        scores_of(replay(recorded, recorded[f"trav_f{j}"], recorded[f"triplets_f{j}"], True))
        for j in used
    ]
    for name in each[0]:
        peer = float(recorded[f"score/distances.{name}.factor"])
        values = [by_name[name] for by_name in each]
        if np.isnan(peer):  # its root of a negative product; here 0 by rule
            assert min(values) < 0 and geometric_mean(values) == 0
        else:
            assert geometric_mean(values) == pytest.approx(peer, abs=2e-6)


def test_global_correlations_equal_the_reference(recorded):
    by_name = scores_of(
        replay(recorded, recorded["global_factors"], recorded["global_triplets"], False)
    )
    for name, value in by_name.items():
        peer = float(recorded[f"score/distances.{name}.global"])
        assert value == pytest.approx(peer, abs=2e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: correlation([1, 2], [1, 2, 3]), "got 2 and 3"),
        (lambda: correlation([1], [1]), "at least 2 distances"),
        (lambda: correlation([[1, 2]], [[1, 2]]), r"got shape \(1, 2\)"),
        (lambda: correlation([1, np.nan], [1, 2]), "finite"),
        (lambda: correlation([1, 2], [1, 2], confidence=2), "between 0 and 1"),
        (lambda: correlation([1, 2], [1, 2], confidence=0.9, groups=[1]), "one number a pair"),
        (lambda: correlation([1, 2], [1, 2], confidence=0.9, groups=[1, 1]), "2 groups; got 1"),
        (lambda: triplet_agreement([1], [2, 3], [1], [2]), "a triplet; got 1 and 2"),
        (lambda: triplet_agreement([1], [2], [1, 1], [2, 2]), "as many triplets"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
