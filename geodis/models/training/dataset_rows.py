"""Batches of what a torch Dataset or DataLoader gives."""

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

# Rows of data where they are computed with: held on the device, or sent there batch by batch.

# Of the memory that a device has free, what rows may take where nobody asked for it.
SHARE = 0.25
# Rows that are drawn or read at once where all are held.
BLOCK = 512


class HeldRows:
    """Rows by their indices, floats, on a device.

    Parameters
    ----------
    model : Model
        Whose shape rows have, and whether they must be in [0, 1].
    read : callable
        Indices (b,) -> rows, as for `model_inputs.as_rows`.
    n : int
        Rows there are.
    device : torch.device
    hold : bool
        Keep all rows on the device, bytes as bytes, and index them there; otherwise the rows of
        every batch are read, and sent.
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
        """Rows (b, ...) of the batch of a step."""
        if self._held is not None:
            rows = self._held[sent(torch.from_numpy(index), self._device)]
            return scaled(rows, dtype_of(self._model))
        return checked_rows(self._read(index), self._model, f"batch {step}", self._device)

    def _all(self, n: int) -> Tensor:
        """All rows on the device; a tensor that is there is not copied."""
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
    """Rows as a model takes them, on a device; what is wrong with them is said before they go."""
    checked = as_rows(rows, model.shape)
    if checked.device.type == "cpu":  # a look at another device would be a wait for it
        check_range(model, checked, where)
    dtype = dtype_of(model)
    return scaled(sent(checked, device, dtype), dtype)


def check_range(model: Model, rows: Tensor, where: str) -> None:
    """Require rows in [0, 1] where the model does; bytes are."""
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
    """Whether all n rows of a shape go to the device.

    Where nobody says, they do if a GPU has room for them, and if at least as many will be `drawn`
    in the training.
    """
    if rows_on != "auto":
        return rows_on == "device"
    needed = 4 * n * math.prod(shape)
    enough = drawn is None or n <= drawn
    return enough and needed <= SHARE * free_bytes(device)


def free_bytes(device: torch.device) -> int:
    """Memory that a GPU has free; none where rows are at hand already, or nobody can tell."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 0


# Batches of a DataLoader, in its order, over and over; a run that goes on takes them up there.


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


# Triplets of the rows of one batch, ordered by a loss, where the rows are.


def ordered_triplets(x: Tensor, rng: np.random.Generator, loss: Any) -> Tensor:
    """Triplets of the rows of one batch, the nearer by the loss as positive (seed 001, 5.24).

    As many triplets as rows: every row is an anchor, with two other rows at random.
    """
    n = len(x)
    if n < 3:
        raise InputError(f"Triplets need batches of at least 3 rows; got {n}.")
    # Two different shifts around the circle of rows: no row meets itself.
    anchor = torch.arange(n, device=x.device)
    first, second = ((anchor + int(shift)) % n for shift in rng.permutation(n - 1)[:2] + 1)
    # Where the rows are, and with the loss that moved there with its model.
    with torch.no_grad():
        near, far = (_distance(x, x[other], loss) for other in (first, second))
        swap = near > far
        positive, negative = torch.where(swap, second, first), torch.where(swap, first, second)
        return x[torch.cat([anchor, positive, negative])]


def _distance(a: Tensor, b: Tensor, loss: Any) -> Tensor:
    if callable(loss):
        return loss(a, b)
    # The Bernoulli loss compares logits with images; between images it orders as their squares do.
    return (a - b).square().flatten(1).mean(dim=1)


NAMES = {2: "pairs", 3: "triplets"}


class Drawn(NamedTuple):
    """One batch on its device: rows, groups one below another, and labels if there are any."""

    x: Tensor
    labels: Tensor | None = None


Stream = Callable[[int, int], Drawn]


def from_loader(
    model: Model, loader: Any, supervision: Supervision, device: torch.device
) -> Stream:
    """Batches of a DataLoader, in its order, over and over; torch is seeded by the step."""
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
    """Batches of rows at random places, as of an array, each put together as a DataLoader would.

    A Dataset may change its items at random, by numpy and Python too: these are seeded meanwhile,
    as torch is by the step.
    """
    check_length(dataset)
    size = len(dataset)
    if size == 0:
        raise InputError("data must have at least one row; got none.")

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        places = rng.integers(size, size=batch_size).tolist()
        several = getattr(dataset, "__getitems__", None)
        with host_seeded(seed_of_step(seed, step)):
            rows = [dataset[place] for place in places] if several is None else several(places)
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
    """Rows, groups or labelled rows from what a loader or a dataset gives."""
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
    """Say what pairs and triplets are made of."""
    name = NAMES[model.groups]
    hint = "; triplets by perceived distance need neither" if model.groups == 3 else ""
    raise InputError(
        f"{name.capitalize()} need factors or members: pass a grid, such as "
        f"FactorGrid.from_arrays(images, factors), or a tuple of {model.groups} arrays{hint}; "
        f"got {given}."
    )


def labels_of(labels: Any) -> Tensor:
    """Numbers that rows are labelled with, float32."""
    known = as_factors(labels)
    if words := [name for name in known.names if known.kind_of(name) == "labels"]:
        raise InputError(
            "Distances are learnt from numbers or ordered labels; got labels without an order in "
            f"{', '.join(words)}."
        )
    return torch.from_numpy(known.refuse_missing().values.astype(np.float32))
