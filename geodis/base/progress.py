"""Named stages of a computation: shown on a terminal while they run, timed and logged."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from geodis.base.text import printable

# The logger of geodis is silent by default. `logging.basicConfig(level="INFO")` shows every stage
# with its time, and DEBUG also shows its progress.
LOG = logging.getLogger("geodis")
LOG.addHandler(logging.NullHandler())


LINE = 78  # width of the line in a notebook


def in_notebook() -> bool:
    """Return whether the code runs in a notebook cell."""
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    # Other shells, such as Colab's, are derived from it.
    kinds = () if ask is None else type(ask()).__mro__
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in kinds)


class Stages:
    """Times the stages of a long computation and shows the current one.

    The progress line is written to standard error, only on a terminal or in a notebook, and removed
    at the end, so it does not change what a program prints. The logger "geodis" records every stage
    and its time, whatever `verbose` is.

    Parameters
    ----------
    title : str
        Name of the computation.
    verbose : bool or int
        Show the progress line; 0 or False is silent.

    Attributes
    ----------
    seconds : dict of str to float
        Wall-clock time of every stage so far; repeated stages are added up.

    Examples
    --------
    >>> stages = Stages("fit", verbose=0)
    >>> with stages:
    ...     with stages.stage("graph"):
    ...         stages.advance(0.5, "half way")
    >>> list(stages.seconds)
    ['graph']
    """

    def __init__(self, title: str, verbose: bool | int = True) -> None:
        self.title = title
        self.seconds: dict[str, float] = {}
        self._visible = bool(verbose) and sys.stderr.isatty()
        self._in_notebook = bool(verbose) and not self._visible and in_notebook()
        self._progress: Any = None
        self._task: Any = None
        self._name = ""

    def __enter__(self) -> Stages:
        if self._visible:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
            self._task = self._progress.add_task(self.title, total=None)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._in_notebook:
            self._write("")
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run a named stage."""
        self._name = name
        self._show(name, None)
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + elapsed
            LOG.info("%s: %s took %.3f s", self.title, name, elapsed)

    def advance(self, fraction: float, note: str = "") -> None:
        """Report the completed share of the current stage, 0 to 1."""
        LOG.debug("%s: %s %.0f %%", self.title, self._name, 100 * fraction)
        self._show(f"{self._name} {note}".rstrip(), fraction)

    def _write(self, text: str) -> None:
        """Overwrite the progress line below a notebook cell."""
        sys.stderr.write(f"\r{text:<{LINE}}\r")
        sys.stderr.flush()

    def _show(self, text: str, fraction: float | None) -> None:
        text = printable(text)
        if self._in_notebook:
            done = "" if fraction is None else f" {100 * fraction:.0f} %"
            self._write(f"{self.title}: {text}{done}"[:LINE])
        if self._progress is not None:
            total = None if fraction is None else 1.0
            self._progress.update(
                self._task,
                description=f"{self.title}: {text}",
                completed=fraction or 0.0,
                total=total,
            )
