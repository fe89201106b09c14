"""How far a long task is: told where it runs, heard where the engine was opened."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
    >>> from geodis.base.engines.serial_engine import SerialEngine
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
