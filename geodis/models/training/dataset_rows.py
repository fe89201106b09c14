"""Rows on devices, batches of torch Datasets and DataLoaders, and triplets within a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from geodis.base.check import InputError
from geodis.data.factors import as_factors
from geodis.models.model import Model
from geodis.models.model_inputs import (
    as_rows,
    check_length,
    collated,
    dtype_of,
    refuse_named_parts,
    scaled,
    sent,
)
from geodis.models.randomness import host_seeded, reseed, seed_of_step
from geodis.models.training.train_options import RowsOn, Supervision

# Fraction of the free memory of a device that rows may use with rows_on="auto".
SHARE = 0.25
# Rows that are drawn or read in one call when all are kept on the device.
BLOCK = 512


class HeldRows:
    """Rows by index, as floats on a device.

    Parameters
    ----------
    model : Model
        It determines the shape of rows, and whether they must be in [0, 1].
    read : callable
        Maps indices (b,) to rows as for `model_inputs.as_rows`.
    n : int
        Number of rows.
    device : torch.device
    hold : bool
        Keep all rows on the device (bytes as bytes) and index them there; otherwise the rows of
        every batch are read and copied.
    """

    def __init__(
        self,
        model: Model,
        read: Callable[[np.ndarray], Any],
        n: int,
        device: torch.device,
        hold: bool,
    ) -> None:
        self._model, self._read, self._device = model, read, device
        self._held: Tensor | None = self._all(n) if hold else None

    @property
    def held(self) -> bool:
        """Whether all rows are on the device."""
        return self._held is not None

    def __call__(self, index: np.ndarray, step: int) -> Tensor:
        """Return the rows (b, ...) of the batch of a step."""
        if self._held is not None:
            rows = self._held[sent(torch.from_numpy(index), self._device)]
            return scaled(rows, dtype_of(self._model))
        return checked_rows(self._read(index), self._model, f"batch {step}", self._device)

    def _all(self, n: int) -> Tensor:
        """Read all rows and copy them to the device."""
        held: Tensor | None = None
        for start in range(0, n, BLOCK):
            index = np.arange(start, min(start + BLOCK, n))
            rows = as_rows(self._read(index), self._model.shape)
            if rows.device.type == "cpu":
                check_range(self._model, rows, "the data")
            rows = sent(rows, self._device, dtype_of(self._model))
            if held is None:
                kind = torch.uint8 if rows.dtype == torch.uint8 else dtype_of(self._model)
                held = torch.empty(n, *rows.shape[1:], dtype=kind, device=self._device)
            held[start : start + len(rows)] = rows
        assert held is not None
        return held


def checked_rows(rows: Any, model: Model, where: str, device: torch.device) -> Tensor:
    """Check rows and convert them to input of a model on a device."""
    checked = as_rows(rows, model.shape)
    if checked.device.type == "cpu":  # reading another device would wait for it
        check_range(model, checked, where)
    dtype = dtype_of(model)
    return scaled(sent(checked, device, dtype), dtype)


def check_range(model: Model, rows: Tensor, where: str) -> None:
    """Require rows in [0, 1] if the model needs that; bytes always are."""
    if not model.unit_range or rows.dtype in (torch.uint8, torch.bool) or not rows.numel():
        return
    low, high = (float(each) for each in rows.aminmax())
    if low < 0 or high > 1:
        other = " or use loss='mse'" if hasattr(model.settings, "loss") else ""
        raise InputError(
            f"{model.unit_range} needs data in [0, 1]; got {low:g} to {high:g} in {where}: "
            f"scale the data{other}."
        )


def holds_rows(
    rows_on: RowsOn, device: torch.device, n: int, shape: tuple[int, ...], drawn: int | None
) -> bool:
    """Whether all n rows of a shape are kept on the device.

    With "auto" they are if a GPU has enough memory, and if at least n rows will be `drawn` during
    training.
    """
    if rows_on != "auto":
        return rows_on == "device"
    needed = 4 * n * math.prod(shape)
    enough = drawn is None or n <= drawn
    return enough and needed <= SHARE * free_bytes(device)


def free_bytes(device: torch.device) -> int:
    """Return the free memory of a CUDA device; 0 for other devices."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 0


class LoaderBatches:
    """Batches of a DataLoader, epoch after epoch, for consecutive steps from any step on.

    The order of an epoch and random augmentations depend on the seeds of its steps. If the first
    step is within an epoch, the batches before it are drawn under their seeds and discarded.

    Parameters
    ----------
    loader : DataLoader
    device : torch.device
        Device whose generator the steps use.

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
        """Return the batch of a step; the step has seeded torch."""
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
    """Explain why a resumed run cannot continue a stream at its position; empty if it can.

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


