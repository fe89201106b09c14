"""Ctrl-C, and a request to end, that wait for the step under way."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

# Ctrl-C, and what a cluster sends before it takes the machine away.
SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
