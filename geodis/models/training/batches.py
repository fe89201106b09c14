"""Where batches come from: a grid, arrays, a torch Dataset -> rows, pairs or triplets.

Batch number t is a function of the seed and t alone, so training that stops and resumes sees the
same batches. A DataLoader, and a Dataset without places, are exceptions: they have their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError, check_choice, check_finite, to_numpy
from geodis.data.factors import as_factors
from geodis.data.grids.grid import FactorGrid
from geodis.distances.sampling import TripletsBy, sample_pairs, sample_triplets
from geodis.models.model import Model
from geodis.models.model_inputs import collated, to_input
from geodis.models.training.train_options import Supervision

# What `sample_triplets` calls them.
BY: dict[Supervision, TripletsBy] = {
    "scaled": "scaled",
    "factors": "distance",
    "differing": "differing",
    "category": "category",
}
NAMES = {2: "pairs", 3: "triplets"}


class Drawn(NamedTuple):
    """One batch on the CPU: rows, groups one below another, and their labels if there are any."""

    x: Tensor
    labels: Tensor | None = None


Stream = Callable[[int, int], Drawn]


def stream_of(
    model: Model,
    data: Any,
    *,
    batch_size: int,
    supervision: Supervision = "scaled",
    category: int | str | None = None,
) -> tuple[Stream, int]:
    """Make the function that draws batches for a model.

    Parameters
    ----------
    model : Model
        Its shape, its groups (rows, pairs or triplets), and whether it takes labels.
    data : FactorGrid, array-like, Tensor, tuple of these, torch Dataset or DataLoader
        Rows as for `model_inputs.to_input`, in memory. A tuple holds the rows and their labels, or
        the first, second and third members of pairs and triplets. Items of a Dataset are the same,
        one row each, and what more they hold is left out. A DataLoader gives batches of the same,
        in its own order and size, as does a Dataset that can only be iterated.
    batch_size : int
        Rows, pairs or triplets in a batch.
    supervision : {"scaled", "factors", "perceived", "differing", "category"}
        What orders a triplet: the distance of factors scaled to [0, 1], of factors, or of images by
        the model's loss, how many factors differ, or whether one does (seed 001, equations 5.11,
        5.9, 5.24, 5.6 and 5.5).
    category : int or str, optional
        That one.

    Returns
    -------
    draw : callable (seed, step) -> Drawn
    size : int
        Rows in the data; 1 where a DataLoader does not know.
    """
    check_choice(supervision, "supervision", get_args(Supervision))
    if isinstance(data, torch.utils.data.DataLoader):
        # A stream without an end has no length; 1 moves a total correlation by a constant.
        size = len(data.dataset) if hasattr(data.dataset, "__len__") else 1
        return _from_loader(model, data, supervision), size
    if isinstance(data, torch.utils.data.IterableDataset):
        loader = torch.utils.data.DataLoader(data, batch_size=batch_size)
        return _from_loader(model, loader, supervision), 1
    if isinstance(data, torch.utils.data.Dataset):
        return _from_dataset(model, data, batch_size, supervision)
    if isinstance(data, FactorGrid):
        return _from_grid(model, data, batch_size, supervision, category), len(data)
    return _from_arrays(model, data, batch_size, supervision)


def _from_grid(
    model: Model,
    grid: FactorGrid,
    batch_size: int,
    supervision: Supervision,
    category: int | str | None,
) -> Stream:
    perceived = model.groups == 3 and supervision == "perceived"

    def index_of(rng: np.random.Generator) -> np.ndarray:
        if model.groups == 3 and not perceived:
            by = BY[supervision]
            drawn = sample_triplets(grid, batch_size, by, category=category, random_state=rng)
            return drawn.T.reshape(-1)
        if model.groups == 2:
            if model.pairs == "neighbours":
                return _steps(grid, batch_size, rng).T.reshape(-1)
            # As many factors change as chance says (seed 001, A.2.3).
            return sample_pairs(grid, batch_size, by="differing", random_state=rng).T.reshape(-1)
        return rng.integers(len(grid), size=batch_size)

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        index = index_of(rng)
        x = to_input(grid.images(index, "auto"), model.shape)
        if perceived:
            return Drawn(ordered_triplets(x, rng, model.settings.loss))
        return Drawn(x, scaled_factors(grid, index) if model.labelled else None)

    return draw


def scaled_factors(grid: FactorGrid, index: np.ndarray) -> Tensor:
    """Factors from -1 to 1, as labels whose distances are to be learnt."""
    last = np.maximum(np.array(grid.sizes) - 1, 1)
    return torch.from_numpy(2 * grid.factors(index) / last - 1).float()


def _steps(grid: FactorGrid, n: int, rng: np.random.Generator) -> np.ndarray:
    """Pairs that one factor tells apart, by one step; which factor is left unsaid."""
    grid.require_complete("Drawing neighbours")
    sizes = np.array(grid.sizes)
    movable = np.flatnonzero(sizes > 1)
    first = grid.factors(rng.integers(len(grid), size=n))
    factor, rows = rng.choice(movable, n), np.arange(n)
    here, last = first[rows, factor], sizes[factor] - 1
    up = np.where(here == 0, True, np.where(here == last, False, rng.random(n) < 0.5))
    second = first.copy()
    second[rows, factor] += np.where(up, 1, -1)
    return np.stack([grid.index(first), grid.index(second)], axis=1)


def ordered_triplets(x: Tensor, rng: np.random.Generator, loss: Any) -> Tensor:
    """Triplets of the rows of one batch, the nearer by the loss as positive (seed 001, 5.24).

    As many triplets as rows: every row is an anchor, with two other rows at random.
    """
    n = len(x)
    if n < 3:
        raise InputError(f"Triplets need batches of at least 3 rows; got {n}.")
    anchor = np.arange(n)
    # Two different shifts around the circle of rows: no row meets itself.
    offsets = rng.permutation(n - 1)[:2] + 1
    first, second = (anchor + offsets[0]) % n, (anchor + offsets[1]) % n
    with torch.no_grad():
        near, far = (_distance(x, x[torch.from_numpy(other)], loss) for other in (first, second))
    swap = (near > far).cpu().numpy()
    positive, negative = np.where(swap, second, first), np.where(swap, first, second)
    return x[torch.from_numpy(np.concatenate([anchor, positive, negative]))]


def _distance(a: Tensor, b: Tensor, loss: Any) -> Tensor:
    if callable(loss):
        return loss(a, b)
    # The Bernoulli loss compares logits with images; between images it orders as their squares do.
    return (a - b).square().flatten(1).mean(dim=1)


def _from_arrays(
    model: Model, data: Any, batch_size: int, supervision: Supervision
) -> tuple[Stream, int]:
    parts, labels = _parts(model, data, supervision)
    for rows in parts:
        to_input(rows[:1], model.shape)  # says at once what is wrong with the shape
    sizes = {len(part) for part in [*parts, *([] if labels is None else [labels])]}
    if len(sizes) > 1:
        raise InputError(f"data must have as many rows in every part; got {sorted(sizes)}.")
    (size,) = sizes
    if size == 0:
        raise InputError("data must have at least one row; got none.")
    ordered = model.groups == 3 and len(parts) == 1

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        index = rng.integers(size, size=batch_size)
        x = torch.cat([to_input(_take(rows, index), model.shape) for rows in parts])
        if ordered:
            return Drawn(ordered_triplets(x, rng, model.settings.loss))
        return Drawn(x, None if labels is None else labels[torch.from_numpy(index)])

    return draw, size


def _parts(model: Model, data: Any, supervision: Supervision) -> tuple[list[Any], Tensor | None]:
    """Rows of every member of a group, and labels."""
    given = list(data) if isinstance(data, tuple) else [data]
    if model.labelled:
        if len(given) != 2:
            raise InputError(
                "Distances are learnt from labels: pass (images, labels) or a FactorGrid; "
                f"got {_described(data)}."
            )
        return [_checked_rows(given[0])], _labels(given[1])
    perceived = model.groups == 3 and supervision == "perceived"
    if len(given) != (1 if perceived else model.groups):
        if model.groups == 1:
            raise InputError(
                f"{type(model).__name__} takes one array of rows; got {_described(data)}."
            )
        _refuse(model, _described(data))
    return [_checked_rows(part) for part in given], None


def _refuse(model: Model, given: str) -> None:
    name = NAMES[model.groups]
    hint = "; triplets by perceived distance need neither" if model.groups == 3 else ""
    raise InputError(
        f"{name.capitalize()} need factors or members: pass a grid, such as "
        f"FactorGrid.from_arrays(images, factors), or a tuple of {model.groups} arrays{hint}; "
        f"got {given}."
    )


def _described(data: Any) -> str:
    return f"a tuple of {len(data)} parts" if isinstance(data, tuple) else "one array"


def _checked_rows(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data
    rows = to_numpy(data, "data")
    if rows.dtype.kind not in "fiub":
        raise InputError(f"data must hold numbers; got dtype {rows.dtype}.")
    return check_finite(rows, "data") if rows.dtype.kind == "f" else rows


def _labels(labels: Any) -> Tensor:
    known = as_factors(labels)
    if words := [name for name in known.names if known.kind_of(name) == "labels"]:
        raise InputError(
            "Distances are learnt from numbers or ordered labels; got labels without an order in "
            f"{', '.join(words)}."
        )
    return torch.from_numpy(known.refuse_missing().values.astype(np.float32))


def _take(rows: Any, index: np.ndarray) -> Any:
    return rows[torch.from_numpy(index)] if isinstance(rows, Tensor) else rows[index]


def _from_loader(model: Model, loader: Any, supervision: Supervision) -> Stream:
    def endless() -> Iterator[Any]:
        while True:
            empty = True
            for batch in loader:
                empty = False
                yield batch
            if empty:
                raise InputError("The DataLoader must give at least one batch; it gave none.")

    batches = endless()

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        return _of_batch(model, next(batches), supervision, rng, "DataLoader")

    return draw


def _from_dataset(
    model: Model, dataset: Any, batch_size: int, supervision: Supervision
) -> tuple[Stream, int]:
    """Batches of rows at random places, as of an array, each put together as a DataLoader would."""
    size = len(dataset)
    if size == 0:
        raise InputError("data must have at least one row; got none.")

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        places = rng.integers(size, size=batch_size).tolist()
        several = getattr(dataset, "__getitems__", None)
        rows = [dataset[place] for place in places] if several is None else several(places)
        return _of_batch(model, collated(rows), supervision, rng, "Dataset")

    return draw, size


def _of_batch(
    model: Model, batch: Any, supervision: Supervision, rng: np.random.Generator, source: str
) -> Drawn:
    """Rows, groups or labelled rows from what a loader or a dataset gives."""
    perceived = model.groups == 3 and supervision == "perceived"
    given = list(batch) if isinstance(batch, tuple | list) else [batch]
    if model.labelled:
        if len(given) != 2:
            raise InputError(f"Distances are learnt from labels: the {source} must give both.")
        return Drawn(to_input(given[0], model.shape), _labels(given[1]))
    if model.groups == 1 or perceived:
        x = to_input(given[0], model.shape)
        return Drawn(ordered_triplets(x, rng, model.settings.loss) if perceived else x)
    if len(given) != model.groups:
        _refuse(model, f"a {source} of {len(given)} parts")
    return Drawn(torch.cat([to_input(part, model.shape) for part in given]))
