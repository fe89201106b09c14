"""Points in the order of their rows -> whether they are a grid or a trajectory, not a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.local.exact_search import Apart
from geodis.manifold.local.neighbors import Neighbors, nearest_neighbors

# Groups or times of rows -> which are no independent samples, and whether a walk has covered.

# Rows are independent after the time in which they move this part of the mean square distance of
# two random rows: half as far.
MOVED = 0.25
# Steps in time that are tried, each so many times the last, and pairs that each is judged by.
LAG_GROWTH, PAIRS = 1.25, 4_000
# Neighbours compared, and by how much they lie farther off without those of their own group where
# places were seen in one group alone.
COMPARED_GROUPS, FARTHER = 8, 2.0
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
    if near.distances.shape[1] < COMPARED_GROUPS or len(points) - apart.most() < COMPARED_GROUPS:
        return ()
    free = nearest_neighbors(points, COMPARED_GROUPS, apart=apart).distances[:, COMPARED_GROUPS - 1]
    farther = float(np.median(free) / np.median(near.distances[:, COMPARED_GROUPS - 1]))
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


# Of the neighbours of every point, so many say what is asked; more only say it of wider places.
USED = 20
MIN_POINTS = 100

# A grid. Distances are equal within this part; of random points in dimension k a share of
# 1 - exp(-.02 k) has its first two neighbours so equally near, .04 of a surface's and .18 in
# dimension 10, and of a grid's nearly all that are not at its border.
EQUAL, MORE_EQUAL = 0.02, 0.35
MOST_DIMENSIONS = 30.0
# A neighbour has an opposite one where a point lies within this part of the distance from its
# mirror image: a share of .25^k, at most .06 from dimension 2 on, of random points.
OPPOSITE, MANY_OPPOSITE = 0.25, 0.4
# Points as evenly spaced as their neighbours. The median of |log r_1(i) / r_1(j)| is log(3) / k for
# independent distances, so that, times k, it is 1.1 whatever the dimension (.9 to 1.2 were seen
# from n = 300 on); grids of images whose steps differ had .05 to .28.
EVEN, CHANCE_EVEN = 0.4, np.log(3)
# Neighbours compared with, not the very nearest: two that are each other's have one distance.
COMPARED = slice(2, 6)

# A trajectory. Rows within so many are near in time, of n rows the share 2 w / n: most neighbours
# of most points are, where a path has not come back to where it was.
WINDOW, LEAST_WINDOW, PART_OF_ROWS = 64, 8, 40
NEAR_IN_TIME = 0.7
# A step is short: of the order of the distances to the neighbours that were found.
SHORT_STEP = 2.0
# Cosine of a step and the next: 0 for a random walk, more where it goes straight on. Of random
# points that were put in order both steps share a point that has nothing to do with the one before
# or after: -.35 to -.5 along a column, and -.06 to -.35 along a curve that fills the space.
INDEPENDENT_STEPS = -0.05
# Of a recording so many steps are short; of rows in the order of a column many go to another part.
ALL_STEPS = 0.9
# A recording moves from row to row by at most this part of the squares that make it independent;
# pieces and classes that were joined have .2 to 1, walks of too few independent rows .1 and less.
SLOW = 0.1
# Noise on a slow walk takes steps back too, but then nearly all neighbours are near in time, more
# than in any order of a sample.
ALL_NEAR_IN_TIME = 0.9


def sampling_doubts(
    points: np.ndarray, neighbors: Neighbors, *, dim: int | None = None
) -> tuple[Doubt, ...]:
    r"""Why points are no random sample of a manifold.

    A *grid* is told by neighbours at equal distances, more of them than chance has: with r_j the
    distance to neighbour j in dimension k, ``log(r_2 / r_1)`` of a random sample is exponential
    with mean 1 / k; by neighbours with an opposite, ``x_i - (x_j - x_i)``; or by distances to the
    nearest that hardly differ between neighbours. A *trajectory* is told by three things together:
    rows that follow each other are near, most neighbours in space are near in time too, and a step
    does not take back the one before, as it does where random points were only put in order. A
    walk that has covered its manifold has neighbours from other times, and is fine.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        In the order in which they were given.
    neighbors : Neighbors
        Of all points; the first twenty are used.
    dim : int, optional
        Of the manifold, where it is known: on a curve even steps in order do no harm.

    Returns
    -------
    tuple of Doubt
        Empty where nothing speaks against a random sample.

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> side = np.arange(20.0)
    >>> grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    >>> sampling_doubts(grid, nearest_neighbors(grid, 8))[0][:32]
    'the points lie on a regular grid'
    >>> sample = np.random.default_rng(0).uniform(size=(400, 2))
    >>> sampling_doubts(sample, nearest_neighbors(sample, 8))
    ()
    """
    if dim == 1 or len(points) < MIN_POINTS or neighbors.indices.shape[1] < 4:
        return ()
    indices, distances = neighbors.indices[:, :USED], neighbors.distances[:, :USED]
    grid = _why_grid(points, indices, distances)
    if not grid:
        walk = _why_walk(points, indices, distances)
        if walk:
            return (doubt("trajectory", "rows", seen=walk),)
        grid = _why_even(indices, distances)
    return (doubt("grid", "rows", seen=grid),) if grid else ()


def path_doubts(
    points: np.ndarray, neighbors: Neighbors, *, closed: bool = False, noise: float = 0.0
) -> tuple[Doubt, ...]:
    """Why a curve may be the path of a walk through more dimensions, or a part of a curve.

    Rows in the order of a curve that is passed once are all near in time, whether the curve is all
    there is or only what was passed: only who recorded them knows. A curve that closes is all there
    is where it was passed again and again, or once from end to end; a path that crosses itself
    closes too, and its ends lie apart. An open curve that was passed often, but by a slow walk, may
    go on where the walk has not been.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        In the order in which they were given.
    neighbors : Neighbors
    closed : bool
        Whether the curve does.
    noise : float
        Standard deviation of the noise in every direction.

    Returns
    -------
    tuple of Doubt

    Examples
    --------
    >>> from geodis import nearest_neighbors
    >>> turn = np.linspace(0, 3, 300)
    >>> arc = np.column_stack([np.cos(turn), np.sin(turn)])
    >>> path_doubts(arc, nearest_neighbors(arc, 20))[0][:40]
    'the rows follow one another along a curv'
    >>> mixed = np.random.default_rng(0).permutation(arc)
    >>> path_doubts(mixed, nearest_neighbors(mixed, 20))
    ()
    """
    if len(points) < MIN_POINTS or neighbors.indices.shape[1] < 4:
        return ()
    indices, distances = neighbors.indices[:, :USED], neighbors.distances[:, :USED]
    reach = float(np.median(distances[:, -1]))
    length = np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1))
    near, window = _near_in_time(indices)
    passed_once = (
        near >= max(NEAR_IN_TIME, 4 * window / len(points))
        and float(np.quantile(length, ALL_STEPS)) <= SHORT_STEP * reach
    )
    if closed and np.linalg.norm(points[-1] - points[0]) <= SHORT_STEP * reach:
        return ()
    if passed_once:
        seen = (
            f"{near:.0%} of the nearest points are within {window} rows, by chance "
            f"{2 * window / len(points):.0%}"
        )
        how = "closes where rows of other times cross it" if closed else "does not close"
        return (doubt("path", "rows", how=how, seen=seen),)
    worth = np.inf if closed else _worth(points, noise)
    if worth >= FEWEST_INDEPENDENT:
        return ()
    return (doubt("slow-walk-on-curve", "rows", n=len(points), worth=worth),)


def _why_grid(points: np.ndarray, indices: np.ndarray, distances: np.ndarray) -> str:
    """Ties of distances, or neighbours on opposite sides; empty where there are few."""
    equal = float((distances[:, 1] < (1 + EQUAL) * distances[:, 0]).mean())
    chance = 1 - np.exp(-EQUAL * _dimension(distances))
    if equal >= chance + MORE_EQUAL:
        return (
            f"{equal:.0%} have their first two neighbours at one distance, by chance {chance:.0%}"
        )
    opposite = _share_with_opposite(points, indices, distances)
    if opposite >= MANY_OPPOSITE:
        return f"{opposite:.0%} have neighbours on opposite sides, by chance few"
    return ""


def _why_even(indices: np.ndarray, distances: np.ndarray) -> str:
    """Steps that hardly differ from place to place; empty where they do as by chance."""
    nearest = np.log(distances[:, 0])
    differs = float(np.median(np.abs(nearest[:, None] - nearest[indices[:, COMPARED]])))
    uneven = differs * _dimension(distances)
    if uneven > EVEN:
        return ""
    return (
        "distances to the nearest point differ between neighbours by "
        f"{uneven / CHANCE_EVEN:.0%} of what they do by chance"
    )


def _dimension(distances: np.ndarray) -> float:
    """Dimension from how distances grow over the farther half of the neighbours.

    The nearest say nothing of it where they are copies, or those of a grid.
    """
    count = distances.shape[1]
    growth = float(np.median(np.log(distances[:, -1] / distances[:, count // 2 - 1])))
    return min(np.log(count / (count // 2)) / max(growth, 1e-300), MOST_DIMENSIONS)


def _share_with_opposite(points: np.ndarray, indices: np.ndarray, distances: np.ndarray) -> float:
    """Share of points whose nearest neighbour has another opposite to it."""
    rows = np.unique(np.linspace(0, len(points) - 1, 1000).astype(int))
    mirror = 2 * points[rows] - points[indices[rows, 0]]
    off = np.sqrt(((points[indices[rows, 1:]] - mirror[:, None]) ** 2).sum(axis=2)).min(axis=1)
    return float((off < OPPOSITE * distances[rows, 0]).mean())


def _near_in_time(indices: np.ndarray) -> tuple[float, int]:
    """Share of the nearest points that are within some rows, and within how many."""
    n = len(indices)
    window = int(np.clip(n // PART_OF_ROWS, LEAST_WINDOW, WINDOW))
    own = np.arange(n, dtype=indices.dtype)
    # A column at a time: of a million points all of them would be among the largest arrays held.
    near = sum(int((np.abs(column - own) <= window).sum()) for column in indices.T)
    return near / indices.size, window


def _worth(points: np.ndarray, noise: float) -> float:
    """Independent rows that the rows of a walk are worth; infinite where they are none."""
    apart = kept_apart(points, times=np.arange(len(points)), noise=noise)
    assert apart is not None
    lag = int(min(apart.window, len(points) - 1))
    still = 2 * points.shape[1] * noise**2
    step, whole = (
        float(((points[w:] - points[:-w]) ** 2).sum(axis=1).mean()) - still for w in (1, lag)
    )
    return len(points) / float(apart.counts().mean()) if step <= SLOW * whole else np.inf


def _why_walk(points: np.ndarray, indices: np.ndarray, distances: np.ndarray) -> str:
    """Neighbours in space that are neighbours in time; empty where the rows are no path."""
    n = len(points)
    in_time, window = _near_in_time(indices)
    step = np.diff(points, axis=0)
    length = np.sqrt((step**2).sum(axis=1))
    short = float(np.median(length) / np.median(distances[:, -1]))
    both = length[1:] * length[:-1]
    turn = (step[1:] * step[:-1]).sum(axis=1)[both > 0] / both[both > 0]
    cosine = float(turn.mean()) if len(turn) else -1.0
    if in_time < max(NEAR_IN_TIME, 4 * window / n) or short > SHORT_STEP:
        return ""
    if cosine < INDEPENDENT_STEPS and in_time < ALL_NEAR_IN_TIME:
        return ""
    return (
        f"{in_time:.0%} of the nearest points are within {window} rows, by chance "
        f"{2 * window / n:.0%}"
    )
