"""Tasks one after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from geodis.base.engines.engine import Engine, TaskOutcome, Told, call_task


class SerialEngine(Engine):
    """Runs one task after the other, in their order.

    Examples
    --------
    >>> [(index, outcome.value) for index, outcome in SerialEngine().run(pow, [2, 3], shared=(2,))]
    [(0, 4), (1, 9)]
    """

    def run(  # noqa: D102
        self,
        function: Callable[..., Any],
        tasks: Iterable[Any],
        *,
        shared: tuple[Any, ...] = (),
        told: Told | None = None,
    ) -> Iterator[tuple[int, TaskOutcome]]:
        for index, task in enumerate(tasks):
            listener = None if told is None else partial(told, index)
            yield index, call_task(function, task, shared, listener=listener)
