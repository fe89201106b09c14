"""Random numbers that hang on a seed alone, and leave the user's own as they were."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from geodis.base.check import check_random_state

# Types of devices without float64.
NARROW = ("mps",)


def torch_generator(random_state: Any) -> torch.Generator:
    """A torch generator on the CPU from anything that geodis takes as `random_state`."""
    seed = int(check_random_state(random_state).integers(2**62))
    return torch.Generator().manual_seed(seed)


def reseed(seed: int, device: torch.device) -> None:
    """Seed the generators that a step on a device draws from: of the CPU and of all its kind.

    `torch.manual_seed` looks for every kind of device there could be, at a tenth of the cost of a
    step of a small model.
    """
    torch.default_generator.manual_seed(seed % 2**63)
    kind = accelerators().get(device.type)
    if kind is not None:
        _seed_all(kind, seed % 2**63)


def seed_of_step(seed: int, step: int) -> int:
    """The seed of all noise of a step of a run, which depends on nothing else."""
    return seed * 1_000_003 + step


@contextmanager
def host_seeded(seed: int) -> Iterator[None]:
    """Run a block under a seed of numpy's and Python's shared generators, and put these back.

    Examples
    --------
    >>> with host_seeded(0):
    ...     first = random.random(), np.random.rand()
    >>> with host_seeded(0):
    ...     print((random.random(), np.random.rand()) == first)
    True
    """
    python, legacy = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)


def accelerators() -> dict[str, Any]:
    """Modules of torch whose generators are in use, by the type of their devices.

    One that nobody has used yet is left out: it would keep a seed for when it is.
    """
    in_use: dict[str, Any] = {}
    for name in ("cuda", "xpu"):
        kind: Any = getattr(torch, name, None)
        if kind is not None and kind.is_available() and kind.is_initialized():
            in_use[name] = kind
    if torch.backends.mps.is_available():
        in_use["mps"] = torch.mps
    return in_use


class kept_generators:  # noqa: N801 - read as a verb: with kept_generators(): ...
    """Run a block and leave the random numbers of torch, on every device, as they were."""

    def __enter__(self) -> None:
        self._host = torch.default_generator.get_state()
        self._others = [(kind, _state(kind)) for kind in accelerators().values()]

    def __exit__(self, *exception: object) -> None:
        torch.default_generator.set_state(self._host)
        for kind, state in self._others:
            _put_back(kind, state)


class seeded(kept_generators):  # noqa: N801 - read as a verb: with seeded(0): ...
    """Run a block under a seed of its own and leave torch's random numbers as they were."""

    def __init__(self, random_state: Any) -> None:
        self._seed = torch_generator(random_state).initial_seed()

    def __enter__(self) -> None:
        super().__enter__()
        torch.default_generator.manual_seed(self._seed)
        for kind, _ in self._others:
            _seed_all(kind, self._seed)


def _seed_all(kind: Any, seed: int) -> None:
    """Seed all devices of a kind; its `manual_seed` seeds the current one, not "cuda:1"."""
    getattr(kind, "manual_seed_all", kind.manual_seed)(seed)


def _state(kind: Any) -> Any:
    """States of the generators of all devices of a kind."""
    several = hasattr(kind, "get_rng_state_all")
    return kind.get_rng_state_all() if several else kind.get_rng_state()


def _put_back(kind: Any, state: Any) -> None:
    several = hasattr(kind, "set_rng_state_all")
    return kind.set_rng_state_all(state) if several else kind.set_rng_state(state)


def widest_float(device: torch.device) -> torch.dtype:
    """float64, or float32 on devices that have no wider numbers.

    Examples
    --------
    >>> widest_float(torch.device("cpu")), widest_float(torch.device("mps"))
    (torch.float64, torch.float32)
    """
    return torch.float32 if device.type in NARROW else torch.float64
