"""What an engine is: tasks in, outcomes out as they come, and one function that calls a task."""

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

# How far a long task is: told where it runs, heard where the engine was opened.

# Seconds between two words of one task.
SELDOM = 0.5

_LISTENER: ContextVar[Callable[[float], None] | None] = ContextVar("listener", default=None)


def tell_progress(share: float) -> None:
    """Say how much of the task that calls this is done, 0 to 1; outside of a task it does nothing.

    Parameters
    ----------
    share : float
        Passed on at most twice a second, so that a loop may say it at every step.

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
    """Pass on what is told inside, now and then."""
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


# Hears the index of a task and the share of it that is done.
Told = Callable[[int, float], None]


class EngineError(InputError):
    """Tasks cannot run where they were sent, or what ran them is gone."""


@dataclass(frozen=True)
class TaskOutcome:
    """What became of a task: its value, or the exception that ended it.

    Attributes
    ----------
    value : object
        What the function returned; None if it raised.
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
    """Runs tasks that do not need one another.

    What comes out does not depend on the engine or on the number of its workers, but for the order.
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
        """Call ``function(task, *shared)`` for every task, and give outcomes as they come.

        Few tasks are under way at a time, and more are taken only when an outcome is asked for:
        neither a million tasks nor their outcomes stand in memory. Whoever stops asking, by
        `break` or by Ctrl-C, ends it; what has not begun never does.

        Parameters
        ----------
        function : callable
            Its numpy calls get one BLAS thread: sums in another order differ in their last digits.
        tasks : iterable
        shared : tuple
            Sent to every worker once, such as a fitted model; not to be changed.
        told : callable, optional
            Called with the index of a task and the share of it that is done, as `tell_progress`
            says it there, while an outcome is waited for.

        Yields
        ------
        index : int
            Of the task in ``tasks``.
        outcome : TaskOutcome
            An exception of one task is its outcome, and the others go on.

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
    """Call a function on a task; an exception is the outcome.

    Parameters
    ----------
    function, task, shared
        As in `Engine.run`.
    portable : bool
        Replace an exception that cannot be sent to another process by one that can.
    listener : callable, optional
        Told the share of the task that is done.

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
    """Return the exception, or one with its text if another process could not read it."""
    try:
        if isinstance(pickle.loads(pickle.dumps(error)), Exception):
            return error
    except Exception:  # whatever an exception of other people's does when it is pickled
        pass
    return RuntimeError(f"{type(error).__name__}: {error}")


def innermost(error: BaseException) -> BaseException:
    """Return the first of a chain of exceptions, which says what was the matter."""
    while (earlier := error.__cause__ or error.__context__) is not None:
        error = earlier
    return error


# Tasks one after the other, in this process.


class SerialEngine(Engine):
    """Runs one task after the other, in their order.

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


# From what a user says of a cluster to an engine, closed again whatever happens.

LOCAL = "local"


@contextmanager
def open_engine(cluster: Any = None, *, n_workers: int | None = None) -> Iterator[Engine]:
    """Open what runs tasks, and close what was opened at the end.

    Parameters
    ----------
    cluster : None, str or distributed.Client
        None for one task after the other in this process, "local" for processes on this machine,
        the address of the scheduler of a Dask cluster, as tcp://10.0.0.1:8786, or a client.
    n_workers : int, optional
        Of "local" alone: processes of one thread each; by default, and for -1, one a core.

    Yields
    ------
    Engine

    Raises
    ------
    EngineError
        If the cluster cannot be reached, or has no geodis or another version of it.
    MissingExtraError
        If a cluster is asked for and distributed is not installed.

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
