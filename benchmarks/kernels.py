"""Loss kernels: learning one, a step against the literal way, soft ranks against torchsort.

Where soft ranks differ it is in the gradient alone: torchsort's backward pass takes neighbours for
one block when their solutions are less than 1e-9 apart, which the blocks of the solution are not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from benchmarks._measure import write_table
from geodis.data.grids.squares import XYSquares
from geodis.distances import ground_truth, sample_pairs
from geodis.kernels import learn_kernel, soft_rank
from geodis.kernels.pairs import CorrelationPairs, PlanePairs, Target
from geodis.kernels.soft_ranks import Regularization

PAIRS = 2048
REPEATS = 5
SAME = 1e-6  # of the largest entry
SIZES = (10**3, 10**4, 10**5, 10**6)


def best_of(function: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, float]:
    """Shortest wall-clock and processor time of some calls, after one to warm up."""
    function()
    seconds, processor = [], []
    for _ in range(repeats):
        start, before = time.perf_counter(), time.process_time()
        function()
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - before)
    return min(seconds), min(processor)


def compared(ours: tuple[float, float], other: tuple[float, float]) -> dict[str, float]:
    """Cells that say how much faster ours is; processor time holds where others share the cores."""
    return {
        "geodis s": ours[0],
        "other s": other[0],
        "times faster": other[0] / ours[0],
        "by processor time": other[1] / ours[1],
    }


def learning() -> list[dict[str, Any]]:
    """Learning a kernel on XYSquares, everything at its default."""
    rows = []
    for radius in (31, 63):
        before = time.process_time()
        made = learn_kernel(XYSquares(), radius, random_state=0, verbose=0).made
        rows.append(
            {
                "what": f"learn_kernel, radius {radius}, {made['support']}",
                "size": f"{made['pairs']} pairs",
                "geodis s": sum(made["seconds"].values()),
                "processor s": time.process_time() - before,
                "rank correlation": made["held_out"],
            }
        )
    return rows


def blurred_distances(
    x: torch.Tensor, y: torch.Tensor, kernel: torch.Tensor, full: bool
) -> torch.Tensor:
    """The literal way: both images of every pair through the Fourier transform, then compared."""
    size, radius = x.shape[-1], kernel.shape[-1] // 2
    period = [size + 2 * radius] * 2
    transform = torch.fft.rfft2(kernel, s=period)
    blurred = [
        torch.fft.irfft2(torch.fft.rfft2(images, s=period) * transform, s=period)
        for images in (x, y)
    ]
    if not full:
        keep = slice(radius, radius + size)
        blurred = [images[..., keep, keep] for images in blurred]
    sums = (blurred[0] - blurred[1]).square().flatten(1).sum(1)
    return (x - y).square().flatten(1).mean(1) + sums / x[0].numel()


def training_steps() -> list[dict[str, Any]]:
    """One step on 2,048 pairs: distances, soft Spearman, gradient of the kernel."""
    grid = XYSquares()
    pairs = sample_pairs(grid, PAIRS, random_state=0)
    truth = ground_truth(grid.factors(pairs[:, 0]), grid.factors(pairs[:, 1]), grid.sizes)
    target = Target(np.asarray(truth, float))
    sides = [grid.images(side, "float32").transpose(0, 3, 1, 2) for side in pairs.T]
    x, y = (torch.from_numpy(np.ascontiguousarray(side)) for side in sides)
    rows = []
    for radius, full in ((31, True), (63, False)):
        size = 2 * radius + 1
        noise = np.random.default_rng(0).uniform(0.5, 1.5, (1, 1, size, size)) / size
        held: Any = CorrelationPairs(grid, pairs) if full else PlanePairs(grid, pairs, radius)
        gradients: dict[str, torch.Tensor] = {}

        def step(distances: Callable[[torch.Tensor], torch.Tensor], name: str) -> None:
            kernel = torch.from_numpy(noise).float().requires_grad_()  # noqa: B023
            (-target.correlation(distances(kernel), "spearman")).backward()
            assert kernel.grad is not None
            gradients[name] = kernel.grad  # noqa: B023

        ways = {
            "geodis": lambda kernel: held.pixel + held.energies(kernel),  # noqa: B023
            "literal": lambda kernel: blurred_distances(x, y, kernel, full),  # noqa: B023
        }
        seconds = {
            name: best_of(lambda: step(way, name), 1 if name == "literal" else 20)  # noqa: B023
            for name, way in ways.items()
        }
        difference = (gradients["geodis"] - gradients["literal"]).norm()
        rows.append(
            {
                "what": f"training step, radius {radius}, {'full' if full else 'same'}",
                "size": f"{PAIRS} pairs",
                **compared(seconds["geodis"], seconds["literal"]),
                "difference of gradients": float(difference / gradients["literal"].norm()),
            }
        )
    return rows


def soft_ranks() -> list[dict[str, Any]]:
    """Forward and backward of soft ranks, float64, on one row."""
    if find_spec("torchsort") is None:
        return []
    import torchsort

    rows = []
    regularizations: tuple[Regularization, ...] = ("l2", "kl")
    for regularization in regularizations:
        for n in SIZES:
            torch.manual_seed(0)
            x, weights = torch.randn(2, 1, n, dtype=torch.float64)
            outcomes: dict[str, list[torch.Tensor]] = {}

            def run(name: str) -> None:
                values = x.clone().requires_grad_()  # noqa: B023
                kind = regularization  # noqa: B023
                result = (
                    soft_rank(values, 0.1, kind)
                    if name == "geodis"
                    else torchsort.soft_rank(
                        values, regularization=kind, regularization_strength=0.1
                    )
                )
                result.backward(weights)  # noqa: B023
                assert values.grad is not None
                outcomes[name] = [result.detach(), values.grad]  # noqa: B023

            repeats = 5 if n >= 10**5 else 30
            ours, theirs = (
                best_of(lambda: run(name), repeats)  # noqa: B023
                for name in ("geodis", "torchsort")
            )
            apart = [
                (a - b).abs() > SAME * b.abs().max()
                for a, b in zip(outcomes["geodis"], outcomes["torchsort"], strict=True)
            ]
            rows.append(
                {
                    "what": f"soft rank {regularization}, forward and backward",
                    "size": f"n = {n:,}",
                    **compared(ours, theirs),
                    "entries that differ": int(sum(mask.sum() for mask in apart)),
                }
            )
    return rows


def main() -> None:
    title = (
        "Loss kernels: learning, steps against blurring both images, soft ranks against torchsort; "
        f"torch threads: {torch.get_num_threads()}"
    )
    print(write_table("kernels", title, learning() + training_steps() + soft_ranks()))


if __name__ == "__main__":
    main()
