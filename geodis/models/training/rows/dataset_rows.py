"""Batches of what a torch Dataset or DataLoader gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError
from geodis.data.factors import as_factors
from geodis.models.model import Model
from geodis.models.model_inputs import check_length, collated, refuse_named_parts, sent
from geodis.models.randomness import host_seeded, seed_of_step
from geodis.models.training.rows.held_rows import checked_rows
from geodis.models.training.rows.loader_batches import LoaderBatches
from geodis.models.training.rows.perceived_triplets import ordered_triplets
from geodis.models.training.train_options import Supervision

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
