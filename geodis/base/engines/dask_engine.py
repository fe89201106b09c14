"""Tasks on the workers of a Dask cluster, few under way at a time."""

from __future__ import annotations

import math
import pickle
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from functools import partial
from itertools import count, islice
from queue import Empty, SimpleQueue
from typing import Any

from geodis.base.check import require
from geodis.base.engines.engine import (
    Engine,
    EngineError,
    TaskOutcome,
    Told,
    call_task,
    innermost,
    portable_error,
)

# Tasks under way for every thread of the cluster: one that runs and two that wait their turn, so
# that no worker is idle while an outcome travels.
A_THREAD = 3
# Seconds after which the workers of a cluster are counted again.
COUNT_AGAIN = 1.0
LOOK_UP = 0.5
DEADLY = "Every worker that took this task died on it, perhaps of too little memory."


def require_distributed() -> Any:
    """The package distributed, or a sentence that says what is missing."""
    return require("distributed", purpose="a cluster")


class DaskEngine(Engine):
    """Runs tasks on the workers of a `distributed.Client`.

    The scheduler gives a task whose worker died to another worker, as often as its setting
    ``allowed-failures`` says (three times by default). What went through all of that is tried
    once more at the end, alone; if its workers die again, that is its outcome.

    Parameters
    ----------
    client : distributed.Client
        Of workers with geodis.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._counted = -math.inf
        self._room()

    def run(  # noqa: D102
        self,
        function: Callable[..., Any],
        tasks: Iterable[Any],
        *,
        shared: tuple[Any, ...] = (),
        told: Told | None = None,
    ) -> Iterator[tuple[int, TaskOutcome]]:
        calls = _Calls(self.client, function, shared, told)
        waiting = enumerate(tasks)
        suspects: list[tuple[int, Any]] = []
        try:
            while True:
                for index, task in islice(waiting, max(0, self._room() - calls.count)):
                    calls.begin(index, task)
                if not calls.count:
                    break
                index, task, outcome = calls.next()
                if outcome is None:
                    suspects.append((index, task))
                else:
                    yield index, outcome
            # Dask blames a death on every task that the worker had, those too that only waited
            # there. Alone it is the task.
            for index, task in suspects:
                calls.begin(index, task)
                outcome = calls.next()[2]
                yield index, outcome or TaskOutcome(error=EngineError(DEADLY))
        finally:
            calls.drop()

    def _room(self) -> int:
        """How many tasks may be under way; a cluster may grow, shrink or be about to start."""
        if time.monotonic() > self._counted + COUNT_AGAIN:
            self.n_workers = max(1, sum(self.client.nthreads().values()))
            self._counted = time.monotonic()
        return A_THREAD * self.n_workers


class _Calls:
    """The calls of one function that are under way on a cluster."""

    def __init__(
        self,
        client: Any,
        function: Callable[..., Any],
        shared: tuple[Any, ...],
        told: Told | None,
    ) -> None:
        self._client = client
        self._told = told
        self._function = function
        self._name = f"{getattr(function, '__name__', 'task')}-{uuid.uuid4().hex[:12]}"
        self._numbers = count()
        # By value in the scheduler's memory: a worker that takes the place of a dead one gets it
        # from there, while data that was scattered would be lost with the last worker that had it.
        self._shared = self._submit(f"shared-{self._name}", _as_given, _Sent(shared))
        self._tasks: dict[Any, tuple[int, Any]] = {}
        # Ends of calls, and what is told of those under way, which has no future.
        self._heard: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        if told is not None:
            client.subscribe_topic(self._name, lambda event: self._heard.put((None, event[1])))

    @property
    def count(self) -> int:
        return len(self._tasks)

    def begin(self, index: int, task: Any) -> None:
        key = f"{self._name}-{next(self._numbers)}"
        topic = None if self._told is None else self._name
        future = self._submit(key, _call, self._function, index, task, self._shared, topic)
        self._tasks[future] = index, task
        self._client.loop.add_callback(self._watch, future)

    async def _watch(self, future: Any) -> None:
        """Wait for a call on the client's own thread, and keep what comes of it."""
        found: Any
        try:
            found = await self._client.gather(future, asynchronous=True)
        except BaseException as error:  # CancelledError is no Exception
            found = error
        self._heard.put((future, found))

    def _submit(self, key: str, *call: Any) -> Any:
        import dask

        try:
            # What is shared may be large, and is sent once: Dask's warning knows no better way.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
                return self._client.submit(*call, key=key)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            reason = innermost(error)
            raise EngineError(f"Tasks of a cluster must be picklable; got {reason}.") from error

    def next(self) -> tuple[int, Any, TaskOutcome | None]:
        """Wait for the next one to end; without an outcome it is suspected of killing workers."""
        future, found = self._wait()
        index, task = self._tasks.pop(future)
        if isinstance(found, bytes):
            return index, task, pickle.loads(found)
        if not isinstance(found, Exception) or isinstance(found, CancelledError):
            raise EngineError("The cluster must last to the end; its scheduler was lost.")
        if type(found).__name__ == "KilledWorker":
            return index, task, None
        return index, task, TaskOutcome(error=found)  # of what could not be read there

    def _wait(self) -> tuple[Any, bytes | BaseException]:
        while True:
            try:
                future, found = self._heard.get(timeout=LOOK_UP)
            except Empty:  # Windows hears of Ctrl-C between two waits alone
                continue
            if future is not None:
                return future, found
            if self._told is not None:
                self._told(*found)

    def drop(self) -> None:
        """Give up what is under way without waiting: a cluster that is gone never answers."""
        if self._told is not None:
            self._client.unsubscribe_topic(self._name)
        for future in (*self._tasks, self._shared):
            future.release()
        self._tasks.clear()


class _Sent:
    """Keeps Dask from looking for futures inside what is sent."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _as_given(sent: _Sent) -> _Sent:
    return sent


def _call(
    function: Callable[..., Any], index: int, task: Any, shared: _Sent, topic: str | None
) -> bytes:
    """Return the pickled outcome: of a value that cannot be pickled Dask would ask for ever."""
    from cloudpickle import dumps

    listener = None if topic is None else partial(_tell, topic, index)
    outcome = call_task(function, task, shared.value, portable=True, listener=listener)
    try:
        return dumps(outcome)
    except Exception as error:  # whatever objects do when they are pickled
        return dumps(TaskOutcome(error=portable_error(error)))


def _tell(topic: str, index: int, share: float) -> None:
    from distributed import get_worker

    get_worker().log_event(topic, (index, share))
