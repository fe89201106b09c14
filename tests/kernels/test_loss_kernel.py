from typing import Any

import numpy as np
import pytest
import torch

from geodis.base.check import InputError
from geodis.data.grids.squares import XYSquares
from geodis.distances import perceived
from geodis.kernels import FeatureLoss, LossKernel
from tests import GOLDEN, ROOT
from tests.reference import kernels as literal

EXPECTED = np.load(GOLDEN / "kernels/kernel_pairs_s.npz")
LEARNT = ROOT / "../shared/oracles/kernels/learnt_kernels.npz"
PIXEL_LOSSES = {
    "mse": lambda a, b: (a - b) ** 2,
    "mae": lambda a, b: abs(a - b),
    "bce": lambda a, b: -(a * max(np.log(b), -100) + (1 - a) * max(np.log1p(-b), -100)),
}
BY_HAND: dict[str, Any] = {
    "box_r31": LossKernel.box(31),
    "gau_r31": LossKernel.gaussian(31),
    "gau_r63": LossKernel.gaussian(63, alpha=3969.0),
}


def golden_images():
    grid = XYSquares()
    return [
        grid.images(grid.index(EXPECTED[name]), "float32")
        for name in ("positions_a", "positions_b")
    ]


def images(rng, n=3, shape=(6, 7, 2)):
    return rng.uniform(0.05, 0.95, (2, n, *shape)).astype(np.float32)


def channels_first(array):
    return torch.from_numpy(np.ascontiguousarray(array.transpose(0, 3, 1, 2)))


@pytest.mark.parametrize("name", list(BY_HAND))
def test_kernels_by_hand_give_the_reference_distances(name):
    kernel = BY_HAND[name]
    assert kernel.alpha == 3969.0
    np.testing.assert_allclose(kernel.weights[0, 0], EXPECTED[f"{name}/kernel"], rtol=2e-4)
    x, y = golden_images()
    expected = EXPECTED[f"{name}/norm_sum_alpha3969"]
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(perceived(x, y, kernel), expected, rtol=1e-5, atol=1e-5)
    weighted = LossKernel(EXPECTED[f"{name}/kernel"], alpha=100.0, normalise="sum")
    np.testing.assert_allclose(
        weighted(x[:20], y[:20]), EXPECTED[f"{name}/norm_sum_alpha100"][:20], rtol=1e-5, atol=1e-6
    )


