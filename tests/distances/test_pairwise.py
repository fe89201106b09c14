"""Distances of pairs equal their definitions, and exact orders are exact."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from geodis import distances
from geodis.base.check import InputError
from tests.reference import distances as slow

LOSSES = ("mse", "mae", "bce")
BLACK = np.zeros((1, 2, 2))


def images(rng, n=12, shape=(5, 4, 3), dtype=np.uint8):
    if dtype == np.uint8:
        return rng.integers(0, 256, (n, *shape), dtype=np.uint8)
    return rng.random((n, *shape)).astype(dtype)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_scaled_distances_are_ordered_as_fractions_are(seed, sizes):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(sizes, size=(30, len(sizes))) for _ in range(2))
    exact = [slow.scaled_ground_truth(x, y, sizes) for x, y in zip(a, b, strict=True)]
    measured = distances.ground_truth(a, b, sizes)
    assert measured.tolist() == [float(value) for value in exact]
    order = scipy.stats.rankdata(measured)
    ranks: dict[Fraction, set[float]] = {}
    for value, rank in zip(exact, order, strict=True):
        ranks.setdefault(value, set()).add(rank)
    assert all(len(equal) == 1 for equal in ranks.values())
    assert [min(ranks[value]) for value in sorted(ranks)] == sorted(set(order))


def test_sums_of_floats_would_be_wrong_about_once_in_a_hundred(rng):
    a, b, c = (rng.integers(8, size=(20_000, 6)) for _ in range(3))
    exact = [distances.ground_truth(a, other, [8] * 6) for other in (b, c)]
    floats = []
    for other in (b, c):
        total = np.zeros(len(a))
        for j in range(6):
            total += np.abs(a[:, j] / 7 - other[:, j] / 7)
        floats.append(total)
    wrong = np.mean(np.sign(exact[0] - exact[1]) != np.sign(floats[0] - floats[1]))
    assert 0.005 < wrong < 0.1


def test_sizes_whose_multiple_is_huge_are_still_exact():
    primes = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181]
    sizes = [p + 1 for p in primes]
    a = np.zeros((1, len(sizes)), int)
    b = np.array([primes])
    assert distances.ground_truth(a, b, sizes).tolist() == [len(primes)]


def test_a_factor_with_one_value_adds_nothing():
    assert distances.ground_truth([[0, 0]], [[0, 2]], [1, 5]).tolist() == [0.5]


def test_unscaled_distances_equal_their_definition(rng):
    a, b = rng.integers(9, size=(2, 20, 4))
    expected = [slow.ground_truth(x, y) for x, y in zip(a, b, strict=True)]
    assert distances.ground_truth(a, b).tolist() == expected


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_perceived_distances_equal_their_definition(rng, loss, dtype):
    x, y = images(rng, dtype=dtype), images(rng, dtype=dtype)
    x[0] = y[0]
    y[1] = 0
    expected = [getattr(slow, loss)(a, b) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(distances.perceived(x, y, loss), expected, rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_equal_distances_of_bytes_are_equal_floats(rng, loss):
    pair = rng.integers(0, 256, (2, 243), dtype=np.uint8)
    order = rng.permuted(np.tile(np.arange(243), (40, 1)), axis=1)  # the same pixels elsewhere
    x, y = (side[order].reshape(40, 9, 9, 3) for side in pair)
    assert len(set(distances.perceived(x, y, loss).tolist())) == 1


def test_one_side_of_bytes_and_one_of_floats_agree(rng):
    x, y = images(rng), images(rng)
    mixed = distances.perceived(x, y / np.float32(255))
    np.testing.assert_allclose(mixed, distances.perceived(x, y), rtol=1e-6)


def test_images_longer_than_a_chunk_of_the_sums_do_not_overflow():
    x = np.zeros((1, 200, 200, 3), np.uint8)
    assert distances.perceived(x, x + np.uint8(255), "mse").tolist() == [1.0]
    assert distances.perceived(x, x + np.uint8(255), "mae").tolist() == [1.0]


def test_a_callable_gets_floats_in_batches_and_its_dtype_is_kept(rng):
    seen = []

    def loss(x, y):
        seen.append((x.shape, x.dtype, float(x.max())))
        return np.abs(x - y).max(axis=(1, 2, 3))

    x, y = images(rng, 600), images(rng, 600)
    measured = distances.perceived(x, y, loss)
    expected = np.abs(x.astype(float) - y).max(axis=(1, 2, 3)) / 255
    np.testing.assert_allclose(measured, expected, rtol=1e-6)
    assert measured.dtype == np.float32
    assert len(seen) > 1 and all(dtype == np.float32 and high <= 1 for _, dtype, high in seen)


def test_tensors_and_grey_images_without_channel_are_taken(rng):
    torch = pytest.importorskip("torch")
    x, y = images(rng, shape=(6, 6)), images(rng, shape=(6, 6))
    measured = distances.perceived(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_array_equal(measured, distances.perceived(x[..., None], y[..., None]))


@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_perceived_distance_is_symmetric_and_zero_on_itself(rng, loss):
    x, y = images(rng), images(rng)
    np.testing.assert_array_equal(distances.perceived(x, y, loss), distances.perceived(y, x, loss))
    assert (distances.perceived(x, x, loss) == 0).all()


def test_cross_entropy_equals_torch(rng):
    torch = pytest.importorskip("torch")
    x, y = images(rng, dtype=np.float64), images(rng, dtype=np.float64)
    y[0, 0] = 0
    expected = [
        torch.nn.functional.binary_cross_entropy(*map(torch.from_numpy, (b, a))).item()
        for a, b in zip(x, y, strict=True)
    ]
    np.testing.assert_allclose(distances.perceived(x, y, "bce"), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_latent_distances_are_norms(rng, kind):
    a, b = rng.standard_normal((2, 15, 4))
    expected = np.linalg.norm(a - b, 1 if kind == "l1" else 2, axis=1)
    np.testing.assert_allclose(distances.latent(a, b, kind), expected, rtol=1e-12)


def test_divergences_equal_their_definition(rng):
    mean_a, log_a, mean_b, log_b = rng.standard_normal((4, 15, 3))
    forth = [slow.kl(*row) for row in zip(mean_a, log_a, mean_b, log_b, strict=True)]
    back = [slow.kl(*row) for row in zip(mean_b, log_b, mean_a, log_a, strict=True)]
    sides = (mean_a, log_a), (mean_b, log_b)
    np.testing.assert_allclose(distances.latent(*sides, "kl"), forth, rtol=1e-12)
    both = distances.latent(*sides, "symmetric_kl")
    np.testing.assert_allclose(both, (np.array(forth) + back) / 2, rtol=1e-12)
    a, b = (np.hstack(side) for side in sides)
    np.testing.assert_array_equal(distances.latent(a, b, "symmetric_kl"), both)


def test_divergence_equals_torch(rng):
    torch = pytest.importorskip("torch")
    mean_a, log_a, mean_b, log_b = map(torch.from_numpy, rng.standard_normal((4, 10, 3)))
    normal = torch.distributions.Normal
    sides = [normal(m, (v / 2).exp()) for m, v in ((mean_a, log_a), (mean_b, log_b))]
    expected = torch.distributions.kl_divergence(*sides).sum(1).numpy()
    measured = distances.latent((mean_a, log_a), (mean_b, log_b), "kl")
    np.testing.assert_allclose(measured, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distances.ground_truth([[0]], [[0, 1]]), "pairs of one shape"),
        (lambda: distances.ground_truth([0], [1]), r"shape \(n, columns\)"),
        (lambda: distances.ground_truth([[0, 9]], [[0, 1]], [2, 3]), "1 must .* 0 to 2; got 9"),
        (lambda: distances.ground_truth([[0, 1]], [[0, 1]], [2]), "2 whole numbers"),
        (lambda: distances.perceived(np.zeros((2, 3)), np.zeros((2, 3))), "shape"),
        (lambda: distances.perceived(np.zeros((2, 3, 3)), np.zeros((1, 3, 3))), "same shape"),
        (lambda: distances.perceived(np.ones((1, 2, 2)) * 9, np.ones((1, 2, 2))), r"in \[0, 1\]"),
        (lambda: distances.perceived(BLACK, BLACK, "ssim"), "got 'ssim'"),
        (lambda: distances.perceived(BLACK, BLACK, 3), "got 3"),
        (lambda: distances.perceived(BLACK, BLACK, lambda x, y: 0.0), "one distance a pair"),
        (
            lambda: distances.perceived(BLACK, BLACK, lambda x, y: x.mean((1, 2, 3)) / np.nan),
            "Distances of <lambda> must be finite",
        ),
        (
            lambda: distances.latent([[0.0, -1e3]], [[0.0, 0.0]], "symmetric_kl"),
            "got posteriors with log variances from -1000 to 0",
        ),
        (lambda: distances.latent([[0.0]], [[0.0]], "cosine"), "kind must be one of"),
        (lambda: distances.latent([[0.0]], [[0.0]], "kl"), "even number of columns"),
        (lambda: distances.latent([[np.nan]], [[0.0]]), "finite"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_distances_leave_the_number_of_torch_threads_alone():
    # In a process of its own: numba starts its threads, which reset those of OpenMP, only once.
    code = (
        "import numpy as np, torch; torch.set_num_threads(3); from geodis import distances;"
        "distances.perceived(np.zeros((9, 64, 64, 3), 'uint8'), np.ones((9, 64, 64, 3), 'uint8'));"
        "print(torch.get_num_threads())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3"]


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_latent_distances_of_any_size(kind):
    a, b = np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]])
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        assert distances.latent(scale * a, scale * b, kind) == pytest.approx(
            scale * distances.latent(a, b, kind), rel=1e-14
        )
    with pytest.raises(InputError, match="Distances must be finite numbers"):
        distances.latent([[1.5e308]], [[-1.5e308]], kind)


def test_latent_distances_have_the_precision_of_the_latents():
    z = np.random.default_rng(0).standard_normal((2, 5, 4))
    for dtype, wanted in ((float, float), (np.float32, np.float32), (np.float16, np.float32)):
        assert distances.latent(*z.astype(dtype)).dtype == wanted
        assert distances.latent(*z.astype(dtype), "kl").dtype == wanted
    assert distances.latent([[1]], [[2]]).dtype == float
    assert distances.latent(np.float32([[3e38]]), np.float32([[-3e38]])).tolist() == [
        2 * float(np.float32(3e38))
    ]
