"""What an engine is: tasks in, outcomes out as they come, and one function that calls a task."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from geodis.base.check import InputError
from geodis.base.engines.task_progress import heard_by
from geodis.base.jobs import one_blas_thread

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
