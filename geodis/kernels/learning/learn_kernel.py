"""learn_kernel: the convolution under which a loss sees the right distances.

    min over h of -Spearman(ground truth, L(x, y) + alpha L(h * x, h * y))           (6.1, 6.2)

A linear kernel makes every distance a quadratic form in h, held ready for all pairs (`pairs`), so
that a step is exact over the whole pool and L-BFGS can be used: first on Pearson's correlation
(the limit of soft ranks at large strength), then on Spearman's with soft ranks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geodis.base.check import check_int
from geodis.kernels.learning.drawing import as_grid, draw_pairs, pairs_among_few
from geodis.kernels.learning.learning_task import LearningTask
from geodis.kernels.learning.loss_options import KernelOptions, checked_options
from geodis.kernels.learning.pair_distances import (
    MAX_PLANES,
    CorrelationPairs,
    LinearPairs,
    PlanePairs,
    different_planes,
)
from geodis.kernels.learning.rounds import State, learn
from geodis.kernels.learning.targets import Phase, Target, require_differences
from geodis.kernels.losses.loss_kernel import LossKernel, check_radius
from geodis.kernels.torch_extra import torch

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
        Most iterations of L-BFGS; learning ends earlier when held-out pairs gain nothing.
    pairs, held_out : int
        Pairs to learn from and to measure on; fewer where memory asks for it.
    options : KernelOptions, optional
        All other choices: which factors and pairs count, the form of the kernel, when to stop.
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
    """Weights p, of which the kernel is h = scale * average over symmetries of |p|."""

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
        """h, of shape (k, c or 1, s, s)."""
        h = self.weights.abs() if self._options.nonnegative else self.weights
        if self._options.symmetry != "none":
            h = (h + h.flip(-1)) / 2
            h = (h + h.flip(-2)) / 2
        if self._options.symmetry == "d4":
            h = (h + h.transpose(-1, -2)) / 2
        return self._scale * h

    def run_round(self, phase: Phase, number: int, steps: int) -> None:
        """Run a number of iterations of L-BFGS on the correlation that the phase is named for."""
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
        """Spearman's correlation on held-out pairs."""
        with torch.no_grad():
            energies = self.test.energies(self.kernel())
        return self.test_target.exact(self.test.pixel + self._options.alpha * energies)

    def pixels_over_learnt(self) -> float:
        """How many times the learnt loss the pixel loss is, on average over held-out pairs."""
        pixel = float(self.test.pixel.mean())
        with torch.no_grad():
            energy = float(self.test.energies(self.kernel()).mean())
        return pixel / (pixel + self._options.alpha * energy)

    def to_loss(self, made: dict[str, Any]) -> LossKernel:
        """The kernel learnt, as large as the pixel loss on average, and how it was made."""
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
        """The weights."""
        return {"weights": self.weights.clone()}

    def restore(self, state: State) -> None:
        """Go back to weights."""
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
        # A few images show whether their channels recur. If so, there are few planes in all.
        some = np.unique(pairs[:MAX_PLANES])
        if len(different_planes(grid, some)[0]) > MAX_PLANES:
            images = max(MAX_PLANES // self._task.image_shape[2], 2)
            pairs = pairs_among_few(grid, n, images, by, self_pairs, rng)
        target = Target(self._task.distances(pairs))
        return PlanePairs(grid, pairs, self._radius, per_channel), target
