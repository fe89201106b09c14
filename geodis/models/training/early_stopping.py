"""Early stopping: end a run when a value of its history has not been better for long."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_real


class EarlyStopping:
    """Say that a run is done once a value has not become better for some steps.

    For `TrainOptions.stop_when`, which takes any function of the history.

    Parameters
    ----------
    name : str
        A term, as "reconstruction", or what a callback returns, as "score mig": `TrainOptions` then
        says so to it, and it waits for the first call.
    patience : int
        Steps without a better value.
    least : float
        By how much a value has to be better to count.
    better : {"lower", "higher"}
    average : int
        Rows with this name whose mean is compared: the value of one batch is noisy. Terms have a
        row every tenth step, what a callback returns one every ``callback_every`` steps: mostly 1
        is right for these.

    Examples
    --------
    >>> stop = EarlyStopping("kl", patience=20, average=1)
    >>> history = [{"step": step, "kl": value} for step, value in [(0, 3.0), (10, 2.0), (20, 2.5)]]
    >>> stop(history), stop([*history, {"step": 30, "kl": 2.1}])
    (False, True)
    """

    def __init__(
        self,
        name: str,
        patience: int,
        *,
        least: float = 0.0,
        better: str = "lower",
        average: int = 10,
    ) -> None:
        self.name = name
        self.patience = check_int(patience, "patience", low=1)
        self.least = check_real(least, "least", low=0)
        self.better = check_choice(better, "better", ("lower", "higher"))
        self.average = check_int(average, "average", low=1)
        self._callbacks: tuple[str, ...] = ()

    def with_callbacks(self, callbacks: Collection[str]) -> EarlyStopping:
        """The same, for a run with callbacks of these names."""
        known = copy(self)
        known._callbacks = tuple(callbacks)
        return known

    def __call__(self, history: Sequence[Mapping[str, float]]) -> bool:
        """Whether the run is done."""
        rows = [row for row in history if self.name in row]
        if not rows:
            if history and history[-1]["step"] >= self.patience:
                self._refuse_unknown({name for row in history for name in row} - {"step"})
            return False
        steps = np.array([row["step"] for row in rows])
        values = np.array([row[self.name] for row in rows], dtype=float)
        if self.better == "higher":
            values = -values
        if len(values) < self.average:
            return False
        means = np.convolve(values, np.full(self.average, 1 / self.average), mode="valid")
        steps = steps[self.average - 1 :]
        best, since = np.inf, steps[0]
        for step, mean in zip(steps.tolist(), means.tolist(), strict=True):
            if mean < best - self.least:
                best, since = mean, step
        return bool(steps[-1] - since >= self.patience)

    def _refuse_unknown(self, known: set[str]) -> None:
        """Say which names there are, unless a callback that was not called yet may bring this."""
        uncalled = {
            each for each in self._callbacks if not any(_is_of(name, each) for name in known)
        }
        if any(_is_of(self.name, each) for each in uncalled):
            return
        names = ", ".join(sorted(known | uncalled))
        raise InputError(f"EarlyStopping needs a name in the history, {names}; got {self.name!r}.")


def _is_of(name: str, callback: str) -> bool:
    """Whether a name in the history is that of a callback, or of one of several it returns."""
    return name == callback or name.startswith(f"{callback} ")
