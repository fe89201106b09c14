import importlib
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from geodis import kernels
from geodis.base.check import InputError
from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.squares import XYSquares
from geodis.distances import ground_truth, perceived, sample_pairs
from geodis.kernels import FeatureOptions, KernelOptions
from geodis.kernels.learning_task import LearningTask
from geodis.kernels.pairs import Target
from tests.options import flat

learn_kernel = flat(kernels.learn_kernel, KernelOptions)
learn_features = flat(kernels.learn_features, FeatureOptions)

SMALL: dict[str, Any] = {"pairs": 1000, "held_out": 500, "verbose": 0}
FEATURES: dict[str, Any] = {
    "widths": (6, 6),
    "images": 32,
    "pairs": 400,
    "held_out": 400,
    "verbose": 0,
}


def squares(n_squares=3):
    return XYSquares(spacing=4, square_size=4, grid_size=5, image_size=20, n_squares=n_squares)


def constant_images():
    return FactorGrid.from_arrays(np.zeros((6, 8, 8, 1)), [[i] for i in range(6)])


def rank_correlation(kernel, grid, by="random", seed=99):
    a, b = sample_pairs(grid, 1500, by=by, random_state=seed).T
    truth = ground_truth(grid.factors(a), grid.factors(b), np.array(grid.sizes))
    distances = perceived(grid.images(a), grid.images(b), kernel)
    return stats.spearmanr(truth, distances).statistic


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("radius", "support", "least"), [(9, "full", 0.95), (19, "same", 0.99), (9, "same", 0.93)]
)
def test_a_learnt_kernel_orders_distances_it_has_not_seen(radius, support, least, seed):
    grid = squares()
    kernel = learn_kernel(grid, radius, support=support, steps=100, random_state=seed, **SMALL)
    plain = rank_correlation("mse", grid)
    learnt = rank_correlation(kernel, grid)
    assert plain < 0.5 and learnt > least
    assert learnt == pytest.approx(kernel.made["held_out"], abs=0.03)
    assert kernel.made["pixel_loss"] == pytest.approx(plain, abs=0.1)
    weights = kernel.weights[0, 0]
    assert float(weights.min()) >= 0
    for turned in (weights.flip(0), weights.flip(1), weights.T):
        torch.testing.assert_close(weights, turned)


@pytest.mark.parametrize("learn", ["kernel", "features"])
def test_what_is_learnt_is_as_large_as_the_pixel_loss(learn):
    grid = squares()
    if learn == "kernel":
        loss: Any = learn_kernel(grid, radius=9, random_state=0, **SMALL)
    else:
        loss = learn_features(grid, steps=20, random_state=0, **FEATURES)
    a, b = sample_pairs(grid, 3000, random_state=5).T
    x, y = grid.images(a), grid.images(b)
    means = perceived(x, y, loss).mean(), loss(x, y).mean()
    np.testing.assert_allclose(means, perceived(x, y, "mse").mean(), rtol=0.05)


def test_support_follows_the_radius():
    made = [
        learn_kernel(squares(), radius, steps=1, random_state=0, **SMALL).made
        for radius in (18, 19)
    ]
    assert [item["support"] for item in made] == ["full", "same"]


@pytest.mark.parametrize(
    "options",
    [
        {"kernels": 3, "per_channel": True, "symmetry": "none", "nonnegative": False},
        {"symmetry": "flip", "support": "same", "per_channel": True},
        {"self_pairs": True, "by": ["random", "factor"]},
        {"by": "differing"},
        {"by": lambda grid, n, rng: sample_pairs(grid, n, random_state=rng)},
    ],
)
def test_options_learn_too(options):
    grid = squares()
    kernel = learn_kernel(grid, 9, steps=100, random_state=0, **SMALL, **options)
    # How far options help is for analyses; each must beat pixels clearly on what it was shown.
    assert kernel.made["held_out"] > 0.85
    k, c = options.get("kernels", 1), 3 if options.get("per_channel") else 1
    assert kernel.weights.shape == (k, c, 19, 19)


def test_factors_that_do_not_count_are_overlooked():
    grid = squares(n_squares=1)
    options: dict[str, Any] = {"symmetry": "flip", "random_state": 0, **SMALL}
    every = learn_kernel(grid, 19, **options)
    along_x = learn_kernel(grid, 19, only="x_R", **options)  # one name, or several
    assert along_x.made["only"] == ["x_R"]
    a, b = sample_pairs(grid, 500, random_state=1).T
    x = np.abs(grid.factors(a) - grid.factors(b))[:, 0]
    correlations = [
        stats.spearmanr(x, perceived(grid.images(a), grid.images(b), kernel)).statistic
        for kernel in (every, along_x)
    ]
    assert correlations[1] > 0.9 > 0.8 > correlations[0]


