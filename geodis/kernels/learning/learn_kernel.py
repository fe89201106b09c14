"""learn_kernel: the convolution under which a loss sees the right distances.

    min over h of -Spearman(ground truth, L(x, y) + alpha L(h * x, h * y))           (6.1, 6.2)

A linear kernel makes every distance a quadratic form in h, held ready for all pairs (`pairs`), so
that a step is exact over the whole pool and L-BFGS can be used: first on Pearson's correlation
(the limit of soft ranks at large strength), then on Spearman's with soft ranks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import (
    check_choice,
    check_int,
    check_random_state,
    check_real,
)
from geodis.data.grids.grid import FactorGrid
from geodis.kernels.learning.pairs import (
    MAX_PLANES,
    SYMMETRIES,
    CorrelationPairs,
    LinearPairs,
    PlanePairs,
    different_planes,
)
from geodis.kernels.learning.rounds import State, learn, seed_of
from geodis.kernels.learning.targets import (
    Strategy,
    Target,
    as_grid,
    check_weight,
    draw_pairs,
    factor_columns,
    pairs_among_few,
    require_differences,
    strategy_name,
    target_distances,
)
from geodis.kernels.losses.loss_kernel import LossKernel, check_radius
from geodis.kernels.torch_extra import torch

ROUND_STEPS = 50
# The augmented term starts this many times as large as the pixel term, so that it is what is
# learnt; the optimisation is free to change that, and the pixel term keeps reconstructions sharp.
AUGMENTED_SHARE = 10.0
NOISE = 0.3  # of the flat kernel that learning starts from
# L-BFGS stops at absolute changes of the objective; in thousandths they stay above rounding.
OBJECTIVE_SCALE = 1000.0


def learn_kernel(
    grid: Any,
    radius: int = 31,
    *,
    factors: Any = None,
    only: int | str | Sequence[int | str] | None = None,
    steps: int = 500,
    pairs: int = 8192,
    held_out: int = 4096,
    by: Strategy = "random",
    self_pairs: bool = False,
    kernels: int = 1,
    per_channel: bool = False,
    support: str = "auto",
    alpha: float = 1.0,
    symmetry: str = "d4",
    nonnegative: bool = True,
    l2: float = 0.0,
    adversarial: bool = False,
    patience: int = 2,
    tolerance: float = 1e-4,
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
    only : int, str or sequence of them, optional
        Factors that count in ground-truth distances; the others still vary, and the kernel learns
        to overlook them.
    steps : int
        Most iterations of L-BFGS; learning ends earlier when held-out pairs gain nothing.
    pairs, held_out : int
        Pairs to learn from and to measure on; fewer where memory asks for it.
    by : "random", "factor", "differing", several of them, or callable
        Strategy of `geodis.distances.sample_pairs`, or a function (grid, n, rng) -> (n, 2).
    self_pairs : bool
        Let pairs be of an image with itself, as published.
    kernels : int
        Size of the bank: maps under several kernels are compared together.
    per_channel : bool
        A kernel for each channel instead of one for all.
    support : {"auto", "full", "same"}
        Of the convolution, see `LossKernel`. "auto" is "full", and "same" once the kernel spans
        the image, when every pixel of the result can tell where in the image it is.
    alpha : float
        Weight of the augmented term.
    symmetry : {"d4", "flip", "none"}
        Average the kernel over the eight symmetries of the square, over both flips, or not.
    nonnegative : bool
        Take the absolute value of what is learnt.
    l2 : float
        Weight of the kernel's mean square in the objective.
    adversarial : bool
        Learn distances that contradict the ground truth: the correlation is minimised.
    patience, tolerance : int, float
        A phase ends after so many rounds of 50 steps that gained less than this.
    checkpoint : path, optional
        Written after every round (.safetensors); if it is there, learning goes on from it.
    random_state : int, Generator or None
    verbose : bool or int
        Show progress on a terminal.

    Returns
    -------
    LossKernel
        ``made`` has the settings, the correlation on held-out pairs, the history and seconds. Its
        ``scale`` makes it as large as the mean squared error on average, so that a model can be
        trained with the weights it has for that.

    Examples
    --------
    >>> from geodis.data.grids.squares import XYSquares
    >>> grid = XYSquares(spacing=4, square_size=4, image_size=16, grid_size=4, n_squares=2)
    >>> kernel = learn_kernel(grid, radius=9, pairs=500, held_out=200, random_state=0)
    >>> bool(kernel.made["held_out"] > kernel.made["pixel_loss"])
    True
    """
    grid = as_grid(grid, factors)
    check_int(radius, "radius", low=0)
    check_radius(radius, grid.image_shape[:2])
    columns = factor_columns(grid, only)
    check_choice(support, "support", ("auto", "full", "same"))
    if support == "auto":
        support = "same" if radius >= max(grid.image_shape[:2]) - 1 else "full"
    seed = int(check_random_state(random_state).integers(2**31))
    settings = {
        "data": repr(grid),
        "only": [grid.names[j] for j in columns],
        "radius": radius,
        "pairs": check_int(pairs, "pairs", low=2),
        "held_out": check_int(held_out, "held_out", low=2),
        "by": strategy_name(by),
        "self_pairs": self_pairs,
        "kernels": check_int(kernels, "kernels", low=1),
        "per_channel": per_channel,
        "support": support,
        "alpha": check_weight(alpha),
        "symmetry": check_choice(symmetry, "symmetry", SYMMETRIES),
        "nonnegative": nonnegative,
        "l2": check_real(l2, "l2", low=0),
        "adversarial": adversarial,
        "seed": seed_of(random_state, seed, checkpoint),
    }
    learner, made = learn(
        lambda: _KernelLearner(grid, columns, by, settings),
        settings,
        title="learn kernel",
        steps=steps,
        round_steps=ROUND_STEPS,
        patience=patience,
        tolerance=tolerance,
        checkpoint=checkpoint,
        verbose=verbose,
    )
    scale = learner.pixels_over_learnt()
    kernel = LossKernel(learner.kernel().detach(), alpha=alpha, scale=scale, support=support)
    kernel.made = {
        **made,
        "pairs": len(learner.train.pixel),
        "held_out_pairs": len(learner.test.pixel),
        "pixel_loss": learner.test_target.exact(learner.test.pixel),
    }
    return kernel


