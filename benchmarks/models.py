"""Training steps a second: bfloat16 with channels last against a plain float32 loop; objectives.

The plain loop is what one would write first: the same networks, MSE and divergence, Adam, float32,
contiguous images. Both are timed in turns in one process, so that a busy machine disturbs both.
Small models are timed alone and in stacks, on one thread.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from analyses.unsupervised_study.narrow_models import NarrowBetaVAE
from benchmarks._measure import measure, most_memory, write_table
from geodis import FactorGrid, Sprites, XYSquares, models
from geodis.models.networks import NetworkName
from geodis.models.training.train_options import Precision

LATENTS = 10
OBJECTIVES = (
    "VAE",
    "AnnealedVAE",
    "BetaTCVAE",
    "InformationDropout",
    "ConcreteVAE",
    "DIPVAE",
    "InfoVAE",
    "FactorVAE",
    "AAE",
    "AdaGVAE",
    "AdaMLVAE",
    "AdaAE",
    "TAE",
    "TVAE",
    "AdaTVAE",
    "ISAVAE",
    "ISATCVAE",
)


class NarrowestBetaVAE(NarrowBetaVAE):
    """A narrow model of half the units."""

    width = 64


class PlainLoop:
    """A float32 loop over the networks of a model."""

    def __init__(
        self, grid: Any, batch_size: int, network: NetworkName = "conv", name: str = "VAE"
    ) -> None:
        torch.manual_seed(0)
        self.grid, self.batch_size, self.step = grid, batch_size, 0
        make: Any = models.model_named(name)
        model = make(grid, LATENTS, network=network)
        self.body, self.head, self.decoder = model.body, model.head, model.decoder
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

    def __init__(
        self,
        grid: Any,
        batch_size: int,
        precision: Precision,
        name: str = "VAE",
        network: NetworkName = "conv",
    ) -> None:
        options: dict[str, Any] = {"latents": LATENTS}
        if name.startswith("ISA"):
            options = {"subspaces": [(2.2, 2)] * (LATENTS // 2)}
        make: Any = models.model_named(name)
        self.model = make(grid, network=network, **options)
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


class Stacked:
    """Many small models at once; costs are of one model."""

    def __init__(
        self, grid: Any, batch_size: int, precision: Precision, count: int, name: str = "VAE"
    ) -> None:
        make: Any = models.model_named(name)
        self.members = [
            make(grid, LATENTS, network="vector", random_state=seed) for seed in range(count)
        ]
        self.grid, self.batch_size = grid, batch_size
        self.options = models.TrainOptions(precision=precision)

    def run(self, steps: int) -> float:
        """Loss of the first model at the last step."""
        done = models.train_stacked(
            self.members,
            self.grid,
            steps,
            batch_size=self.batch_size,
            options=self.options,
            verbose=0,
        )
        return done[0].history[-1]["reconstruction"]


def held_sprites() -> FactorGrid:
    """Every tenth of 16 x 16 sprites in memory, so that no time goes into drawing."""
    grid = Sprites(image_size=16)
    index = np.arange(0, len(grid), 10)
    return FactorGrid.from_arrays(grid.images(index), grid.factors(index))


# What is trained, with the networks that a plain loop of a VAE has, and how many are stacked.
SMALL: tuple[tuple[str, str, str, tuple[int, ...]], ...] = (
    ("VAE 256-256", "VAE", "VAE", (8, 32, 64)),
    ("VAE 128-128", "NarrowBetaVAE", "NarrowBetaVAE", (32,)),
    ("VAE 64-64", "NarrowestBetaVAE", "NarrowestBetaVAE", (32,)),
    ("beta-TCVAE 256-256", "BetaTCVAE", "VAE", (32,)),
)


def small_rows(repeats: int) -> list[dict[str, Any]]:
    """A step of a small model against a plain loop of a VAE: alone, and in stacks."""
    grid, size, steps = held_sprites(), 64, 128
    rows = []
    for words, model, plain_model, sizes in SMALL:
        runs: dict[str, Callable[[int], float]] = {
            "plain loop, float32": PlainLoop(grid, size, "vector", plain_model).run,
            "geodis, float32": Trained(grid, size, "float32", model, "vector").run,
        }
        counts = {}
        for count in sizes:
            for precision in ("float32", "bfloat16"):
                name = f"stack of {count}, {precision}"
                runs[name], counts[name] = Stacked(grid, size, precision, count, model).run, count
        best = in_turns(runs, steps, repeats)
        for name, count in counts.items():
            best[name] /= count
        plain = best["plain loop, float32"]
        rows += [
            {
                "part": f"{words} on 16 x 16, {size} rows",
                "what": name,
                "CPU ms a model and step": 1e3 * seconds,
                "times the plain loop of a VAE": seconds / plain,
            }
            for name, seconds in best.items()
        ]
    return rows


def stack_memory(count: int, precision: Precision) -> float:
    """Peak megabytes of a process whose sweep trains and scores a stack, all in all."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        models.sweep(
            folder,
            [{"model": "vae", "latents": LATENTS, "network": "vector"}],
            {"sprites": held_sprites()},
            seeds=count,
            training={"steps": 2, "precision": precision},
            scores=["mig"],
            n=500,
            stack=count,
            verbose=0,
        )
    return most_memory()


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


def write_small(repeats: int) -> None:
    """Measure small models, on one thread, and write their table."""
    torch.set_num_threads(1)
    rows = small_rows(repeats)
    precisions: tuple[Precision, ...] = ("float32", "bfloat16")
    for precision in precisions:
        whole = measure(stack_memory, 64, precision).value
        what = f"process of a sweep in a stack of 64, {precision}"
        rows.append({"part": "peak memory", "what": what, "MB": whole})
    print(write_table("models_small", "Small models: alone and in stacks, one thread", rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loss-steps", type=int, default=200)
    parser.add_argument("--small", action="store_true", help="small models only")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = parser.parse_args()
    write_small(chosen.repeats)
    if chosen.small:
        return
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
