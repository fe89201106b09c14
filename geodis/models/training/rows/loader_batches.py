"""Batches of a DataLoader, in its order, over and over; a run that goes on takes them up there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from geodis.base.check import InputError
from geodis.models.randomness import host_seeded, reseed, seed_of_step


class LoaderBatches:
    """The batch of every step, which are asked for in their order, from any on.

    The order of an epoch, and what is made at random, hang on the seeds of its steps. Where the
    first step that is asked for lies within an epoch, the batches before are drawn again under
    their seeds, and thrown away.

    Parameters
    ----------
    loader : DataLoader
    device : torch.device
        Whose generator the steps use.

    Examples
    --------
    >>> rows = torch.arange(6)
    >>> def batches(first):
    ...     drawn = LoaderBatches(DataLoader(rows, 2, shuffle=True), torch.device("cpu"))
    ...     for step in range(first, 5):
    ...         reseed(seed_of_step(0, step), torch.device("cpu"))
    ...         yield drawn(0, step).tolist()
    >>> list(batches(4)) == list(batches(0))[4:]
    True
    """

    def __init__(self, loader: DataLoader[Any], device: torch.device) -> None:
        self._loader, self._device = loader, device
        self._batches: Iterator[Any] | None = None

    def __call__(self, seed: int, step: int) -> Any:
        """The batch of a step, which has seeded torch."""
        if self._batches is None:
            self._batches = self._over_and_over()
            before = 0 if why_no_place(self._loader) else step % max(len(self._loader), 1)
            for earlier in range(step - before, step):
                reseed(seed_of_step(seed, earlier), self._device)
                self._next(self._batches, seed_of_step(seed, earlier))
            reseed(seed_of_step(seed, step), self._device)
        return self._next(self._batches, seed_of_step(seed, step))

    def _next(self, batches: Iterator[Any], seed: int) -> Any:
        with host_seeded(seed):
            return next(batches)

    def _over_and_over(self) -> Iterator[Any]:
        while True:
            empty = True
            for batch in self._loader:
                empty = False
                yield batch
            if empty:
                raise InputError("The DataLoader must give at least one batch; it gave none.")


def why_no_place(data: Any) -> str:
    """Why a run that goes on cannot take up the batches of a stream where they were; "" if it can.

    Examples
    --------
    >>> why_no_place(DataLoader(torch.zeros(4, 1), shuffle=True, generator=torch.Generator()))
    'the DataLoader has a generator of its own'
    """
    if not isinstance(data, DataLoader | IterableDataset):
        return ""
    try:
        len(data)  # type: ignore[arg-type]
    except TypeError:
        return "they are of no known number"
    if not isinstance(data, DataLoader):
        return ""
    by = data.batch_sampler
    samplers = (data, data.sampler, by, getattr(by, "sampler", None))
    if any(getattr(each, "generator", None) is not None for each in samplers):
        return "the DataLoader has a generator of its own"
    return "workers of the DataLoader stay from epoch to epoch" if data.persistent_workers else ""
