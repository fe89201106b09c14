"""Random numbers of torch that hang on a seed alone, and leave the user's own as they were."""

from __future__ import annotations

from typing import Any

import torch

from geodis.base.check import check_random_state


def torch_generator(random_state: Any) -> torch.Generator:
    """A torch generator on the CPU from anything that geodis takes as `random_state`."""
    seed = int(check_random_state(random_state).integers(2**62))
    return torch.Generator().manual_seed(seed)


class seeded:  # noqa: N801 - read as a verb: with seeded(0): ...
    """Run a block under a seed of its own and leave torch's random numbers as they were."""

    def __init__(self, random_state: Any) -> None:
        self._seed = torch_generator(random_state).initial_seed()

    def __enter__(self) -> None:
        self._before = torch.random.get_rng_state()
        torch.manual_seed(self._seed)

    def __exit__(self, *exception: object) -> None:
        torch.random.set_rng_state(self._before)
