"""Training steps a second: bfloat16 with channels last against a plain float32 loop; objectives.

The plain loop is what one would write first: the same networks, MSE and divergence, Adam, float32,
contiguous images. Both are timed in turns in one process, so that a busy machine disturbs both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from benchmarks._measure import write_table
from geodis import XYSquares, models
from geodis.models.networks import encoder_decoder
from geodis.models.training.train_options import Precision

LATENTS = 10
OBJECTIVES = (
    "VAE",
    "AnnealedVAE",
    "BetaTCVAE",
    "DIPVAE",
    "InfoVAE",
    "FactorVAE",
    "AAE",
    "AdaGVAE",
    "AdaMLVAE",
    "TAE",
    "TVAE",
    "AdaTVAE",
    "ISAVAE",
    "ISATCVAE",
)


class PlainLoop:
    """A float32 loop over the published convolutional pair."""

    def __init__(self, grid: Any, batch_size: int) -> None:
        torch.manual_seed(0)
        self.grid, self.batch_size, self.step = grid, batch_size, 0
        self.body, self.head, self.decoder = encoder_decoder("conv", (3, 64, 64), LATENTS)
        parts = torch.nn.ModuleList([self.body, self.head, self.decoder])
        self.adam = torch.optim.Adam(parts.parameters(), 1e-3)

    def run(self, steps: int) -> float:
        """Loss of the last step."""
        for _ in range(steps):
            rng = np.random.default_rng([0, self.step])
            index = rng.integers(len(self.grid), size=self.batch_size)
            images = torch.from_numpy(self.grid.images(index)).permute(0, 3, 1, 2)
            x = images.float().div(255).contiguous()
            torch.manual_seed(self.step)
            mean, log_variance = self.head(self.body(x))
            decoded = self.decoder(mean + (0.5 * log_variance).exp() * torch.randn_like(mean))
            error = (x - decoded).square().sum() / len(x)
            kl = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum() / len(x)
            loss = error + kl
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            self.step += 1
        return float(loss.detach())


class Trained:
    """The same through `geodis.models.train`, a few steps at a time."""

    def __init__(self, grid: Any, batch_size: int, precision: Precision, name: str = "VAE") -> None:
        options: dict[str, Any] = {"latents": LATENTS}
        if name.startswith("ISA"):
            options = {"subspaces": [(2.2, 2)] * (LATENTS // 2)}
        self.model = getattr(models, name)(grid, network="conv", **options)
        self.grid, self.batch_size, self.precision = grid, batch_size, precision

    def run(self, steps: int) -> float:
        """Loss of the last step."""
        done = models.train(
            self.model,
            self.grid,
            steps,
            batch_size=self.batch_size,
            options=models.TrainOptions(precision=self.precision),
            verbose=0,
        )
        return sum(value for key, value in done.history[-1].items() if key != "step")


def in_turns(
    runs: Mapping[str, Callable[[int], float]], steps: int, repeats: int
) -> dict[str, float]:
    """Best seconds a step of each, timed in turns; CPU time of this process."""
    best = dict.fromkeys(runs, np.inf)
    for run in runs.values():
        run(1)  # threads, memory and kernels are there before the clock starts
    for _ in range(repeats):
        for name, run in runs.items():
            begun = time.process_time()
            run(steps)
            best[name] = min(best[name], (time.process_time() - begun) / steps)
    return best


def final_losses(grid: Any, batch_size: int, steps: int) -> dict[str, float]:
    """Mean loss of the last tenth of runs from the same start, in both precisions."""
    losses: dict[str, float] = {}
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    for precision in precisions:
        model = models.VAE(grid, LATENTS, network="conv")
        done = models.train(
            model,
            grid,
            steps,
            batch_size=batch_size,
            options=models.TrainOptions(precision=precision),
            verbose=0,
        )
        last = done.history[-max(len(done.history) // 10, 1) :]
        losses[precision] = float(np.mean([row["reconstruction"] + row["kl"] for row in last]))
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loss-steps", type=int, default=200)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    grid, size = XYSquares(spacing=1), chosen.batch_size
    best = in_turns(
        {
            "plain loop, float32": PlainLoop(grid, size).run,
            "geodis, float32": Trained(grid, size, "float32").run,
            "geodis, bfloat16": Trained(grid, size, "bfloat16").run,
        },
        chosen.steps,
        chosen.repeats,
    )
    plain = best["plain loop, float32"]
    rows = [
        {
            "part": "published conv VAE",
            "what": name,
            "CPU seconds a step": seconds,
            "steps a second against the plain loop": plain / seconds,
        }
        for name, seconds in best.items()
    ]
    losses = final_losses(grid, min(size, 64), chosen.loss_steps)
    rows += [
        {
            "part": f"loss after {chosen.loss_steps} steps",
            "what": precision,
            "loss": loss,
            "against float32": loss / losses["float32"],
        }
        for precision, loss in losses.items()
    ]
    small = min(size, 64)
    named = {name: Trained(grid, small, "auto", name).run for name in OBJECTIVES}
    best = in_turns(named, 2, chosen.repeats)
    for name, seconds in best.items():
        groups = getattr(models, name).groups
        rows.append(
            {
                "part": f"objectives, {small} rows, pairs or triplets",
                "what": name,
                "CPU seconds a step": seconds,
                "times a VAE": seconds / best["VAE"],
                "images a row": groups,
                "times a VAE an image": seconds / best["VAE"] / groups,
            }
        )
    title = f"Models: training, {chosen.threads} threads, batch {size}"
    print(write_table("models", title, rows))


if __name__ == "__main__":
    main()