@pytest.mark.skipif(not LEARNT.exists(), reason="the published learnt kernels are not here")
@pytest.mark.parametrize(
    "name", ["learnt_abs_r31_xy8", "learnt_abs_r63_xy8", "learnt_none_r31_xy8"]
)
def test_published_kernels_give_the_reference_distances(name):
    kernel = LossKernel(np.load(LEARNT)[name])
    x, y = golden_images()
    np.testing.assert_allclose(
        kernel(x, y), EXPECTED[f"{name}/norm_none_alpha1"], rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("loss", list(PIXEL_LOSSES))
@pytest.mark.parametrize("support", ["same", "full"])
@pytest.mark.parametrize("shape", [(5, 5), (2, 5, 5), (3, 1, 9, 9), (2, 2, 3, 3)])
def test_the_loss_is_the_literal_one(shape, support, loss, rng):
    x, y = images(rng)
    weights = rng.uniform(size=shape)
    kernel = LossKernel(weights, alpha=0.7, loss=loss, support=support, normalise="sum")
    bank = kernel.weights.numpy().astype(float)
    expected = [
        literal.augmented_loss(a, b, bank, 0.7, support == "full", PIXEL_LOSSES[loss])
        for a, b in zip(x.astype(float), y.astype(float), strict=True)
    ]
    np.testing.assert_allclose(kernel(x, y), expected, rtol=2e-5)
    direct = LossKernel(
        weights, alpha=0.7, loss=loss, support=support, normalise="sum", method="direct"
    )
    np.testing.assert_allclose(direct(x, y), expected, rtol=2e-5)
    if loss == "mse":  # what `geodis.distances` adds up image by image
        np.testing.assert_allclose(perceived(x, y, kernel), expected, rtol=2e-5)
    else:
        assert not hasattr(kernel, "parts")


def test_tensors_arrays_and_bytes_agree_and_reductions_reduce(rng):
    x, y = (images(rng) * 255).astype(np.uint8)
    kernel = LossKernel.box(2)
    losses = kernel(x, y)
    assert losses.shape == (3,) and losses.dtype == np.float32
    tensors = kernel(channels_first(x), channels_first(y))
    np.testing.assert_allclose(losses, tensors, rtol=1e-5)
    np.testing.assert_allclose(losses, kernel(x / np.float32(255), y / np.float32(255)), rtol=1e-5)
    np.testing.assert_allclose(losses, perceived(x, y, kernel), rtol=1e-5)
    torch.testing.assert_close(
        kernel(channels_first(x), channels_first(y), reduction="mean"), tensors.mean()
    )
    assert kernel(x, y, reduction="sum") == pytest.approx(losses.sum())
    assert kernel(x[:0], y[:0]).shape == (0,)


def test_a_scale_is_a_factor_of_the_whole(rng):
    weights = rng.uniform(size=(3, 3))
    x, y = rng.uniform(size=(2, 3, 6, 5, 2)).astype(np.float32)
    for loss in ("mse", "mae"):
        once, thrice = (LossKernel(weights, loss=loss, scale=scale) for scale in (1.0, 3.0))
        np.testing.assert_allclose(thrice(x, y), 3 * once(x, y), rtol=1e-6)
        np.testing.assert_allclose(perceived(x, y, thrice), 3 * once(x, y), rtol=1e-5)
    with pytest.raises(InputError, match="scale"):
        LossKernel(weights, scale=-1.0)


@pytest.mark.parametrize("support", ["same", "full"])
@pytest.mark.parametrize("loss", ["mse", "mae", "bce"])
def test_a_reconstruction_learns_through_it(loss, support):
    torch.manual_seed(0)
    kernel = LossKernel.gaussian(3, loss=loss, support=support)
    x = torch.rand(2, 1, 7, 7, dtype=torch.float64)
    logits = torch.randn(2, 1, 7, 7, dtype=torch.float64, requires_grad=True)
    function = lambda z: kernel(x, z.sigmoid(), reduction="mean")  # noqa: E731
    if loss != "mae":
        assert torch.autograd.gradcheck(function, (logits,), atol=1e-4)
    optimiser = torch.optim.Adam([logits], lr=0.2)
    start = function(logits).item()
    for _ in range(60):
        optimiser.zero_grad()
        function(logits).backward()
        optimiser.step()
    floor = float(kernel(x, x, reduction="mean"))
    assert function(logits).item() - floor < 0.25 * (start - floor)
    assert not list(kernel.parameters())  # frozen, and carried by the state


def test_a_function_serves_as_pixel_loss(rng):
    x, y = images(rng)
    huber = torch.nn.HuberLoss(reduction="none", delta=10.0)  # half the square, so near
    np.testing.assert_allclose(
        LossKernel.box(1, loss=huber)(x, y), LossKernel.box(1)(x, y) / 2, rtol=1e-5
    )


def test_the_state_carries_the_kernel():
    kernel, other = LossKernel.box(2), LossKernel.gaussian(2)
    other.load_state_dict(kernel.state_dict())
    assert torch.equal(kernel.weights, other.weights)
    assert "5 x 5" in repr(kernel) and kernel.name == "kernel r2, same"


def test_features_are_a_loss_like_any_other(rng):
    torch.manual_seed(0)
    loss = FeatureLoss(2, (4, 3), alpha=2.0)
    x, y = images(rng, shape=(9, 8, 2))
    maps = [loss.augment(channels_first(side)) for side in (x, y)]
    assert maps[0].shape == (3, 3, 3, 2)
    expected = np.square(x - y).mean(axis=(1, 2, 3)) + 2.0 * (
        (maps[0] - maps[1]).square().flatten(1).mean(1).detach().numpy()
    )
    np.testing.assert_allclose(loss(x, y), expected, rtol=1e-5)
    np.testing.assert_allclose(perceived(x, y, loss), expected, rtol=1e-4)
    assert loss.name == "features 4-3"
    with pytest.raises(InputError, match="features are of images with 2 channels; got 3"):
        loss(torch.zeros(1, 3, 8, 8), torch.ones(1, 3, 8, 8))
    with pytest.raises(InputError, match="widths must have one number a layer"):
        FeatureLoss(2, ())
    with pytest.raises(InputError, match="augments in"):
        FeatureLoss(2, loss="bce")


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        (np.ones((3, 4)), {}, r"got shape \(3, 4\)"),
        (np.ones((4, 4)), {}, "odd size, with a middle; got 4"),
        (np.ones(3), {}, r"got shape \(3,\)"),
        ([[np.nan]], {}, "weights must be finite"),
        ([[1.0]], {"alpha": -1.0}, "alpha must be at least 0"),
        ([[1.0]], {"loss": "ssim"}, "loss must be one of 'mse', 'mae', 'bce'"),
        ([[1.0]], {"support": "valid"}, "support must be one of"),
        ([[1.0]], {"normalise": "max"}, "normalise must be one of"),
        (np.diag([1.0, 0.0, -1.0]), {"normalise": "sum"}, "do not sum to zero"),
        (np.zeros((3, 3)), {"normalise": "sum"}, "do not sum to zero"),
        ([[2.0]], {"loss": "bce"}, "whose sum is at most 1"),
    ],
)
def test_a_kernel_that_makes_no_sense_gets_one_sentence(weights, options, message):
    with pytest.raises(InputError, match=message):
        LossKernel(weights, **options)


