"""Draw batches of rows, pairs or triplets from a grid, arrays, a torch Dataset or DataLoader.

Batch t depends only on the seed and t, so that resumed training gets the same batches. A DataLoader
has its own order and is resumed at its position; an iterable without a length starts again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError, check_finite, to_numpy
from geodis.data.grids.grid import FactorGrid
from geodis.distances.sampling import TripletsBy, sample_pairs, sample_triplets
from geodis.models.model import Model
from geodis.models.model_inputs import sent, to_input
from geodis.models.training.dataset_rows import (
    Drawn,
    HeldRows,
    Stream,
    from_dataset,
    from_loader,
    holds_rows,
    labels_of,
    ordered_triplets,
    refuse_groups,
)
from geodis.models.training.train_options import Prefetch, Supervision, TrainOptions

# Prefetching: a thread draws the next batch during a training step
#
# Only for batches that depend on the seed and the step alone, and not on a state that drawing
# changes: they are then the same whichever thread draws them.


class DrawingThread:
    """A thread that draws one batch after another; it starts with the first request.

    Several streams can share it, so that two draws never run simultaneously.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def begin(self, draw: Callable[[], Drawn]) -> Future[Drawn]:
        """Request a batch, which is drawn after those requested before."""
        if self._thread is None:
            self._tasks: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
            self._ended = threading.Event()
            # A daemon does not keep the process alive if it is never closed.
            thread = threading.Thread(
                target=_work, args=(self._tasks,), name="geodis draws ahead", daemon=True
            )
            thread.start()
            self._thread = thread
        begun: Future[Drawn] = Future()
        self._tasks.put(partial(_draw_into, begun, draw, self._ended))
        return begun

    def settle(self) -> None:
        """Wait until all requested batches are drawn."""
        if self._thread is not None:
            reached = threading.Event()
            self._tasks.put(reached.set)
            reached.wait()

    def close(self) -> None:
        """Stop the thread after the current batch; other requests are cancelled."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._ended.set()
            self._tasks.put(None)
            thread.join()


def _work(tasks: SimpleQueue[Callable[[], Any] | None]) -> None:
    # It has no reference to its owner, and releases each task and its batch before the next.
    while (task := tasks.get()) is not None:
        task()
        del task


def _draw_into(begun: Future[Drawn], draw: Callable[[], Drawn], ended: threading.Event) -> None:
    if ended.is_set():
        begun.cancel()
        return
    try:
        begun.set_result(draw())
    except BaseException as error:  # raised by the step that needs the batch
        begun.set_exception(error)


class Prefetched:
    """A stream whose next batch is drawn by a thread, with the same numbers.

    Every call requests the batch of the next step; an error in it is raised by the call for that
    step. On CUDA the thread copies on a separate stream, in parallel with the kernels of the step.

    Parameters
    ----------
    draw : callable (seed, step) -> Drawn
        It depends on the seed and the step only.
    device : torch.device
        Device of the batches.
    thread : DrawingThread
        The caller closes it.
    steps : int, optional
        Number of batches; no batch beyond is requested.

    Examples
    --------
    >>> thread = DrawingThread()
    >>> stream = Prefetched(
    ...     lambda seed, step: Drawn(torch.full((2,), step)), torch.device("cpu"), thread, 3
    ... )
    >>> [stream(0, step).x.tolist() for step in range(3)]
    [[0, 0], [1, 1], [2, 2]]
    >>> thread.close()
    """

    def __init__(
        self, draw: Stream, device: torch.device, thread: DrawingThread, steps: int | None = None
    ) -> None:
        self._draw, self._device, self._thread, self._steps = draw, device, thread, steps
        self._begun: tuple[tuple[int, int], Future[Drawn]] | None = None
        self._copies: torch.cuda.Stream | None = None

    def __call__(self, seed: int, step: int) -> Drawn:
        """Return the batch of a step, and request the next."""
        (place, begun), self._begun = self._begun or (None, None), None
        if begun is not None and place == (seed, step):
            drawn = self._taken(begun)
        else:  # the first batch, or steps in another order
            self._thread.settle()
            drawn = self._draw(seed, step)
        if self._steps is None or step + 1 < self._steps:
            self._begin(seed, step + 1)
        return drawn

    def _begin(self, seed: int, step: int) -> None:
        if self._copies is None and self._device.type == "cuda":
            self._copies = torch.cuda.Stream(self._device)
            # Rows on the device may still be copied on the stream of the caller.
            self._copies.wait_stream(torch.cuda.current_stream(self._device))
        self._begun = (seed, step), self._thread.begin(partial(self._draw_on_thread, seed, step))

    def _draw_on_thread(self, seed: int, step: int) -> Drawn:
        """Draw a batch on the thread, with its own current stream."""
        if self._copies is None:
            return self._draw(seed, step)
        with torch.cuda.stream(self._copies):
            return self._draw(seed, step)

    def _taken(self, begun: Future[Drawn]) -> Drawn:
        drawn = begun.result()
        if self._copies is not None:
            current = torch.cuda.current_stream(self._device)
            current.wait_stream(self._copies)  # the device waits, not the caller
            for each in drawn:
                if each is not None:  # its memory must not be reused while the step reads it
                    each.record_stream(current)
        return drawn


def draws_ahead(prefetch: Prefetch, device: torch.device, held: bool) -> bool:
    """Whether batches are prefetched; "auto" means only if a GPU would wait for rows."""
    if prefetch == "auto":
        return device.type == "cuda" and not held
    # On MPS two threads can crash the process (pytorch issue 197805); other devices are untested.
    return prefetch == "always" and device.type in ("cpu", "cuda")


# The names of supervisions in `sample_triplets`.
BY: dict[Supervision, TripletsBy] = {
    "scaled": "scaled",
    "factors": "distance",
    "differing": "differing",
    "category": "category",
}

CPU = torch.device("cpu")


def stream_of(
    model: Model,
    data: Any,
    *,
    batch_size: int,
    options: TrainOptions | None = None,
    device: torch.device = CPU,
    steps: int | None = None,
    thread: DrawingThread | None = None,
) -> tuple[Stream, int]:
    """Make the function that draws batches for a model, and count the rows.

    Parameters
    ----------
    model : Model
        It determines the shape, the groups (rows, pairs or triplets), and whether labels are used.
    data : FactorGrid, array-like, Tensor, tuple of these, torch Dataset or DataLoader
        Rows as for `model_inputs.to_input`, in memory. A tuple has the rows and their labels, or
        the first, second and third members of pairs and triplets. Items of a Dataset have the same
        parts for one row; further parts are ignored. A DataLoader, or a Dataset that can only be
        iterated, yields batches of these in its own order and size.
    batch_size : int
        Rows, pairs or triplets in a batch.
    options : TrainOptions, optional
        ``supervision`` orders triplets: by the distance of factors scaled to [0, 1] ("scaled"), of
        factors ("factors"), or of images by the model's loss ("perceived"), by the number of
        factors that differ ("differing"), or by ``category`` (seed 001, equations 5.11, 5.9, 5.24,
        5.6 and 5.5). ``rows_on`` and ``prefetch`` apply to grids and arrays only: a Dataset and a
        DataLoader have their own order and workers, and perceived triplets need the model at their
        step.
    device : torch.device
        Device of the batches, on which triplets are ordered.
    steps : int, optional
        Number of batches that will be drawn.
    thread : DrawingThread, optional
        Thread for prefetching; the caller closes it. Without one nothing is prefetched.

    Returns
    -------
    draw : callable (seed, step) -> Drawn
    size : int
        Number of rows in the data; 1 if a DataLoader does not know it.
    """
    options = TrainOptions() if options is None else options
    if isinstance(data, torch.utils.data.DataLoader):
        # For a stream without length a size of 1 shifts a total correlation by a constant.
        size = len(data.dataset) if hasattr(data.dataset, "__len__") else 1
        return from_loader(model, data, options.supervision, device), size
    if isinstance(data, torch.utils.data.IterableDataset):
        loader = torch.utils.data.DataLoader(data, batch_size=batch_size)
        return from_loader(model, loader, options.supervision, device), 1
    if isinstance(data, torch.utils.data.Dataset):
        return from_dataset(model, data, batch_size, options.supervision, device)
    if isinstance(data, FactorGrid):
        n, drawn = len(data), None if steps is None else steps * batch_size * model.groups
        hold = holds_rows(options.rows_on, device, n, model.shape, drawn)
        rows = HeldRows(model, lambda index: data.images(index, "auto"), n, device, hold)
        draw, held = _from_grid(model, data, rows, batch_size, options, device), hold
    else:
        draw, n, held = _from_arrays(model, data, batch_size, options, device)
    perceived = model.groups == 3 and options.supervision == "perceived"
    if thread is not None and not perceived and draws_ahead(options.prefetch, device, held):
        draw = Prefetched(draw, device, thread, steps)
    return draw, n


def _from_grid(
    model: Model,
    grid: FactorGrid,
    rows: HeldRows,
    batch_size: int,
    options: TrainOptions,
    device: torch.device,
) -> Stream:
    perceived = model.groups == 3 and options.supervision == "perceived"

    def index_of(rng: np.random.Generator) -> np.ndarray:
        if model.groups == 3 and not perceived:
            by, category = BY[options.supervision], options.category
            drawn = sample_triplets(grid, batch_size, by, category=category, random_state=rng)
            return drawn.T.reshape(-1)
        if model.groups == 2:
            if model.pairs == "neighbours":
                return _steps(grid, batch_size, rng).T.reshape(-1)
            # The number of factors that change is random (seed 001, A.2.3).
            return sample_pairs(grid, batch_size, by="differing", random_state=rng).T.reshape(-1)
        return rng.integers(len(grid), size=batch_size)

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        index = index_of(rng)
        x = rows(index, step)
        if perceived:
            return Drawn(ordered_triplets(x, rng, model.settings.loss))
        return Drawn(x, sent(scaled_factors(grid, index), device) if model.labelled else None)

    return draw


def scaled_factors(grid: FactorGrid, index: np.ndarray) -> Tensor:
    """Scale factors to [-1, 1], as labels whose distances are learnt."""
    last = np.maximum(np.array(grid.sizes) - 1, 1)
    return torch.from_numpy(2 * grid.factors(index) / last - 1).float()


def _steps(grid: FactorGrid, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw pairs that differ by one step of one factor; the factor is not returned."""
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


