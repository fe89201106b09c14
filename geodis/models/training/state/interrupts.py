"""Ctrl-C, and a request to end, that wait for the step under way."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

# Ctrl-C, and what a cluster sends before it takes the machine away.
SIGNALS = (signal.SIGINT, signal.SIGTERM)
CHILD_ENDED: Any = getattr(signal, "SIGCHLD", None)  # Windows has none


class Interrupts:
    """Keep Ctrl-C and SIGTERM until the step under way is done: a checkpoint is of whole steps.

    A second one interrupts at once. Outside the main thread Python lets nobody listen.

    Attributes
    ----------
    asked : bool
        Whether one of them came.
    """

    def __enter__(self) -> Interrupts:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *exception: object) -> None:
        for number, before in self._before.items():
            # None stands for a handler that was not set from Python, and cannot be put back.
            signal.signal(number, signal.SIG_DFL if before is None else before)


class WorkerSignals:
    """Hold back the error that a DataLoader raises for a worker that ended until a step is done.

    A signal to a whole group of processes ends the workers too, and the error, which is raised in
    the handler of a signal, would come in the middle of a step.
    """

    def __init__(self) -> None:
        self._handler: Any = None
        self._came = False

    def hold(self) -> None:
        """Only note, from now on, that a worker ended."""
        if CHILD_ENDED is None or self._handler is not None:
            return
        handler = signal.getsignal(CHILD_ENDED)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._handler, self._came = handler, False
            signal.signal(CHILD_ENDED, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def release(self, tell: bool = True) -> None:
        """Put the handler back, and pass on what it missed."""
        handler, self._handler = self._handler, None
        if handler is not None:
            signal.signal(CHILD_ENDED, handler)
            if tell and self._came:
                signal.raise_signal(CHILD_ENDED)