def test_images_that_do_not_fit_get_one_sentence(rng):
    kernel = LossKernel(np.ones((3, 3, 3)))
    with pytest.raises(InputError, match="kernels are for images with 3 channels; got 1"):
        kernel(*np.zeros((2, 4, 8, 8, 1), np.float32))
    with pytest.raises(InputError, match="radius 9 needs images of more than 9 pixels"):
        LossKernel.box(9)(*np.zeros((2, 4, 8, 8, 1), np.float32))
    with pytest.raises(InputError, match=r"one shape \(n, h, w, c\)"):
        kernel(np.zeros((8, 8, 3)), np.zeros((8, 8, 3)))
    with pytest.raises(InputError, match=r"one shape \(n, c, h, w\)"):
        kernel(torch.zeros(2, 3, 8, 8), torch.zeros(1, 3, 8, 8))
    with pytest.raises(InputError, match="reduction must be one of"):
        kernel(torch.zeros(2, 3, 8, 8), torch.zeros(2, 3, 8, 8), reduction="median")
    with pytest.raises(InputError, match="sigma must be positive"):
        LossKernel.gaussian(3, sigma=0.0)
    wide: Any = "wide"
    with pytest.raises(InputError, match="sigma must be a"):
        LossKernel.gaussian(3, sigma=wide)


@pytest.mark.parametrize("value", [np.nan, 255.0, -0.1])
def test_images_that_are_none_get_one_sentence(value, rng):
    x, y = images(rng)
    x[1, 2, 3, 0] = value
    for pair in ((x, y), (y, x)):
        with pytest.raises(InputError, match=r"floats must be in \[0, 1\]"):
            LossKernel.box(1)(*pair)
    with pytest.raises(InputError, match=r"must be bytes, or floats in .*got torch.int64"):
        LossKernel.box(1)((y * 9).astype(int), y)
    masks = y > 0.5
    np.testing.assert_array_equal(
        LossKernel.box(1)(masks, ~masks), LossKernel.box(1)(masks * 1.0, 1.0 - masks)
    )


@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_pixel_loss_without_a_number_for_each_pair_gets_one_sentence(shape, rng):
    kernel = LossKernel.box(1, loss=lambda x, y: torch.zeros(shape))
    with pytest.raises(InputError, match=r"one number a pair; got shape \("):
        kernel(*images(rng))
