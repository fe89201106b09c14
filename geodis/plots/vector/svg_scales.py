"""What an axis shows -> from where to where it goes, its ticks, and places in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodis.plots.figure.labels import LONGEST_NAME, clip
from geodis.plots.figure.marks import Axis

ROOM = 0.04  # of the extent, left free at each end
LEAST_LOG = 1e-300


@dataclass(frozen=True)
class Scale:
    """Numbers -> pixels along one axis.

    Attributes
    ----------
    low, high : float
        Ends, as logarithms where `log`.
    start, end : float
        Pixels of these.
    log : bool
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, values: object) -> np.ndarray:
        """Pixels of values.

        Examples
        --------
        >>> Scale(0.0, 2.0, 10.0, 30.0).at([0.0, 1.0]).tolist()
        [10.0, 20.0]
        """
        places = np.asarray(values, dtype=float)
        if self.log:
            places = np.log10(np.maximum(places, LEAST_LOG))
        part = (places - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def scale_ends(axis: Axis, values: np.ndarray) -> tuple[float, float]:
    """From where to where an axis goes: its limits, its names, or its values with some room.

    Examples
    --------
    >>> scale_ends(Axis(names=("a", "b")), np.array([]))
    (-0.5, 1.5)
    >>> scale_ends(Axis(from_zero=True), np.array([1.0, 2.0]))
    (0.0, 2.08)
    """
    if axis.limits is not None:
        low, high = axis.limits
        return (float(np.log10(low)), float(np.log10(high))) if axis.log else (low, high)
    if axis.names:
        return -0.5, len(axis.names) - 0.5
    values = np.log10(np.maximum(values, LEAST_LOG)) if axis.log else values
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if axis.from_zero or axis.zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = ROOM * (high - low) or 0.5
    return (low - room * (low != 0 or not axis.from_zero), high + room)


def ticks_of(axis: Axis, low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Places that are marked, and the texts there.

    Examples
    --------
    >>> ticks_of(Axis(), 0.0, 1.0, 5)
    [(0.0, '0'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8'), (1.0, '1')]
    >>> ticks_of(Axis(log=True), -2.0, 0.0, 5)
    [(0.01, '0.01'), (0.1, '0.1'), (1.0, '1')]
    """
    if not axis.ticks:
        return []
    low, high = min(low, high), max(low, high)
    if axis.names:
        return _names(axis.names, most)
    if axis.log:
        step = max(1, -(-int(high - low) // most))
        powers = [p for p in range(int(np.ceil(low)), int(np.floor(high)) + 1) if p % step == 0]
        return [(10.0**power, _power(power)) for power in powers]
    nice = nice_step((high - low) / most)
    nice = max(1.0, nice) if axis.whole else nice
    count = range(int(np.ceil(low / nice - 1e-9)), int(np.floor(high / nice + 1e-9)) + 1)
    return [(float(f"{k * nice:.10g}"), f"{k * nice:.6g}") for k in count]


def nice_step(least: float) -> float:
    """The next of 1, 2 and 5 times a power of ten.

    Examples
    --------
    >>> nice_step(0.15), nice_step(3.0)
    (0.2, 5.0)
    """
    if not (np.isfinite(least) and least > 0):
        return 1.0
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(f * power for f in (1, 2, 5, 10) if f * power >= least * (1 - 1e-9)))


def _names(names: Sequence[str], most: int) -> list[tuple[float, str]]:
    step = max(1, -(-len(names) // max(most, 1)))
    return [(float(i), clip(names[i], LONGEST_NAME)) for i in range(0, len(names), step)]


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -4 <= power <= 4 else f"1e{power}"
