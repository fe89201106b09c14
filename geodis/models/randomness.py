"""Random numbers of torch that hang on a seed alone, and leave the user's own as they were."""

from __future__ import annotations

from typing import Any

import torch

from geodis.base.check import check_random_state


def torch_generator(random_state: Any) -> torch.Generator:
    """A torch generator on the CPU from anything that geodis takes as `random_state`."""
    seed = int(check_random_state(random_state).integers(2**62))
    return torch.Generator().manual_seed(seed)


def reseed(seed: int, device: torch.device) -> None:
    """Seed the generators that a step on a device draws from.

    `torch.manual_seed` looks for every kind of device there could be, at a tenth of the cost of a
    step of a small model.
    """
    torch.default_generator.manual_seed(seed % 2**63)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed % 2**63)
    elif device.type != "cpu":
        torch.manual_seed(seed % 2**63)


class seeded:  # noqa: N801 - read as a verb: with seeded(0): ...
    """Run a block under a seed of its own and leave torch's random numbers as they were."""

    def __init__(self, random_state: Any) -> None:
        self._seed = torch_generator(random_state).initial_seed()

    def __enter__(self) -> None:
        # A seed goes to every GPU; one that nobody has used yet has nothing to be put back.
        used = torch.cuda.is_available() and torch.cuda.is_initialized()
        self._fork = torch.random.fork_rng(range(torch.cuda.device_count()) if used else [])
        self._fork.__enter__()
        torch.manual_seed(self._seed)

    def __exit__(self, *exception: object) -> None:
        self._fork.__exit__(None, None, None)
