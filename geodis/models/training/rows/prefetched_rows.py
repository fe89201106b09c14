"""Batches drawn ahead: a thread draws the next one while a step is taken with this one.

Only where a batch is a function of the seed and its step, and of no state that a draw moves: it is
then the same batch, whoever draws it and when.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any

import torch

from geodis.models.training.rows.dataset_rows import Drawn, Stream
from geodis.models.training.train_options import Prefetch


class DrawingThread:
    """One thread that draws what it is told, one batch after another; it begins with the first.

    Several streams may share it, so that there are never two draws at once.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def begin(self, draw: Callable[[], Drawn]) -> Future[Drawn]:
        """Have a batch drawn, after those that were begun before."""
        if self._thread is None:
            self._tasks: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
            self._ended = threading.Event()
            # A daemon: where nobody closes it, it does not keep the process alive.
            thread = threading.Thread(
                target=_work, args=(self._tasks,), name="geodis draws ahead", daemon=True
            )
            thread.start()
            self._thread = thread
        begun: Future[Drawn] = Future()
        self._tasks.put(partial(_draw_into, begun, draw, self._ended))
        return begun

    def settle(self) -> None:
        """Wait until all that was begun is drawn."""
        if self._thread is not None:
            reached = threading.Event()
            self._tasks.put(reached.set)
            reached.wait()

    def close(self) -> None:
        """End the thread after the batch that it is at; others that were begun are given up."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._ended.set()
            self._tasks.put(None)
            thread.join()


def _work(tasks: SimpleQueue[Callable[[], Any] | None]) -> None:
    # It knows its tasks and not its owner, and forgets each, which holds a batch, before the next.
    while (task := tasks.get()) is not None:
        task()
        del task


def _draw_into(begun: Future[Drawn], draw: Callable[[], Drawn], ended: threading.Event) -> None:
    if ended.is_set():
        begun.cancel()
        return
    try:
        begun.set_result(draw())
    except BaseException as error:  # whatever it is, it belongs to the step that asks for the batch
        begun.set_exception(error)


class Prefetched:
    """A stream whose next batch is drawn by a thread: same numbers, sooner.

    Every call begins the batch of the next step; an error in it is raised by the call for that
    step. On CUDA the thread copies on a stream of its own, beside the kernels of the step.

    Parameters
    ----------
    draw : callable (seed, step) -> Drawn
        A function of both alone, see above.
    device : torch.device
        Where its batches are.
    thread : DrawingThread
        Whoever made it closes it.
    steps : int, optional
        How many batches there will be; none is begun beyond.

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
        """Return the batch of a step, and begin the next."""
        (place, begun), self._begun = self._begun or (None, None), None
        if begun is not None and place == (seed, step):
            drawn = self._taken(begun)
        else:  # the first, or another order of steps
            self._thread.settle()
            drawn = self._draw(seed, step)
        if self._steps is None or step + 1 < self._steps:
            self._begin(seed, step + 1)
        return drawn

    def _begin(self, seed: int, step: int) -> None:
        if self._copies is None and self._device.type == "cuda":
            self._copies = torch.cuda.Stream(self._device)
            # What lies on the device came there on the caller's stream, perhaps a moment ago.
            self._copies.wait_stream(torch.cuda.current_stream(self._device))
        self._begun = (seed, step), self._thread.begin(partial(self._draw_on_thread, seed, step))

    def _draw_on_thread(self, seed: int, step: int) -> Drawn:
        """The batch, drawn on the thread; which stream is current is a matter of the thread."""
        if self._copies is None:
            return self._draw(seed, step)
        with torch.cuda.stream(self._copies):
            return self._draw(seed, step)

    def _taken(self, begun: Future[Drawn]) -> Drawn:
        drawn = begun.result()
        if self._copies is not None:
            current = torch.cuda.current_stream(self._device)
            current.wait_stream(self._copies)  # on the device: the caller goes on at once
            for each in drawn:
                if each is not None:  # its memory is not given away while the step may read it
                    each.record_stream(current)
        return drawn


def draws_ahead(prefetch: Prefetch, device: torch.device, held: bool) -> bool:
    """Whether batches are drawn ahead: where nobody says, if a GPU would wait for rows."""
    if prefetch == "auto":
        return device.type == "cuda" and not held
    # On MPS two threads at once may end the process (pytorch issue 197805); others are untried.
    return prefetch == "always" and device.type in ("cpu", "cuda")