def ordered_triplets(x: Tensor, rng: np.random.Generator, loss: Any) -> Tensor:
    """Make triplets of the rows of a batch, ordered by a loss (seed 001, equation 5.24).

    Every row is the anchor of one triplet. Of two other random rows the one with the smaller loss
    is the positive.
    """
    n = len(x)
    if n < 3:
        raise InputError(f"Triplets need batches of at least 3 rows; got {n}.")
    # Two different cyclic shifts: no row is paired with itself.
    anchor = torch.arange(n, device=x.device)
    first, second = ((anchor + int(shift)) % n for shift in rng.permutation(n - 1)[:2] + 1)
    # The loss is on the device of the rows, because it moves with its model.
    with torch.no_grad():
        near, far = (_distance(x, x[other], loss) for other in (first, second))
        swap = near > far
        positive, negative = torch.where(swap, second, first), torch.where(swap, first, second)
        return x[torch.cat([anchor, positive, negative])]


def _distance(a: Tensor, b: Tensor, loss: Any) -> Tensor:
    if callable(loss):
        return loss(a, b)
    # The Bernoulli loss needs logits; between images the squared error gives the same order.
    return (a - b).square().flatten(1).mean(dim=1)


NAMES = {2: "pairs", 3: "triplets"}


class Drawn(NamedTuple):
    """A batch on its device: rows, with the members of groups concatenated, and labels."""

    x: Tensor
    labels: Tensor | None = None


Stream = Callable[[int, int], Drawn]


def from_loader(
    model: Model, loader: Any, supervision: Supervision, device: torch.device
) -> Stream:
    """Make a stream of the batches of a DataLoader, epoch after epoch; the step seeds torch."""
    check_length(loader)
    batches = LoaderBatches(loader, device)

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        taken = batches(seed, step)
        return _of_batch(model, taken, supervision, rng, "DataLoader", step, device)

    return draw


def from_dataset(
    model: Model, dataset: Any, batch_size: int, supervision: Supervision, device: torch.device
) -> tuple[Stream, int]:
    """Make a stream of batches of random items of a Dataset, collated as by a DataLoader.

    A Dataset may augment its items with the random numbers of torch, numpy or Python. The step
    seeds torch, and numpy and Python are seeded here.
    """
    check_length(dataset)
    size = len(dataset)
    if size == 0:
        raise InputError("data must have at least one row; got none.")

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        index = rng.integers(size, size=batch_size).tolist()
        several = getattr(dataset, "__getitems__", None)
        with host_seeded(seed_of_step(seed, step)):
            rows = [dataset[each] for each in index] if several is None else several(index)
        return _of_batch(model, collated(rows), supervision, rng, "Dataset", step, device)

    return draw, size


def _of_batch(
    model: Model,
    batch: Any,
    supervision: Supervision,
    rng: np.random.Generator,
    source: str,
    step: int,
    device: torch.device,
) -> Drawn:
    """Convert a batch of a loader or dataset to rows, groups or labelled rows."""
    perceived = model.groups == 3 and supervision == "perceived"
    refuse_named_parts(batch)
    given = list(batch) if isinstance(batch, tuple | list) else [batch]

    def rows(part: Any) -> Tensor:
        return checked_rows(part, model, f"batch {step}", device)

    if model.labelled:
        if len(given) != 2:
            raise InputError(f"Distances are learnt from labels: the {source} must give both.")
        return Drawn(rows(given[0]), sent(labels_of(given[1]), device))
    if model.groups == 1 or perceived:
        x = rows(given[0])
        return Drawn(ordered_triplets(x, rng, model.settings.loss) if perceived else x)
    if len(given) != model.groups:
        refuse_groups(model, f"a {source} of {len(given)} parts")
    return Drawn(torch.cat([rows(part) for part in given]))


def refuse_groups(model: Model, given: str) -> None:
    """Raise an error that explains how to pass pairs and triplets."""
    name = NAMES[model.groups]
    hint = "; triplets by perceived distance need neither" if model.groups == 3 else ""
    raise InputError(
        f"{name.capitalize()} need factors or members: pass a grid, such as "
        f"FactorGrid.from_arrays(images, factors), or a tuple of {model.groups} arrays{hint}; "
        f"got {given}."
    )


def labels_of(labels: Any) -> Tensor:
    """Convert labels to float32."""
    known = as_factors(labels)
    if words := [name for name in known.names if known.kind_of(name) == "labels"]:
        raise InputError(
            "Distances are learnt from numbers or ordered labels; got labels without an order in "
            f"{', '.join(words)}."
        )
    return torch.from_numpy(known.refuse_missing().values.astype(np.float32))
