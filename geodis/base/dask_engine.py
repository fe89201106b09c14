"""Run tasks on the workers of a Dask cluster, a limited number at a time."""

from __future__ import annotations

import asyncio
import logging
import math
import multiprocessing
import os
import pickle
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count, islice
from queue import Empty, SimpleQueue
from typing import Any

from geodis.base.check import require
from geodis.base.engine import (
    Engine,
    EngineError,
    TaskOutcome,
    Told,
    call_task,
    innermost,
    portable_error,
)

# Tasks per thread of the cluster: one runs and two wait, so that no worker is idle while an outcome
# is transferred.
A_THREAD = 3
# Seconds between counts of the workers of a cluster.
COUNT_AGAIN = 1.0
LOOK_UP = 0.5
DEADLY = "Every worker that ran this task died, possibly from lack of memory."


def require_distributed() -> Any:
    """Import the package distributed, or raise an error that says how to install it."""
    return require("distributed", purpose="a cluster")


class DaskEngine(Engine):
    """Runs tasks on the workers of a `distributed.Client`.

    The scheduler moves a task whose worker died to another worker, as often as its setting
    ``allowed-failures`` permits (three times by default). Tasks that exceed this are repeated
    alone at the end; if their workers die again, the outcome is an error.

    Parameters
    ----------
    client : distributed.Client
        A client whose workers have geodis installed.
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
            # Dask blames a death on every task assigned to the worker, even if it was only waiting.
            # A task that runs alone is responsible itself.
            for index, task in suspects:
                calls.begin(index, task)
                outcome = calls.next()[2]
                yield index, outcome or TaskOutcome(error=EngineError(DEADLY))
        finally:
            calls.drop()

    def _room(self) -> int:
        """Return the number of tasks to submit; a cluster may grow, shrink or be starting."""
        if time.monotonic() > self._counted + COUNT_AGAIN:
            self.n_workers = max(1, sum(self.client.nthreads().values()))
            self._counted = time.monotonic()
        return A_THREAD * self.n_workers


class _Calls:
    """The running calls of one function on a cluster."""

    def __init__(
        self, client: Any, function: Callable[..., Any], shared: tuple[Any, ...], told: Told | None
    ) -> None:
        self._client = client
        self._told = told
        self._function = function
        self._name = f"{getattr(function, '__name__', 'task')}-{uuid.uuid4().hex[:12]}"
        self._numbers = count()
        # Kept by value in the scheduler's memory, from which a worker that replaces a dead one gets
        # it. Scattered data would be lost with the last worker that had a copy.
        self._shared = self._submit(f"shared-{self._name}", _as_given, _Sent(shared))
        self._tasks: dict[Any, tuple[int, Any]] = {}
        # Ended calls with their futures, and progress reports, which have no future (None).
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
        """Wait for a call on the client's own thread, and queue its outcome."""
        found: Any
        try:
            found = await self._client.gather(future, asynchronous=True)
        except BaseException as error:  # CancelledError is no Exception
            found = error
        self._heard.put((future, found))

    def _submit(self, key: str, *call: Any) -> Any:
        import dask

        try:
            # Shared data may be large, but are sent once: Dask's warning does not apply.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"}):
                return self._client.submit(*call, key=key)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            reason = innermost(error)
            raise EngineError(f"Tasks of a cluster must be picklable; got {reason}.") from error

    def next(self) -> tuple[int, Any, TaskOutcome | None]:
        """Wait for the next call to end; an outcome of None means that it may kill workers."""
        future, found = self._wait()
        index, task = self._tasks.pop(future)
        if isinstance(found, bytes):
            return index, task, pickle.loads(found)
        if not isinstance(found, Exception) or isinstance(found, CancelledError):
            raise EngineError("The cluster must last to the end; its scheduler was lost.")
        if type(found).__name__ == "KilledWorker":
            return index, task, None
        return index, task, TaskOutcome(error=found)  # the worker could not read the call

    def _wait(self) -> tuple[Any, bytes | BaseException]:
        while True:
            try:
                future, found = self._heard.get(timeout=LOOK_UP)
            except Empty:  # on Windows, Ctrl-C is noticed only between two waits
                continue
            if future is not None:
                return future, found
            if self._told is not None:
                self._told(*found)

    def drop(self) -> None:
        """Abandon running calls without waiting: a lost cluster never answers."""
        if self._told is not None:
            self._client.unsubscribe_topic(self._name)
        for future in (*self._tasks, self._shared):
            future.release()
        self._tasks.clear()


