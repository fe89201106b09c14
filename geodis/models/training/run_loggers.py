"""Loggers: what is told every row of a run's history while it runs, as CSV and to TensorBoard."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from geodis.base.check import InputError, require
from geodis.base.write import whole_file

Row = Mapping[str, float]
HEADER = ("step", "name", "value")


class RunLogger:
    """What `TrainOptions.loggers` holds: told of the beginning, of every row, and of the end.

    A row is an entry of the history: "step", with the value of every term, or with what callbacks
    returned. Any function of a row may stand in its place.
    """

    def begin(self, history: Sequence[Row]) -> None:
        """Get ready; of a run that goes on, `history` is what it had."""

    def __call__(self, row: Row) -> None:
        """Take one row."""
        raise NotImplementedError

    def end(self) -> None:
        """Close what is open, also after an interrupt."""


class CSVLogger(RunLogger):
    """Writes "step", "name" and "value", a line each, as they come.

    Parameters
    ----------
    path : path
        Of a run that goes on it is written anew from its history, so that no step is there twice.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "history.csv"
    >>> logger = CSVLogger(path)
    >>> logger.begin([{"step": 0, "kl": 0.5}])
    >>> logger({"step": 10, "kl": 0.25})
    >>> path.read_text().split()
    ['step,name,value', '0,kl,0.5', '10,kl,0.25']
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def begin(self, history: Sequence[Row]) -> None:
        """Write the header, and what the run had."""
        try:
            with whole_file(self._path) as temporary, temporary.open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(HEADER)
                writer.writerows(line for row in history for line in _lines(row))
        except OSError as error:
            raise _cannot_log(error) from None

    def __call__(self, row: Row) -> None:
        """Add the lines of a row."""
        try:
            with self._path.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(_lines(row))
        except OSError as error:
            raise _cannot_log(error) from None


def _cannot_log(error: OSError) -> InputError:
    return InputError(f"A log must be a file that can be written: {error}.")


def _lines(row: Row) -> Iterable[tuple[Any, str, float]]:
    return [(row["step"], name, value) for name, value in row.items() if name != "step"]


class TensorBoardLogger(RunLogger):
    """Writes every value as a scalar that TensorBoard shows.

    Parameters
    ----------
    folder : path
        What was written there by steps that a run does not have is hidden: by those after the last
        of a run that goes on, and by all of one that begins.

    Raises
    ------
    MissingExtraError
        When training begins, if tensorboard is not installed.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._writer: Any = None

    def begin(self, history: Sequence[Row]) -> None:
        """Open the folder."""
        try:
            board = require("torch.utils.tensorboard", purpose="TensorBoardLogger")
        except ImportError:
            raise InputError(
                "TensorBoardLogger needs tensorboard, which is not installed: pip install "
                "tensorboard, or log with CSVLogger."
            ) from None
        # From the last step of the history on TensorBoard hides what was written before: rows of
        # one step may lie on both sides of where the run goes on. Those that it has come again.
        last = history[-1]["step"] if history else 0
        self._writer = board.SummaryWriter(str(self._folder), purge_step=int(last))
        for row in history:
            if row["step"] >= last:
                self(row)

    def __call__(self, row: Row) -> None:
        """Add the values of a row."""
        for step, name, value in _lines(row):
            self._writer.add_scalar(name, value, int(step))

    def end(self) -> None:
        """Write what is left, and close."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