def test_labels_and_circles_count_as_what_they_are():
    images = np.random.default_rng(0).random((12, 8, 8, 1))
    grid = FactorGrid((4, 3), ("turn", "shape"), kinds=("cyclic", "labels"))
    factors = grid.known_factors(range(12))
    options: dict[str, Any] = {"factors": factors, "steps": 1, "random_state": 0, **SMALL}
    kernel = learn_kernel(images, 3, **options)
    assert kernel.made["kinds"] == ["cyclic", "labels"]
    task = LearningTask.of(
        FactorGrid.from_arrays(images, factors),
        KernelOptions(),
        pairs=100,
        held_out=50,
        random_state=0,
        checkpoint=None,
    )
    # 0 and 3 of four turns are neighbours, and any two shapes are as far apart.
    assert task.distances(np.array([[0, 9], [0, 6], [0, 1], [0, 2]])).tolist() == [0.5, 1, 1, 1]
    published = learn_kernel(images, 3, kinds="numbers", **options)
    assert "kinds" not in published.made
    features = learn_features(images, **{**FEATURES, "factors": factors, "steps": 1})
    assert features.made["kinds"] == ["cyclic", "labels"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_adversarial_kernel_lowers_the_correlation(seed):
    grid = squares()
    kernel = learn_kernel(grid, 9, adversarial=True, nonnegative=False, random_state=seed, **SMALL)
    assert rank_correlation(kernel, grid) < rank_correlation("mse", grid) - 0.02


def test_a_penalty_shrinks_the_kernel():
    light, heavy = (
        learn_kernel(squares(), 5, l2=l2, steps=60, random_state=0, **SMALL) for l2 in (0.0, 10.0)
    )
    assert float(heavy.weights.square().mean()) < 0.9 * float(light.weights.square().mean())


def test_arrays_of_images_are_as_good_as_a_grid():
    grid = squares(n_squares=1)
    index = np.arange(len(grid))
    options: dict[str, Any] = {"steps": 30, "random_state": 0, **SMALL}
    kernel = learn_kernel(grid, 5, **options)
    same = learn_kernel(grid.images(index), 5, factors=grid.factors(index), **options)
    torch.testing.assert_close(kernel.weights, same.weights)


def test_images_whose_channels_never_recur_are_learnt_within_the_image(rng):
    noise = rng.uniform(size=(700, 8, 8, 1)).astype(np.float32)
    factors = np.stack([np.arange(700) // 20, np.arange(700) % 20], axis=1)
    kernel = learn_kernel(
        noise, 2, factors=factors, support="same", steps=5, random_state=0, **SMALL
    )
    assert kernel.made["pairs"] == 1000 and np.isfinite(kernel.made["held_out"])


@pytest.mark.parametrize("learn", ["kernel", "features"])
def test_the_same_seed_learns_the_same_and_a_checkpoint_goes_on(learn, tmp_path):
    grid = squares()
    path = tmp_path / "state.safetensors"

    def run(steps, **options):
        if learn == "kernel":
            return learn_kernel(grid, 7, steps=steps, tolerance=-1.0, **SMALL, **options)
        return learn_features(grid, steps=steps, tolerance=-1.0, **FEATURES, **options)

    whole, again = (run(100, random_state=5) for _ in range(2))
    run(50, random_state=5, checkpoint=path)
    resumed = run(100, checkpoint=path)  # the seed is that of the checkpoint
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
        torch.testing.assert_close(tensor, resumed.state_dict()[name], rtol=1e-4, atol=1e-5)
    assert resumed.made["history"][-1][0] == 100
    assert len(resumed.made["history"]) == len(whole.made["history"])
    with pytest.raises(InputError, match="was made with by='random'; got by='factor'"):
        run(100, checkpoint=path, by="factor")
    with pytest.raises(InputError, match="was made with seed="):
        run(100, checkpoint=path, random_state=6)


def test_an_interrupt_leaves_a_checkpoint_to_go_on_from(tmp_path, monkeypatch):
    learn_kernel_module = importlib.import_module("geodis.kernels.learn_kernel")

    path, grid = tmp_path / "state.safetensors", squares()
    run_round = learn_kernel_module._KernelLearner.run_round

    def interrupted(self, phase, number, steps):
        if number == 1:
            raise KeyboardInterrupt
        run_round(self, phase, number, steps)

    monkeypatch.setattr(learn_kernel_module._KernelLearner, "run_round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn_kernel(grid, 5, checkpoint=path, random_state=0, **SMALL)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["state.safetensors"]
    assert learn_kernel(grid, 5, checkpoint=path, steps=51, **SMALL).made["steps"] == 51


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_learnt_features_beat_pixels(seed):
    grid = squares()
    loss = learn_features(grid, steps=100, random_state=seed, **FEATURES)
    assert loss.made["held_out"] > loss.made["pixel_loss"] + 0.1
    assert rank_correlation(loss, grid) > rank_correlation("mse", grid) + 0.1
    assert not any(parameter.requires_grad for parameter in loss.parameters())


@pytest.mark.parametrize("widths", [16, "16,32"])
def test_widths_that_are_none_get_one_sentence(widths):
    with pytest.raises(InputError, match=r"widths must be whole numbers such as \(16, 32, 32\)"):
        learn_features(squares(), widths)


def test_learning_stops_early_where_nothing_is_gained():
    kernel = learn_kernel(squares(), 3, steps=5000, random_state=0, **SMALL)
    assert kernel.made["steps"] < 1500


@pytest.mark.parametrize("learn", [learn_kernel, learn_features])
@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        (FactorGrid((3, 3)), {}, "got factors without images"),
        (np.zeros((4, 8, 8, 1)), {}, "needs factors, one row an image"),
        (np.zeros((1, 8, 8, 1)), {"factors": [[0]]}, "at least 2 images; got 1"),
        (np.full((4, 8, 8, 1), np.nan), {"factors": np.eye(4)[:, :2]}, "nan|NaN"),
        (squares(), {"factors": [[0]]}, "a grid knows its own"),
        (squares(), {"only": ["z"]}, "factor must be one of x_R"),
        (squares(), {"only": []}, "a factor with two values or more; got none"),
        (constant_images(), {}, "Every pair has equal images"),
        (squares(), {"alpha": 0.0}, "alpha must be positive for what is learnt"),
        (XYSquares(grid_size=1), {}, "at least 2 images|two values"),
        (squares(), {"by": "nearest"}, "by must be one of"),
        (squares(), {"by": lambda grid, n, rng: np.zeros(3, int)}, "pairs of shape"),
        (
            squares(),
            {"by": lambda grid, n, rng: np.tile([0, 1], (50, 1))},
            "all 50 pairs have the ground-truth distance",
        ),
        (squares(), {"steps": 0}, "steps must be at least 1"),
    ],
)
def test_bad_input_gets_one_sentence(learn, grid, options, message):
    with pytest.raises(InputError, match=message):
        learn(
            grid,
            random_state=0,
            verbose=0,
            **({"radius": 3} if learn is learn_kernel else {}),
            **options,
        )


def test_what_only_kernels_can_get_wrong():
    with pytest.raises(InputError, match="radius 20 needs images of more than 20 pixels"):
        learn_kernel(squares(), 20)
    with pytest.raises(InputError, match="symmetry must be one of"):
        learn_kernel(squares(), 3, symmetry="c4")
    with pytest.raises(InputError, match="support must be one of"):
        learn_kernel(squares(), 3, support="valid")


def test_what_cannot_be_learnt_is_said():
    dots = np.linspace(0, 1, 20).reshape(20, 1, 1, 1)
    for learn in (learn_kernel, learn_features):
        with pytest.raises(InputError, match="images of more than one; got images of 1 x 1"):
            learn(dots, factors=np.arange(20), verbose=False)
    grid = XYSquares(spacing=4, square_size=4, image_size=16, grid_size=4, n_squares=2)
    for held_out in (2, 9):
        with pytest.raises(InputError, match=f"held_out must be at least 10; got {held_out}"):
            learn_kernel(grid, 3, pairs=50, held_out=held_out, verbose=False)


def test_a_correlation_without_order_is_zero():
    target = Target(np.arange(4.0))
    assert target.exact(torch.full((4,), 0.3)) == 0
    assert np.isnan(target.exact(torch.tensor([0.0, 1, np.nan, 2])))
    rounded = torch.tensor([0.1, 0.1 + 1e-8, 0.2, 0.3])
    assert target.exact(rounded) == target.exact(torch.tensor([1.0, 1, 2, 3]))