def _from_arrays(
    model: Model, data: Any, batch_size: int, options: TrainOptions, device: torch.device
) -> tuple[Stream, int, bool]:
    """Return the stream, the number of rows, and whether all rows are on the device."""
    parts, labels = _parts(model, data, options.supervision)
    for rows in parts:
        to_input(rows[:1], model.shape)  # raises an error for a wrong shape
    sizes = {len(part) for part in [*parts, *([] if labels is None else [labels])]}
    if len(sizes) > 1:
        raise InputError(f"data must have as many rows in every part; got {sorted(sizes)}.")
    (size,) = sizes
    if size == 0:
        raise InputError("data must have at least one row; got none.")
    perceived = model.groups == 3 and options.supervision == "perceived"
    hold = holds_rows(options.rows_on, device, size * len(parts), model.shape, None)
    sources = [
        HeldRows(model, partial(_take, rows), size, device, hold or _lies_on(rows, device))
        for rows in parts
    ]

    def draw(seed: int, step: int) -> Drawn:
        rng = np.random.default_rng([seed, step])
        index = rng.integers(size, size=batch_size)
        x = torch.cat([source(index, step) for source in sources])
        if perceived:
            return Drawn(ordered_triplets(x, rng, model.settings.loss))
        own = None if labels is None else sent(labels[torch.from_numpy(index)], device)
        return Drawn(x, own)

    return draw, size, all(each.held for each in sources)


