"""Functions that processes of the tests import."""

import os
import signal
from pathlib import Path

from geodis.parts.map_part import map_part


def dies_in_the_third_part(task):
    """Map a part; the first time, at the third one, end the process without a word."""
    mark = Path(task.out).with_name(".died")
    if task.out.endswith("000002.safetensors") and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return map_part(task)
