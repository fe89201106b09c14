"""Learn reconstruction losses from ground-truth distances: `learn_kernel` and `learn_features`.

    min over h of -Spearman(ground truth, L(x, y) + alpha L(h * x, h * y))           (6.1, 6.2)

With a linear kernel every distance is a quadratic form in h, which is precomputed for all pairs
(`pairs`). Steps are exact over all pairs, so that L-BFGS can be used: first on Pearson's
correlation (the limit of soft ranks at large strength), then on Spearman's with soft ranks.
`learn_features` maximises the same objective by Adam: each step draws images and correlates the
distances of pairs among them with the ground truth.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geodis.base.check import check_int, checked_options
from geodis.kernels.learning_task import (
    FeatureOptions,
    KernelOptions,
    LearningTask,
    as_grid,
    draw_pairs,
    pairs_among_few,
)
from geodis.kernels.loss_kernel import FeatureLoss, LossKernel, check_radius, check_widths
from geodis.kernels.pairs import (
    MAX_PLANES,
    CorrelationPairs,
    LinearPairs,
    Phase,
    PlanePairs,
    Target,
    different_planes,
    require_differences,
)
from geodis.kernels.rounds import State, learn
from geodis.kernels.storage import load_optimiser, optimiser_tensors
from geodis.kernels.torch_extra import torch

# Initial ratio of the augmented term to the pixel term, so that learning depends on the former.
# Optimisation may change the ratio; the pixel term keeps reconstructions sharp.
AUGMENTED_SHARE = 10.0
NOISE = 0.3  # relative noise of the initial, uniform kernel
# L-BFGS stops at small absolute changes of the objective, which this factor keeps above rounding.
OBJECTIVE_SCALE = 1000.0


def learn_kernel(
    grid: Any,
    radius: int = 31,
    *,
    factors: Any = None,
    steps: int = 500,
    pairs: int = 8192,
    held_out: int = 4096,
    options: KernelOptions | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    random_state: Any = None,
    verbose: bool | int = True,
) -> LossKernel:
    """Learn the kernel of a reconstruction loss from ground-truth distances.

    Parameters
    ----------
    grid : FactorGrid, or array-like of images (n, h, w, c)
    radius : int
        The kernel has 2 radius + 1 pixels in each direction.
    factors : array-like of shape (n, f), optional
        Factors of an array of images.
    steps : int
        Largest number of iterations of L-BFGS; learning stops earlier if the correlation of
        held-out pairs does not improve.
    pairs, held_out : int
        Number of pairs to learn from and to evaluate on; fewer if memory requires it.
    options : KernelOptions, optional
        All other options: factors and pairs, the form of the kernel, when to stop.
    checkpoint : path, optional
        File (.safetensors) that is written after every round; if it exists, learning resumes.
    random_state : int, Generator or None
    verbose : bool or int
        Show progress on a terminal.

    Returns
    -------
    LossKernel
        ``made`` has the settings, the correlation on held-out pairs, the history and seconds.
        ``scale`` makes the loss as large as the mean squared error on average, so that a model can
        be trained with the same weights of its other terms.

    Examples
    --------
    >>> from geodis.data.grids.squares import XYSquares
    >>> grid = XYSquares(spacing=4, square_size=4, image_size=16, grid_size=4, n_squares=2)
    >>> kernel = learn_kernel(grid, radius=9, pairs=500, held_out=200, random_state=0)
    >>> bool(kernel.made["held_out"] > kernel.made["pixel_loss"])
    True
    >>> bank = KernelOptions(kernels=4, symmetry="flip")
    >>> learn_kernel(grid, 9, pairs=500, steps=5, options=bank, random_state=0).weights.shape
    torch.Size([4, 1, 19, 19])
    """
    options = checked_options(options, KernelOptions)
    grid = as_grid(grid, factors)
    sides = grid.image_shape[:2]
    check_radius(check_int(radius, "radius", low=0), sides)
    if options.support == "auto":
        options = replace(options, support="same" if radius >= max(sides) - 1 else "full")
    task = LearningTask.of(
        grid,
        options,
        pairs=pairs,
        held_out=held_out,
        random_state=random_state,
        checkpoint=checkpoint,
    )
    learner, made = learn(
        lambda: _KernelLearner(task, radius),
        {**task.to_note(), "radius": radius},
        options,
        title="learn kernel",
        steps=steps,
        checkpoint=checkpoint,
        verbose=verbose,
    )
    return learner.to_loss(made)


class _KernelLearner:
    """Learner of weights p, with the kernel h = scale * average of |p| over symmetries."""

    phases: Sequence[Phase] = ("pearson", "spearman")

    def __init__(self, task: LearningTask[KernelOptions], radius: int) -> None:
        self._task, self._options, self._radius = task, task.options, radius
        rng = np.random.default_rng(task.seed)
        self.train, self.target = self._pairs(task.pairs, rng)
        self.test, self.test_target = self._pairs(task.held_out, rng)
        require_differences(self.train.pixel)
        size = 2 * radius + 1
        channels = task.image_shape[2] if self._options.per_channel else 1
        noise = rng.standard_normal((self._options.kernels, channels, size, size))
        self.weights = torch.from_numpy((1 + NOISE * noise).astype(np.float32))
        self._scale = 1.0
        with torch.no_grad():
            energy = float(self.train.energies(self.kernel()).mean()) * self._options.alpha
        self._scale = float(np.sqrt(AUGMENTED_SHARE * float(self.train.pixel.mean()) / energy))

    def kernel(self) -> torch.Tensor:
        """Compute h, of shape (k, c or 1, s, s)."""
        h = self.weights.abs() if self._options.nonnegative else self.weights
        if self._options.symmetry != "none":
            h = (h + h.flip(-1)) / 2
            h = (h + h.flip(-2)) / 2
        if self._options.symmetry == "d4":
            h = (h + h.transpose(-1, -2)) / 2
        return self._scale * h

    def run_round(self, phase: Phase, number: int, steps: int) -> None:
        """Run L-BFGS on the correlation of the phase for a number of iterations."""
        sign = 1.0 if self._options.adversarial else -1.0
        self.weights.requires_grad_(True)
        optimiser = torch.optim.LBFGS(
            [self.weights],
            max_iter=steps,
            history_size=20,
            line_search_fn="strong_wolfe",
            tolerance_grad=1e-9,
            tolerance_change=1e-12,
        )

        def objective() -> torch.Tensor:
            optimiser.zero_grad()
            h = self.kernel()
            learnt = self.train.pixel + self._options.alpha * self.train.energies(h)
            loss = sign * self.target.correlation(learnt, phase)
            if self._options.l2:
                loss = loss + self._options.l2 * h.square().mean()
            loss = OBJECTIVE_SCALE * loss
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        optimiser.step(objective)  # type: ignore[arg-type]
        self.weights = self.weights.detach()

    def correlation(self) -> float:
        """Compute Spearman's correlation on held-out pairs."""
        with torch.no_grad():
            energies = self.test.energies(self.kernel())
        return self.test_target.exact(self.test.pixel + self._options.alpha * energies)

    def pixels_over_learnt(self) -> float:
        """Compute the ratio of the pixel loss to the learnt loss, averaged over held-out pairs."""
        pixel = float(self.test.pixel.mean())
        with torch.no_grad():
            energy = float(self.test.energies(self.kernel()).mean())
        return pixel / (pixel + self._options.alpha * energy)

    def to_loss(self, made: dict[str, Any]) -> LossKernel:
        """Return the learnt kernel, scaled to the size of the pixel loss, with `made`."""
        kernel = LossKernel(
            self.kernel().detach(),
            alpha=self._options.alpha,
            scale=self.pixels_over_learnt(),
            support="full" if self._options.support == "full" else "same",
        )
        kernel.made = {
            **made,
            "pairs": len(self.train.pixel),
            "held_out_pairs": len(self.test.pixel),
            "pixel_loss": self.test_target.exact(self.test.pixel),
        }
        return kernel

    def state(self) -> State:
        """Return the weights."""
        return {"weights": self.weights.clone()}

    def restore(self, state: State) -> None:
        """Restore the weights."""
        self.weights = state["weights"].clone()

    def _pairs(self, n: int, rng: np.random.Generator) -> tuple[LinearPairs, Target]:
        grid, options = self._task.grid, self._options
        by, self_pairs, per_channel = options.by, options.self_pairs, options.per_channel
        if options.support == "full":
            n = min(n, CorrelationPairs.affordable(grid, options.symmetry, per_channel))
            pairs = draw_pairs(grid, n, by, self_pairs, rng)
            target = Target(self._task.distances(pairs))
            return CorrelationPairs(grid, pairs, options.symmetry, per_channel), target
        pairs = draw_pairs(grid, n, by, self_pairs, rng)
        # If the channels of a few images recur, all images have few different planes.
        some = np.unique(pairs[:MAX_PLANES])
        if len(different_planes(grid, some)[0]) > MAX_PLANES:
            images = max(MAX_PLANES // self._task.image_shape[2], 2)
            pairs = pairs_among_few(grid, n, images, by, self_pairs, rng)
        target = Target(self._task.distances(pairs))
        return PlanePairs(grid, pairs, self._radius, per_channel), target


def learn_features(
    grid: Any,
    widths: Sequence[int] = (16, 32, 32),
    *,
    factors: Any = None,
    steps: int = 1000,
    pairs: int = 4096,
    held_out: int = 4096,
    options: FeatureOptions | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    random_state: Any = None,
    verbose: bool | int = True,
) -> FeatureLoss:
    """Learn a small convolutional network whose maps have the ground-truth distances.

    Parameters
    ----------
    grid, factors, checkpoint, random_state, verbose
        As for `learn_kernel`.
    widths : sequence of int
        Number of maps after each layer, see `FeatureLoss`.
    steps : int
        Largest number of steps of Adam; learning stops earlier if the correlation of held-out
        pairs does not improve.
    pairs, held_out : int
        Largest number of pairs among the images of a step, and number of pairs to evaluate on.
    options : FeatureOptions, optional
        All other options: factors and pairs, images per step, when to stop.

    Returns
    -------
    FeatureLoss
        ``made`` has the settings, the correlation on held-out pairs, the history and seconds.

    Examples
    --------
    >>> from geodis.data.grids.squares import XYSquares
    >>> grid = XYSquares(spacing=4, square_size=4, image_size=16, grid_size=4, n_squares=2)
    >>> few = FeatureOptions(images=16)
    >>> loss = learn_features(grid, (4, 4), steps=2, held_out=50, options=few, random_state=0)
    >>> loss.made["steps"]
    2
    """
    options = checked_options(options, FeatureOptions)
    task = LearningTask.of(
        as_grid(grid, factors),
        options,
        pairs=pairs,
        held_out=held_out,
        random_state=random_state,
        checkpoint=checkpoint,
    )
    widths = check_widths(widths)
    learner, made = learn(
        lambda: _FeatureLearner(task, widths),
        {**task.to_note(), "widths": list(widths)},
        options,
        title="learn features",
        steps=steps,
        checkpoint=checkpoint,
        verbose=verbose,
    )
    return learner.to_loss(made)


class _FeatureLearner:
    """Learner of a FeatureLoss by Adam, with its held-out pairs."""

    phases: Sequence[Phase] = ("spearman",)

    def __init__(self, task: LearningTask[FeatureOptions], widths: Sequence[int]) -> None:
        self._task, self._options = task, task.options
        rng = np.random.default_rng(task.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(task.seed)
            self.model = FeatureLoss(task.image_shape[2], widths, alpha=self._options.alpha)
        self._optimiser = torch.optim.Adam(self.model.parameters(), lr=self._options.learning_rate)
        self._test = self._draw(4 * self._options.images, task.held_out, rng)
        self.test_target = self._test[2]
        require_differences(self.pixel_test())
        self._start_large()

    def run_round(self, phase: Phase, number: int, steps: int) -> None:
        """Take steps of Adam on images that depend on the seed and the round only."""
        rng = np.random.default_rng([self._task.seed, number])
        sign = 1.0 if self._options.adversarial else -1.0
        for _ in range(steps):
            images, place, target = self._draw(self._options.images, self._task.pairs, rng)
            loss = sign * target.correlation(self._distances(images, place), phase)
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()

    def correlation(self) -> float:
        """Compute Spearman's correlation on held-out pairs."""
        images, place, target = self._test
        with torch.no_grad():
            return target.exact(self._distances(images, place))

    def pixel_test(self) -> torch.Tensor:
        """Compute the mean squared differences of held-out pairs."""
        images, place, _ = self._test
        return _between(images, place)

    def pixels_over_learnt(self) -> float:
        """Compute the ratio of the pixel loss to the learnt loss, averaged over held-out pairs."""
        images, place, _ = self._test
        with torch.no_grad():
            return float(self.pixel_test().mean() / self._distances(images, place).mean())

    def to_loss(self, made: dict[str, Any]) -> FeatureLoss:
        """Return the learnt loss, scaled to the size of the pixel loss, with `made`."""
        self.model.scale = self.pixels_over_learnt()
        self.model.made = {**made, "pixel_loss": self.test_target.exact(self.pixel_test())}
        return self.model.requires_grad_(False).eval()

    def state(self) -> State:
        """Return the parameters and the moments of Adam."""
        state = {f"model.{name}": value.clone() for name, value in self.model.state_dict().items()}
        moments = optimiser_tensors(self._optimiser)
        return state | {f"adam.{name}": value for name, value in moments.items()}

    def restore(self, state: State) -> None:
        """Restore a state."""
        parts: dict[str, State] = {"model": {}, "adam": {}}
        for name, value in state.items():
            kind, _, rest = name.partition(".")
            parts[kind][rest] = value
        self.model.load_state_dict(parts["model"])
        load_optimiser(self._optimiser, parts["adam"])

    def _draw(
        self, images: int, pairs: int, rng: np.random.Generator
    ) -> tuple[torch.Tensor, np.ndarray, Target]:
        """Draw images (m, c, h, w), pairs (n, 2) as indices of these, and their target."""
        grid, options = self._task.grid, self._options
        drawn = pairs_among_few(grid, pairs, images, options.by, options.self_pairs, rng)
        index, place = np.unique(drawn, return_inverse=True)
        shown = grid.images(index, "float32").transpose(0, 3, 1, 2)
        target = Target(self._task.distances(drawn))
        return torch.from_numpy(np.ascontiguousarray(shown)), place.reshape(drawn.shape), target

    def _distances(self, images: torch.Tensor, place: np.ndarray) -> torch.Tensor:
        maps = self.model.augment(images)
        return _between(images, place) + self._options.alpha * _between(maps, place)

    def _start_large(self) -> None:
        """Scale the last layer, so that features matter more than pixels initially."""
        images, place, _ = self._test
        with torch.no_grad():
            features = float(_between(self.model.augment(images), place).mean())
            ratio = AUGMENTED_SHARE * float(self.pixel_test().mean()) / max(features, 1e-30)
            last = list(self.model.layers.parameters())[-2:]
            for parameter in last:
                parameter.mul_(ratio**0.5)


def _between(images: torch.Tensor, place: np.ndarray) -> torch.Tensor:
    """Compute mean squared differences of pairs from the Gram matrix of the centred images."""
    flat = images.flatten(1)
    flat = flat - flat.mean(0)  # for numerical precision; differences do not change
    gram = flat @ flat.T
    own = gram.diagonal()
    a, b = torch.from_numpy(place[:, 0]), torch.from_numpy(place[:, 1])
    return (own[a] + own[b] - 2 * gram[a, b]).clamp(min=0) / flat.shape[1]
