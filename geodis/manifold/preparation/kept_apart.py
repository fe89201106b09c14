"""Groups or times of rows -> which are no independent samples, and whether a walk has covered."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.local.exact_search import Apart
from geodis.manifold.local.neighbors import Neighbors, nearest_neighbors

# Rows are independent after the time in which they move this part of the mean square distance of
# two random rows: half as far.
MOVED = 0.25
# Steps in time that are tried, each so many times the last, and pairs that each is judged by.
LAG_GROWTH, PAIRS = 1.25, 4_000
# Neighbours compared, and by how much they lie farther off without those of their own group where
# places were seen in one group alone.
COMPARED, FARTHER = 8, 2.0
# Walks that are worth fewer independent rows have seen a part of their manifold: on spheres, rings,
# boxes and tori those that had gone round were worth 34 and more, those that had not 25 and less.
FEWEST_INDEPENDENT = 30


def kept_apart(
    points: np.ndarray, groups: Any = None, times: Any = None, *, noise: float = 0.0
) -> Apart | None:
    r"""Which rows are kept out of one another's neighbourhoods; None where nothing was given.

    Rows of one group are, or rows that follow one another within the time after which the mean
    square of displacements is a quarter of that of two random rows::

        mean |x(t + w) - x(t)|^2 >= 1/4 mean |x_i - x_j|^2

    Parameters
    ----------
    points : ndarray of shape (n, d)
    groups : array-like of shape (n,), optional
        Trials, animals, objects: any values.
    times : array-like of shape (n,), optional
        In any unit. With groups, rows of different groups are free, and of one group those beyond
        that time.
    noise : float
        Standard deviation of the noise in every direction, whose squares are taken away.

    Returns
    -------
    Apart or None

    Examples
    --------
    >>> kept_apart(np.zeros((3, 1)), groups=["a", "b", "a"]).when.tolist()
    [0.0, 1.0, 0.0]
    """
    if groups is None and times is None:
        return None
    n = len(points)
    numbers, moment = numbered_groups(groups, n), checked_times(times, n)
    code = np.zeros(n) if numbers is None else numbers.astype(float)
    if moment is None:
        return Apart(code, 0.0)
    moment = moment - moment.min()
    window = _window(points, code, moment, noise)
    # Groups follow one another with a gap in which nothing is near.
    return Apart(moment + code * (moment.max() + 2 * window + 1.0), window)


def numbered_groups(groups: Any, n: int) -> np.ndarray | None:
    """Groups of any values as numbers, shape (n,), in the order of the values."""
    if groups is None:
        return None
    return np.unique(_column(groups, "groups", n), return_inverse=True)[1].astype(np.int64)


def checked_times(times: Any, n: int) -> np.ndarray | None:
    """Return times as finite floats, shape (n,)."""
    if times is None:
        return None
    column = check_numeric(_column(times, "times", n), "times")
    return check_finite(column, "times").astype(float)


def of_rows(values: Any, rows: np.ndarray) -> Any:
    """Groups or times of some rows; None where none were given."""
    if values is None:
        return None
    column = np.asarray(to_numpy(values, "groups and times"))
    if column.ndim != 1 or len(column) <= rows.max():
        raise InputError(
            "groups and times need one value for every row that is sampled from; got shape "
            f"{column.shape}."
        )
    return column[rows]


def coverage_doubts(points: np.ndarray, near: Neighbors, apart: Apart | None) -> tuple[Doubt, ...]:
    """Whether a walk has seen all of its manifold, and groups more than places of their own.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    near : Neighbors
        Of all points, whether kept apart or not.
    apart : Apart or None
        Of the points.

    Returns
    -------
    tuple of Doubt
    """
    if apart is None:
        return ()
    if apart.window > 0:
        worth = len(points) / float(apart.counts().mean())
        if worth >= FEWEST_INDEPENDENT:
            return ()
        return (doubt("slow-walk", "rows", n=len(points), worth=worth),)
    if near.distances.shape[1] < COMPARED or len(points) - apart.most() < COMPARED:
        return ()
    free = nearest_neighbors(points, COMPARED, apart=apart).distances[:, COMPARED - 1]
    farther = float(np.median(free) / np.median(near.distances[:, COMPARED - 1]))
    if farther < FARTHER:
        return ()
    return (doubt("separate-groups", "rows", farther=farther),)


def _window(points: np.ndarray, code: np.ndarray, moment: np.ndarray, noise: float) -> float:
    """The time after which rows are independent."""
    order = np.lexsort((moment, code))
    x, when, group = points[order], moment[order], code[order]
    n = len(x)
    still = 2 * x.shape[1] * noise**2
    apart = 2 * float(x.var(axis=0).sum()) - still
    lag = 1
    while lag < n:
        first = np.unique(np.linspace(0, n - lag - 1, min(PAIRS, n - lag)).astype(int))
        first = first[group[first] == group[first + lag]]
        if not len(first):
            break
        moved = float(((x[first + lag] - x[first]) ** 2).sum(axis=1).mean()) - still
        if moved >= MOVED * apart:
            return float(np.median(when[first + lag] - when[first]))
        lag = max(lag + 1, int(lag * LAG_GROWTH))
    return float(moment.max())  # never: every row is near all others in time


def _column(values: Any, name: str, n: int) -> np.ndarray:
    column = np.asarray(to_numpy(values, name))
    if column.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), one value a row; got {column.shape}.")
    return column