class _KernelLearner:
    """Weights p, of which the kernel is h = scale * average over symmetries of |p|."""

    phases: Sequence[str] = ("pearson", "spearman")

    def __init__(
        self, grid: FactorGrid, columns: list[int], by: Strategy, settings: dict[str, Any]
    ) -> None:
        assert grid.image_shape is not None
        self._settings = settings
        rng = np.random.default_rng(settings["seed"])
        self.train, self.target = self._pairs(grid, columns, by, settings["pairs"], rng)
        self.test, self.test_target = self._pairs(grid, columns, by, settings["held_out"], rng)
        require_differences(self.train.pixel)
        size = 2 * settings["radius"] + 1
        channels = grid.image_shape[2] if settings["per_channel"] else 1
        noise = rng.standard_normal((settings["kernels"], channels, size, size))
        self.weights = torch.from_numpy((1 + NOISE * noise).astype(np.float32))
        self._scale = 1.0
        with torch.no_grad():
            energy = float(self.train.energies(self.kernel()).mean()) * settings["alpha"]
        self._scale = float(np.sqrt(AUGMENTED_SHARE * float(self.train.pixel.mean()) / energy))

    def kernel(self) -> torch.Tensor:
        """h, of shape (k, c or 1, s, s)."""
        h = self.weights.abs() if self._settings["nonnegative"] else self.weights
        if self._settings["symmetry"] != "none":
            h = (h + h.flip(-1)) / 2
            h = (h + h.flip(-2)) / 2
        if self._settings["symmetry"] == "d4":
            h = (h + h.transpose(-1, -2)) / 2
        return self._scale * h

    def run_round(self, phase: str, number: int, steps: int) -> None:
        """Run a number of iterations of L-BFGS on the correlation that the phase is named for."""
        sign = 1.0 if self._settings["adversarial"] else -1.0
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
            learnt = self.train.pixel + self._settings["alpha"] * self.train.energies(h)
            loss = sign * self.target.correlation(learnt, phase)
            if self._settings["l2"]:
                loss = loss + self._settings["l2"] * h.square().mean()
            loss = OBJECTIVE_SCALE * loss
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        optimiser.step(objective)  # type: ignore[arg-type]
        self.weights = self.weights.detach()

    def correlation(self) -> float:
        """Spearman's correlation on held-out pairs."""
        with torch.no_grad():
            energies = self.test.energies(self.kernel())
        return self.test_target.exact(self.test.pixel + self._settings["alpha"] * energies)

    def pixels_over_learnt(self) -> float:
        """How many times the learnt loss the pixel loss is, on average over held-out pairs."""
        pixel = float(self.test.pixel.mean())
        with torch.no_grad():
            energy = float(self.test.energies(self.kernel()).mean())
        return pixel / (pixel + self._settings["alpha"] * energy)

    def state(self) -> State:
        """The weights."""
        return {"weights": self.weights.clone()}

    def restore(self, state: State) -> None:
        """Go back to weights."""
        self.weights = state["weights"].clone()

    def _pairs(
        self, grid: FactorGrid, columns: list[int], by: Strategy, n: int, rng: np.random.Generator
    ) -> tuple[LinearPairs, Target]:
        settings = self._settings
        per_channel, self_pairs = settings["per_channel"], settings["self_pairs"]
        if settings["support"] == "full":
            n = min(n, CorrelationPairs.affordable(grid, settings["symmetry"], per_channel))
            pairs = draw_pairs(grid, n, by, self_pairs, rng)
            target = Target(target_distances(grid, pairs, columns))
            return CorrelationPairs(grid, pairs, settings["symmetry"], per_channel), target
        pairs = draw_pairs(grid, n, by, self_pairs, rng)
        assert grid.image_shape is not None
        channels = grid.image_shape[2]
        # A few images show whether their channels recur. If so, there are few planes in all.
        some = np.unique(pairs[:MAX_PLANES])
        if len(different_planes(grid, some)[0]) > MAX_PLANES:
            images = max(MAX_PLANES // channels, 2)
            pairs = pairs_among_few(grid, n, images, by, self_pairs, rng)
        target = Target(target_distances(grid, pairs, columns))
        return PlanePairs(grid, pairs, settings["radius"], per_channel), target
