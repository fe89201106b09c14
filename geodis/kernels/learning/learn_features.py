"""learn_features: a small convolutional map under which a loss sees the right distances.

The objective of `learn_kernel` (6.1) by Adam: each step draws images, and correlates the distances
of pairs among them with the ground truth by soft ranks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.kernels.learning.drawing import as_grid, pairs_among_few
from geodis.kernels.learning.learn_kernel import AUGMENTED_SHARE
from geodis.kernels.learning.learning_task import LearningTask
from geodis.kernels.learning.loss_options import FeatureOptions, checked_options
from geodis.kernels.learning.rounds import State, learn
from geodis.kernels.learning.targets import Phase, Target, require_differences
from geodis.kernels.losses.feature_loss import FeatureLoss, check_widths
from geodis.kernels.torch_extra import torch
from geodis.kernels.torch_state import load_optimiser, optimiser_tensors


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
    """Learn a small convolutional network whose maps have the right distances.

    Parameters
    ----------
    grid, factors, checkpoint, random_state, verbose
        As for `learn_kernel`.
    widths : sequence of int
        Maps after each layer, see `FeatureLoss`.
    steps : int
        Most steps of Adam; learning ends earlier when held-out pairs gain nothing.
    pairs, held_out : int
        Most pairs among the images of a step, and pairs to measure on.
    options : FeatureOptions, optional
        All other choices: which factors and pairs count, images of a step, when to stop.

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
    """A FeatureLoss under Adam, and the pairs it is measured on."""

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
        """Take steps of Adam, on images that depend on the seed and the round alone."""
        rng = np.random.default_rng([self._task.seed, number])
        sign = 1.0 if self._options.adversarial else -1.0
        for _ in range(steps):
            images, place, target = self._draw(self._options.images, self._task.pairs, rng)
            loss = sign * target.correlation(self._distances(images, place), phase)
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()

    def correlation(self) -> float:
        """Spearman's correlation on held-out pairs."""
        images, place, target = self._test
        with torch.no_grad():
            return target.exact(self._distances(images, place))

    def pixel_test(self) -> torch.Tensor:
        """Mean squared differences of held-out pairs."""
        images, place, _ = self._test
        return _between(images, place)

    def pixels_over_learnt(self) -> float:
        """How many times the learnt loss the pixel loss is, on average over held-out pairs."""
        images, place, _ = self._test
        with torch.no_grad():
            return float(self.pixel_test().mean() / self._distances(images, place).mean())

    def to_loss(self, made: dict[str, Any]) -> FeatureLoss:
        """The loss learnt, as large as the pixel loss on average, and how it was made."""
        self.model.scale = self.pixels_over_learnt()
        self.model.made = {**made, "pixel_loss": self.test_target.exact(self.pixel_test())}
        return self.model.requires_grad_(False).eval()

    def state(self) -> State:
        """Parameters, and the moments of Adam."""
        state = {f"model.{name}": value.clone() for name, value in self.model.state_dict().items()}
        moments = optimiser_tensors(self._optimiser)
        return state | {f"adam.{name}": value for name, value in moments.items()}

    def restore(self, state: State) -> None:
        """Go back to a state."""
        parts: dict[str, State] = {"model": {}, "adam": {}}
        for name, value in state.items():
            kind, _, rest = name.partition(".")
            parts[kind][rest] = value
        self.model.load_state_dict(parts["model"])
        load_optimiser(self._optimiser, parts["adam"])

    def _draw(
        self, images: int, pairs: int, rng: np.random.Generator
    ) -> tuple[torch.Tensor, np.ndarray, Target]:
        """Images (m, c, h, w), pairs as places among them (n, 2), and their target."""
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
        """Scale the last layer so that features, and not pixels, are what is learnt."""
        images, place, _ = self._test
        with torch.no_grad():
            features = float(_between(self.model.augment(images), place).mean())
            ratio = AUGMENTED_SHARE * float(self.pixel_test().mean()) / max(features, 1e-30)
            last = list(self.model.layers.parameters())[-2:]
            for parameter in last:
                parameter.mul_(ratio**0.5)


def _between(images: torch.Tensor, place: np.ndarray) -> torch.Tensor:
    """Mean squared differences of pairs, by way of the Gram matrix of the centred images."""
    flat = images.flatten(1)
    flat = flat - flat.mean(0)  # the same differences, with fewer digits lost
    gram = flat @ flat.T
    own = gram.diagonal()
    a, b = torch.from_numpy(place[:, 0]), torch.from_numpy(place[:, 1])
    return (own[a] + own[b] - 2 * gram[a, b]).clamp(min=0) / flat.shape[1]
