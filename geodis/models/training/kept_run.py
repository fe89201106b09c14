"""A run that is written where an error breaks it off, if its model stands after a whole step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any

from geodis.base.progress import Stages
from geodis.models.training.rows.dataset_rows import Drawn
from geodis.models.training.train_options import takes_terms
from geodis.models.training.training_run import HISTORY_EVERY, Run

CHILD_ENDED: Any = getattr(signal, "SIGCHLD", None)  # Windows has none


class KeptRun(Run):
    """A run that knows whether the step under way has begun to change its model.

    Parameters
    ----------
    *arguments, **others
        As for `Run`.

    Attributes
    ----------
    whole : bool
        Whether the model stands after a whole step: also while a batch is drawn, and while
        callbacks and loggers are called.
    """

    def __init__(self, *arguments: Any, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self.whole = True
        self._begun_at = self.done.steps
        self._workers = _HeldBack()

    def begin_step(self) -> Drawn:
        """Draw the batch; from then on the step is under way."""
        drawn = super().begin_step()
        self._workers.hold()
        self.whole = False
        return drawn

    def end_step(self, terms: Mapping[str, Any], stages: Stages) -> None:
        """Count the step, also where a logger fails to take its terms."""
        after = self.done.steps + 1
        try:
            super().end_step(terms, stages)
        finally:
            self.done.steps, self.whole = after, True
            self._workers.release()

    def catch_up(self) -> None:
        """Do what follows the last step, of a run that goes on.

        Callbacks are called there if an error kept them from it, and training ends where it did
        end. Callbacks that need the terms of that step wait for the next unless it was noted.
        """
        done, callbacks = self.done, self.options.callbacks or {}
        needed = any(takes_terms(callback, name) for name, callback in callbacks.items())
        able = not needed or (done.steps - 1) % HISTORY_EVERY == 0
        missed = bool(done.history) and done.history[-1]["step"] < done.steps
        if self.calls_back and missed and able:
            self.call_back()
        if self.calls_back or able:  # an end at another step would call them
            self.stop_early()

    def keep(self, error: Exception) -> None:
        """Write the last whole step, after an error, if any was taken since the run began.

        What an error found to be no number is not worth it.
        """
        taken = self.done.steps > self._begun_at
        if taken and self.whole and not isinstance(error, FloatingPointError):
            self._workers.hold()  # others of them may end meanwhile
            self.save_if_due(True)

    def close(self) -> None:
        """End what draws ahead."""
        self._workers.release(tell=False)
        super().close()


class _HeldBack:
    """Keep an error that a DataLoader raises for a worker that ended until a step is done.

    A signal to a whole group of processes ends the workers too, and the error, raised in the
    handler of a signal, would come in the middle of a step.
    """

    def __init__(self) -> None:
        self._handler: Any = None
        self._came = False

    def hold(self) -> None:
        """From now on, only note that a worker ended."""
        if CHILD_ENDED is None or self._handler is not None:
            return
        handler = signal.getsignal(CHILD_ENDED)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._handler, self._came = handler, False
            signal.signal(CHILD_ENDED, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True

    def release(self, tell: bool = True) -> None:
        """Put the handler back, and tell it what it missed."""
        handler, self._handler = self._handler, None
        if handler is not None:
            signal.signal(CHILD_ENDED, handler)
            if tell and self._came:
                signal.raise_signal(CHILD_ENDED)
