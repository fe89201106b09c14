"""Functions that workers of the tests import."""

import os
import signal
import time
from pathlib import Path

from geodis.base.engine import tell_progress


def doubled(task, *shared):
    if task == 7:
        raise ValueError("seven")
    return 2 * task + sum(shared)


def dies_once(task, folder):
    """Kill the worker at task 3, the first time."""
    mark = Path(folder) / str(task)
    if task == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def always_dies(task):
    if task == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def tells(task):
    """Says what is done at every step; longer than words are apart."""
    for step in range(4):
        tell_progress(step / 4)
        time.sleep(0.25)
    return task


def slow(task):
    time.sleep(60)


class AwkwardError(Exception):
    """Cannot be read from its own pickle."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def awkward(task):
    raise AwkwardError("this", "that")