class _Sent:
    """Prevents Dask from looking for futures inside a value."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _as_given(sent: _Sent) -> _Sent:
    return sent


def _call(
    function: Callable[..., Any], index: int, task: Any, shared: _Sent, topic: str | None
) -> bytes:
    """Return the pickled outcome: Dask would request a value that cannot be pickled for ever."""
    from cloudpickle import dumps

    listener = None if topic is None else partial(_tell, topic, index)
    outcome = call_task(function, task, shared.value, portable=True, listener=listener)
    try:
        return dumps(outcome)
    except Exception as error:  # objects may raise anything when they are pickled
        return dumps(TaskOutcome(error=portable_error(error)))


def _tell(topic: str, index: int, share: float) -> None:
    from distributed import get_worker

    get_worker().log_event(topic, (index, share))


# Clients of Dask clusters: local processes, a scheduler's address, or the user's own client.

# Seconds for a scheduler to answer, and for its first worker to appear.
PATIENCE = 10
# Seconds for idle workers to end.
GOODBYE = 2

# Local workers need no statistical profile (a sample every ten milliseconds), no memory balancing
# and no dashboard. A worker may not answer for minutes while a compiled kernel holds the
# interpreter lock: this does not mean that it is dead. Monitoring fifty times a second would cost
# one percent of a core or more per process. Dask's allocator variables, which return memory to the
# system at every chance, would cost more time than small tasks take.
LOCAL_SETTINGS: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.allowed-failures": 1,
    "distributed.nanny.pre-spawn-environ": {},
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
}


@contextmanager
def local_client(n_workers: int) -> Iterator[Any]:
    """Start single-threaded worker processes, and end them in any case.

    Parameters
    ----------
    n_workers : int

    Yields
    ------
    distributed.Client
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        sys.exit(1)  # a worker imports the script; the process that started it reports the reason
    distributed = require_distributed()
    import dask

    variables = dict(os.environ)
    cluster = client = None
    finished = False
    with dask.config.set(LOCAL_SETTINGS), _quiet():
        try:
            try:
                with _interrupts_later():
                    cluster = distributed.LocalCluster(
                        n_workers=n_workers,
                        threads_per_worker=1,
                        processes=True,
                        silence_logs=logging.CRITICAL,
                        # No dashboard, and any free port.
                        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                    )
                client = distributed.Client(cluster, set_as_default=False)
            except (OSError, RuntimeError, asyncio.TimeoutError) as error:
                raise EngineError(
                    "Worker processes must be started under `if __name__ == '__main__':` in a "
                    f"script; got an error at their start ({innermost(error)})."
                ) from error
            yield client
            finished = True
        finally:
            if cluster is not None:
                _end(cluster, client, at_once=not finished)
            _restore(variables)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's log, which repeats outcomes and errors as tracebacks.

    After an error the log stays silent, because Dask's own threads go on reporting it.
    """
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    yield
    log.setLevel(level)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Delay Ctrl-C, and block it for good in threads and processes that start inside the block.

    A partly started cluster cannot be closed, and workers would print tracebacks.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which unblocks signals when it is first called
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(cluster: Any, client: Any, at_once: bool) -> None:
    """Close a local cluster, in the middle of its tasks if `at_once`."""
    nannies = list(cluster.workers.values())
    pids = [nanny.pid for nanny in nannies]
    if at_once:
        for nanny, pid in zip(nannies, pids, strict=True):
            nanny.auto_restart = False
            nanny.close_gracefully()
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    with suppress(Exception):
        if client is not None:
            client.close(timeout=GOODBYE)
    with suppress(Exception):
        cluster.close(timeout=GOODBYE)


def _restore(variables: dict[str, str]) -> None:
    """Undo Dask's changes to the environment variables of this process."""
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    os.environ.update(variables)


@contextmanager
def connected(cluster: Any) -> Iterator[Any]:
    """Connect to a cluster by address, or use a client, and check its workers.

    Parameters
    ----------
    cluster : str or distributed.Client

    Yields
    ------
    distributed.Client
    """
    distributed = require_distributed()
    if not isinstance(cluster, str):
        check_workers(cluster, "the client's cluster")
        yield cluster
        return
    with _quiet(), _client_at(distributed, cluster) as client:
        check_workers(client, cluster)
        yield client


@contextmanager
def _client_at(distributed: Any, cluster: str) -> Iterator[Any]:
    # In two steps, to keep a reference to a failed client: Dask's client closes itself when it is
    # garbage-collected, and may then wait for a lock that its own thread holds.
    client = distributed.Client.__new__(distributed.Client)
    try:
        try:
            client.__init__(cluster, timeout=PATIENCE, set_as_default=False)
        except (OSError, asyncio.TimeoutError, ValueError) as error:
            raise EngineError(
                f"cluster must be 'local' or the address of a running Dask scheduler; got "
                f"{cluster!r}, which does not answer."
            ) from error
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=GOODBYE)


def check_workers(client: Any, where: str) -> None:
    """Require workers with the same version of geodis."""
    from geodis import __version__

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except (TimeoutError, asyncio.TimeoutError) as error:
        raise EngineError(f"A cluster needs a worker; got none at {where}.") from error

    def version() -> str:  # a nested function is pickled by value, so workers need no geodis
        try:
            from geodis import __version__
        except ImportError:
            return ""
        return __version__

    for worker, found in client.run(version).items():
        if found != __version__:
            got = f"geodis {found}" if found else "none"
            raise EngineError(
                f"Every worker needs geodis {__version__}; got {got} on {worker} of {where}."
            )
