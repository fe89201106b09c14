"""Seeded random numbers that leave the state of the user's generators unchanged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from geodis.base.check import check_random_state

# Device types without float64.
NARROW = ("mps",)


def torch_generator(random_state: Any) -> torch.Generator:
    """Make a torch generator on the CPU from a `random_state`."""
    seed = int(check_random_state(random_state).integers(2**62))
    return torch.Generator().manual_seed(seed)


def reseed(seed: int, device: torch.device) -> None:
    """Seed the generators of the CPU and of all devices of the same type.

    `torch.manual_seed` checks every possible type of device, which costs a tenth of a step of a
    small model.
    """
    torch.default_generator.manual_seed(seed % 2**63)
    kind = accelerators().get(device.type)
    if kind is not None:
        _seed_all(kind, seed % 2**63)


def seed_of_step(seed: int, step: int) -> int:
    """Compute the seed of all noise in a step; it depends on the run's seed and the step only."""
    return seed * 1_000_003 + step


@contextmanager
def host_seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of numpy and Python for a block, then restore them.

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
    """Return the torch modules of accelerators whose generators are in use, by device type.

    Uninitialised ones are left out, because seeding them would affect their first use.
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
    """Run a block, then restore the random state of torch on every device."""

    def __enter__(self) -> None:
        self._host = torch.default_generator.get_state()
        self._others = [(kind, _state(kind)) for kind in accelerators().values()]

    def __exit__(self, *exception: object) -> None:
        torch.default_generator.set_state(self._host)
        for kind, state in self._others:
            _set_state(kind, state)


class seeded(kept_generators):  # noqa: N801 - read as a verb: with seeded(0): ...
    """Run a block under its own seed, then restore the random state of torch."""

    def __init__(self, random_state: Any) -> None:
        self._seed = torch_generator(random_state).initial_seed()

    def __enter__(self) -> None:
        super().__enter__()
        torch.default_generator.manual_seed(self._seed)
        for kind, _ in self._others:
            _seed_all(kind, self._seed)


def _seed_all(kind: Any, seed: int) -> None:
    """Seed all devices of a type; its `manual_seed` seeds only the current device."""
    getattr(kind, "manual_seed_all", kind.manual_seed)(seed)


def _state(kind: Any) -> Any:
    """Return the generator states of all devices of a type."""
    several = hasattr(kind, "get_rng_state_all")
    return kind.get_rng_state_all() if several else kind.get_rng_state()


def _set_state(kind: Any, state: Any) -> None:
    several = hasattr(kind, "set_rng_state_all")
    return kind.set_rng_state_all(state) if several else kind.set_rng_state(state)


def widest_float(device: torch.device) -> torch.dtype:
    """Return float64, or float32 for devices without float64.

    Examples
    --------
    >>> widest_float(torch.device("cpu")), widest_float(torch.device("mps"))
    (torch.float64, torch.float32)
    """
    return torch.float32 if device.type in NARROW else torch.float64
