"""learn_features: a small convolutional map under which a loss sees the right distances.

The objective of `learn_kernel` (6.1) by Adam: each step draws images, and correlates the distances
of pairs among them with the ground truth by soft ranks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import check_int, check_random_state, check_real
from geodis.data.grids.grid import FactorGrid
from geodis.kernels.learning.learn_kernel import AUGMENTED_SHARE
from geodis.kernels.learning.rounds import State, learn, seed_of
from geodis.kernels.learning.targets import (
    Strategy,
    Target,
    as_grid,
    check_weight,
    factor_columns,
    pairs_among_few,
    require_differences,
    strategy_name,
    target_distances,
)
from geodis.kernels.losses.feature_loss import FeatureLoss, check_widths
from geodis.kernels.torch_extra import torch

ROUND_STEPS = 50


def learn_features(
    grid: Any,
    widths: Sequence[int] = (16, 32, 32),
    *,
    factors: Any = None,
    only: int | str | Sequence[int | str] | None = None,
    steps: int = 1000,
    images: int = 128,
    pairs: int = 4096,
    held_out: int = 4096,
    by: Strategy = "random",
    self_pairs: bool = False,
    alpha: float = 1.0,
    learning_rate: float = 2e-3,
    adversarial: bool = False,
    patience: int = 5,
    tolerance: float = 1e-4,
    checkpoint: str | os.PathLike[str] | None = None,
    random_state: Any = None,
    verbose: bool | int = True,
) -> FeatureLoss:
    """Learn a small convolutional network whose maps have the right distances.

    Parameters
    ----------
    grid, factors, only, by, self_pairs, alpha, adversarial, checkpoint, random_state, verbose
        As for `learn_kernel`.
    widths : sequence of int
        Maps after each layer, see `FeatureLoss`.
    steps : int
        Most steps of Adam; learning ends earlier when held-out pairs gain nothing.
    images, pairs : int
        Images drawn for each step, and most pairs among them.
    held_out : int
        Pairs to measure on, among four times as many images.
    learning_rate : float
    patience, tolerance : int, float
        Learning ends after so many rounds of 50 steps that gained less than this.

    Returns
    -------
    FeatureLoss
        ``made`` has the settings, the correlation on held-out pairs, the history and seconds.

    Examples
    --------
    >>> from geodis.data.grids.squares import XYSquares
    >>> grid = XYSquares(spacing=4, square_size=4, image_size=16, grid_size=4, n_squares=2)
    >>> loss = learn_features(grid, (4, 4), steps=2, images=16, held_out=50, random_state=0)
    >>> loss.made["steps"]
    2
    """
    grid = as_grid(grid, factors)
    columns = factor_columns(grid, only)
    seed = int(check_random_state(random_state).integers(2**31))
    settings = {
        "data": repr(grid),
        "only": [grid.names[j] for j in columns],
        "widths": list(check_widths(widths)),
        "images": check_int(images, "images", low=2),
        "pairs": check_int(pairs, "pairs", low=2),
        "held_out": check_int(held_out, "held_out", low=2),
        "by": strategy_name(by),
        "self_pairs": self_pairs,
        "alpha": check_weight(alpha),
        "learning_rate": check_real(learning_rate, "learning_rate", low=0),
        "adversarial": adversarial,
        "seed": seed_of(random_state, seed, checkpoint),
    }
    learner, made = learn(
        lambda: _FeatureLearner(grid, columns, by, settings),
        settings,
        title="learn features",
        steps=steps,
        round_steps=ROUND_STEPS,
        patience=patience,
        tolerance=tolerance,
        checkpoint=checkpoint,
        verbose=verbose,
    )
    learner.model.scale = learner.pixels_over_learnt()
    learner.model.made = {**made, "pixel_loss": learner.test_target.exact(learner.pixel_test())}
    return learner.model.requires_grad_(False).eval()


class _FeatureLearner:
    """A FeatureLoss under Adam, and the pairs it is measured on."""

    phases: Sequence[str] = ("spearman",)

    def __init__(
        self, grid: FactorGrid, columns: list[int], by: Strategy, settings: dict[str, Any]
    ) -> None:
        assert grid.image_shape is not None
        self._grid, self._columns, self._by, self._settings = grid, columns, by, settings
        rng = np.random.default_rng(settings["seed"])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings["seed"])
            self.model = FeatureLoss(
                grid.image_shape[2], settings["widths"], alpha=settings["alpha"]
            )
        self._optimiser = torch.optim.Adam(self.model.parameters(), lr=settings["learning_rate"])
        self._test = self._draw(4 * settings["images"], settings["held_out"], rng)
        self.test_target = self._test[2]
        require_differences(self.pixel_test())
        self._start_large()

    def run_round(self, phase: str, number: int, steps: int) -> None:
        """Take steps of Adam, on images that depend on the seed and the round alone."""
        rng = np.random.default_rng([self._settings["seed"], number])
        sign = 1.0 if self._settings["adversarial"] else -1.0
        for _ in range(steps):
            images, place, target = self._draw(
                self._settings["images"], self._settings["pairs"], rng
            )
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

    def state(self) -> State:
        """Parameters, and the moments of Adam."""
        state = {f"model.{name}": value.clone() for name, value in self.model.state_dict().items()}
        for i, moments in self._optimiser.state_dict()["state"].items():
            state |= {f"adam.{i}.{name}": value.clone() for name, value in moments.items()}
        return state

    def restore(self, state: State) -> None:
        """Go back to a state."""
        model: State = {}
        moments: dict[int, State] = {}
        for name, value in state.items():
            kind, _, rest = name.partition(".")
            if kind == "model":
                model[rest] = value.clone()
            else:
                number, _, which = rest.partition(".")
                moments.setdefault(int(number), {})[which] = value.clone()
        self.model.load_state_dict(model)
        whole = self._optimiser.state_dict()
        self._optimiser.load_state_dict({**whole, "state": moments})

    def _draw(
        self, images: int, pairs: int, rng: np.random.Generator
    ) -> tuple[torch.Tensor, np.ndarray, Target]:
        """Images (m, c, h, w), pairs as places among them (n, 2), and their target."""
        settings = self._settings
        drawn = pairs_among_few(self._grid, pairs, images, self._by, settings["self_pairs"], rng)
        index, place = np.unique(drawn, return_inverse=True)
        shown = self._grid.images(index, "float32").transpose(0, 3, 1, 2)
        target = Target(target_distances(self._grid, drawn, self._columns))
        return torch.from_numpy(np.ascontiguousarray(shown)), place.reshape(drawn.shape), target

    def _distances(self, images: torch.Tensor, place: np.ndarray) -> torch.Tensor:
        maps = self.model.augment(images)
        return _between(images, place) + self._settings["alpha"] * _between(maps, place)

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
