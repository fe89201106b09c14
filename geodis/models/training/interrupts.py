"""Ctrl-C that waits for the step under way."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Interrupts:
    """Keep Ctrl-C until the step under way is done, so that a checkpoint is of a whole step.

    A second one interrupts at once. Outside the main thread Python lets nobody listen.

    Attributes
    ----------
    asked : bool
        Whether Ctrl-C was pressed.
    """

    def __enter__(self) -> Interrupts:
        self.asked = False
        self._listening = threading.current_thread() is threading.main_thread()
        if self._listening:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *exception: object) -> None:
        if self._listening:
            signal.signal(signal.SIGINT, self._before)
