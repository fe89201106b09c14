"""R^2 between groups of latents and factors of any shape."""

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.scores import block_r2
from geodis.scores.predictive.cross_validation import PENALTIES, ridge_predict


def circle(seed=0, n=1500):
    rng = np.random.default_rng(seed)
    angle, size = rng.uniform(0, 360, n), rng.standard_normal(n)
    factors = gd.as_factors({"angle": angle, "size": size}, periods={"angle": 360.0})
    turn = np.deg2rad(angle)
    return np.column_stack([np.cos(turn), np.sin(turn), size]), factors


@pytest.mark.parametrize("method", ["linear", "kernel"])
def test_a_perfect_circle_scores_one_where_single_latents_cannot(method):
    code, factors = circle()
    options = {"method": method, "random_state": 0}
    grouped = block_r2(code, factors, groups=[[0, 1], [2]], **options)
    assert float(grouped) > 0.995 and grouped.details["back"] > 0.995
    for part in ("modularity", "completeness", "explicitness"):
        assert grouped.details[part] > 0.99
    assert grouped.details["matched"].tolist() == [0, 1]
    alone = block_r2(code, factors, **options)
    assert alone.per_factor[0] == pytest.approx(0.5, abs=0.04)
    assert alone.details["completeness"] < 0.7
    table = gd.score_latents(code, factors, ["mig", "dci"], bins=20, verbose=False)
    assert table["mig"] < 0.6 and table["dci_completeness"] < 0.8


def test_a_sphere_of_three_columns_and_a_label():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((1200, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    shape = rng.integers(3, size=1200)
    factors = gd.as_factors(
        {
            **dict(zip("xyz", points.T, strict=True)),
            "shape": np.array(["box", "dot", "line"])[shape],
        },
        groups={"direction": ["x", "y", "z"]},
    )
    turned = points @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    code = np.column_stack([np.eye(3)[shape], turned])
    score = block_r2(code, factors, groups=[[0, 1, 2], [3, 4, 5]], random_state=0)
    assert score.factor_names == ("direction", "shape")
    assert score.matrix.round(2).tolist() == [[0, 1], [1, 0]]
    assert score.details["matched"].tolist() == [1, 0]
    assert score.details["modularity"] == pytest.approx(1)


def test_both_directions_are_told_apart():
    rng = np.random.default_rng(2)
    factors = rng.standard_normal((2000, 2))
    noise = rng.standard_normal((2000, 2))
    more = np.column_stack([factors[:, :1], noise[:, :1], factors[:, 1:], noise[:, 1:]])
    score = block_r2(more, factors, groups=[[0, 1], [2, 3]], random_state=0)
    assert float(score) > 0.99  # everything about the factor is there
    assert score.details["back"] == pytest.approx(0.5, abs=0.05)  # and as much again


def test_linear_misses_a_bend_that_kernels_see():
    rng = np.random.default_rng(3)
    factors = rng.uniform(-1, 1, size=(2000, 2))
    angle = np.pi * np.column_stack([factors[:, 0], factors[:, 1]])
    code = np.column_stack([np.cos(angle[:, 0]), np.sin(angle[:, 0]), factors[:, 1]])
    linear = block_r2(code, factors, groups=[[0, 1], [2]], random_state=0)
    kernel = block_r2(code, factors, groups=[[0, 1], [2]], method="kernel", random_state=0)
    assert linear.per_factor[0] < 0.7 < 0.9 < kernel.per_factor[0]


def test_noise_scores_zero_and_its_ratios_too():
    seen: dict[int, list[float]] = {80: [], 300: [], 1000: []}
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n = (80, 300, 1000)[seed % 3]
        noise, factors = rng.standard_normal((n, 6)), rng.integers(4, size=(n, 3))
        for method in ("linear", "kernel"):
            score = block_r2(noise, factors, method=method, random_state=seed)
            seen[n].append(score.details["modularity"] + score.details["completeness"])
            assert float(score) < 0.4 * (80 / n) ** 0.5
    assert not any(seen[80] + seen[300] + seen[1000])


def test_latents_shifted_scaled_and_of_any_size():
    code, factors = circle()
    plain = block_r2(code, factors, groups=[[0, 1], [2]], random_state=0)
    moved = block_r2(5 + 1e150 * code, factors, groups=[[0, 1], [2]], random_state=0)
    assert moved.matrix == pytest.approx(plain.matrix, abs=1e-6)


def test_groups_found_by_geomancer():
    sample = gd.product_manifold("S^2 x S^2", n=800, random_state=0)
    est = gd.GeoManCER(verbose=0).fit(sample.points)
    factors = gd.as_factors(sample.points, groups={"first": [0, 1, 2], "second": [3, 4, 5]})
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    turned = gd.GeoManCER(verbose=0).fit(sample.points @ turn)
    for points, fit in ((sample.points, est), (sample.points @ turn, turned)):
        score = block_r2(points, factors, groups=fit, random_state=0)
        assert float(score) > 0.97 and score.details["modularity"] > 0.97
        assert sorted(score.details["matched"].tolist()) == [0, 1]


def test_ridge_is_least_squares_without_noise_and_shrinks_with_it():
    rng = np.random.default_rng(0)
    x, weights = rng.standard_normal((200, 4)), rng.standard_normal((4, 2))
    fresh = rng.standard_normal((50, 4))
    predicted, freedom = ridge_predict(x, x @ weights + 2, fresh)
    assert np.allclose(predicted, fresh @ weights + 2, atol=1e-5) and freedom > 3.99
    # A literal twin: every penalty by the normal equations, the score of the hat matrix.
    y = x @ weights + 3 * rng.standard_normal((200, 2))
    centred, level = x - x.mean(axis=0), y.mean(axis=0)
    tried = []
    for penalty in PENALTIES:
        hat = centred @ np.linalg.solve(centred.T @ centred + 200 * penalty * np.eye(4), centred.T)
        left = ((y - level - hat @ (y - level)) ** 2).sum()
        tried.append(left / (1 - (np.trace(hat) + 1) / 200) ** 2)
    penalty = PENALTIES[int(np.argmin(tried))]
    twin = np.linalg.solve(centred.T @ centred + 200 * penalty * np.eye(4), centred.T @ (y - level))
    expected = (fresh - x.mean(axis=0)) @ twin + level
    assert np.allclose(ridge_predict(x, y, fresh)[0], expected)


def test_too_few_rows():
    with pytest.raises(InputError, match="needs at least 4 rows with values; got 3"):
        block_r2(np.arange(3.0)[:, None], [0, 1, 2])