def _parts(model: Model, data: Any, supervision: Supervision) -> tuple[list[Any], Tensor | None]:
    """Split data into the rows of every member of a group, and labels."""
    given = list(data) if isinstance(data, tuple) else [data]
    if model.labelled:
        if len(given) != 2:
            raise InputError(
                "Distances are learnt from labels: pass (images, labels) or a FactorGrid; "
                f"got {_described(data)}."
            )
        return [_checked_rows(given[0])], labels_of(given[1])
    perceived = model.groups == 3 and supervision == "perceived"
    if len(given) != (1 if perceived else model.groups):
        if model.groups == 1:
            raise InputError(
                f"{type(model).__name__} takes one array of rows; got {_described(data)}."
            )
        refuse_groups(model, _described(data))
    return [_checked_rows(part) for part in given], None


def _described(data: Any) -> str:
    return f"a tuple of {len(data)} parts" if isinstance(data, tuple) else "one array"


def _checked_rows(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data
    rows = to_numpy(data, "data")
    if rows.dtype.kind not in "fiub":
        raise InputError(f"data must hold numbers; got dtype {rows.dtype}.")
    return check_finite(rows, "data") if rows.dtype.kind == "f" else rows


def _lies_on(rows: Any, device: torch.device) -> bool:
    """Whether rows are a tensor that is already on a device other than the CPU."""
    return isinstance(rows, Tensor) and rows.device.type == device.type != "cpu"


def _take(rows: Any, index: np.ndarray) -> Any:
    return rows[torch.from_numpy(index)] if isinstance(rows, Tensor) else rows[index]
