"""Engines run tasks and yield outcomes; here are their interface and the serial engine."""

from __future__ import annotations

import math
import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from geodis.base.check import InputError
from geodis.base.jobs import check_jobs, one_blas_thread

# Progress of a long task, reported where it runs and received where the engine was opened.

# Minimum seconds between two reports of one task.
SELDOM = 0.5

_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


def tell_progress(share: float) -> None:
    """Report the completed share (0 to 1) of the running task; outside a task, do nothing.

    Parameters
    ----------
    share : float
        Forwarded at most twice a second, so a loop may report every step.

    Examples
    --------
    >>> from geodis.base.engine import SerialEngine
    >>> heard = lambda index, share: print(f"task {index}: {share:.0%}")
    >>> [outcome.error for _, outcome in SerialEngine().run(tell_progress, [0.5], told=heard)]
    task 0: 50%
    [None]
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener(share)


@contextmanager
def heard_by(listener: Callable[[float], None] | None) -> Iterator[None]:
    """Forward progress reported inside the block, at a limited rate."""
    last = -math.inf

    def now_and_then(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if listener is not None and now >= last + SELDOM:
            last = now
            listener(float(share))

    token = _LISTENER.set(None if listener is None else now_and_then)
    try:
        yield
    finally:
        _LISTENER.reset(token)


# Receives the index of a task and its completed share.
Told = Callable[[int, float], None]


class EngineError(InputError):
    """Tasks cannot run on the requested engine, or the engine was lost."""


@dataclass(frozen=True)
class TaskOutcome:
    """The result of a task: its value, or the exception that ended it.

    Attributes
    ----------
    value : object
        The return value of the function; None if it raised.
    error : Exception or None

    Examples
    --------
    >>> TaskOutcome(3).result()
    3
    """

    value: Any = None
    error: Exception | None = None

    def result(self) -> Any:
        """Return the value, or raise the exception."""
        if self.error is not None:
            raise self.error
        return self.value


class Engine(ABC):
    """Runs independent tasks.

    The outcomes, but not their order, are independent of the engine and its number of workers.
    """

    n_workers: int = 1

    @abstractmethod
    def run(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Any],
        *,
        shared: tuple[Any, ...] = (),
        told: Told | None = None,
    ) -> Iterator[tuple[int, TaskOutcome]]:
        """Call ``function(task, *shared)`` for every task, and yield outcomes as they arrive.

        Only a few tasks run at a time, and more are started only when an outcome is requested, so
        neither a million tasks nor their outcomes are held in memory. If the caller stops
        iterating, by `break` or Ctrl-C, the remaining tasks are never started.

        Parameters
        ----------
        function : callable
            Called with one BLAS thread, because the order of sums affects their last digits.
        tasks : iterable
        shared : tuple
            Sent to every worker once, such as a fitted model; must not be modified.
        told : callable, optional
            Called with the index of a task and its completed share, reported with
            `tell_progress`, while waiting for an outcome.

        Yields
        ------
        index : int
            Index of the task in ``tasks``.
        outcome : TaskOutcome
            An exception of one task is its outcome; the other tasks continue.

        Raises
        ------
        EngineError
            If the cluster is lost.
        """


def call_task(
    function: Callable[..., Any],
    task: Any,
    shared: tuple[Any, ...],
    *,
    portable: bool = False,
    listener: Callable[[float], None] | None = None,
) -> TaskOutcome:
    """Call a function on a task, and return its value or exception as an outcome.

    Parameters
    ----------
    function, task, shared
        As in `Engine.run`.
    portable : bool
        Replace an exception that cannot be sent to another process.
    listener : callable, optional
        Called with the completed share of the task.

    Examples
    --------
    >>> call_task(divmod, 7, (2,)).value
    (3, 1)
    >>> call_task(divmod, 7, (0,)).error
    ZeroDivisionError('integer division or modulo by zero')
    """
    with one_blas_thread(), heard_by(listener):
        try:
            return TaskOutcome(function(task, *shared))
        except Exception as error:
            return TaskOutcome(error=portable_error(error) if portable else error)


def portable_error(error: Exception) -> Exception:
    """Return the exception, or a RuntimeError with its text if it cannot be pickled."""
    try:
        if isinstance(pickle.loads(pickle.dumps(error)), Exception):
            return error
    except Exception:  # other people's exceptions may raise anything when they are pickled
        pass
    return RuntimeError(f"{type(error).__name__}: {error}")


def innermost(error: BaseException) -> BaseException:
    """Return the first of a chain of exceptions, which names the cause."""
    while (earlier := error.__cause__ or error.__context__) is not None:
        error = earlier
    return error


class SerialEngine(Engine):
    """Runs tasks in order in this process.

    Examples
    --------
    >>> [(index, outcome.value) for index, outcome in SerialEngine().run(pow, [2, 3], shared=(2,))]
    [(0, 4), (1, 9)]
    """

    def run(  # noqa: D102
        self,
        function: Callable[..., Any],
        tasks: Iterable[Any],
        *,
        shared: tuple[Any, ...] = (),
        told: Told | None = None,
    ) -> Iterator[tuple[int, TaskOutcome]]:
        for index, task in enumerate(tasks):
            listener = None if told is None else partial(told, index)
            yield index, call_task(function, task, shared, listener=listener)


# Engines from the user's description of a cluster.

LOCAL = "local"


@contextmanager
def open_engine(cluster: Any = None, *, n_workers: int | None = None) -> Iterator[Engine]:
    """Open an engine, and close at the end what was opened for it.

    Parameters
    ----------
    cluster : None, str or distributed.Client
        None to run tasks serially in this process, "local" for processes on this machine, the
        address of a Dask scheduler such as tcp://10.0.0.1:8786, or a client.
    n_workers : int, optional
        Only for "local": the number of single-threaded processes; one per core by default and for
        -1.

    Yields
    ------
    Engine

    Raises
    ------
    EngineError
        If the cluster cannot be reached, or its workers lack this version of geodis.
    MissingExtraError
        If a cluster is requested and distributed is not installed.

    Examples
    --------
    >>> with open_engine() as engine:
    ...     print([outcome.value for _, outcome in engine.run(abs, [-1, 2])])
    [1, 2]
    """
    check_jobs(n_workers, default=-1)
    address = isinstance(cluster, str)
    if not (cluster is None or address or hasattr(cluster, "scheduler_info")):
        raise InputError(
            "cluster must be None, 'local', the address of a Dask scheduler or a "
            f"distributed.Client; got {cluster!r}."
        )
    if n_workers is not None and cluster != LOCAL:
        raise InputError(
            f"n_workers must be left out unless cluster is 'local'; got {n_workers} with "
            f"cluster={cluster!r}."
        )
    if cluster is None:
        yield SerialEngine()
        return
    from geodis.base.dask_engine import DaskEngine, connected, local_client

    if cluster == LOCAL:
        opened = local_client(check_jobs(n_workers, default=-1))
    else:
        opened = connected(cluster)
    with opened as client:
        yield DaskEngine(client)
