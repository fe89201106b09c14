"""Checks that rows are independent samples: groups, times, grids and trajectories."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, to_numpy
from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.local.exact_search import Apart
from geodis.manifold.local.neighbors import Neighbors, nearest_neighbors

# Rows are independent once their mean square displacement reaches this share of that of two random
# rows, which is half their distance.
MOVED = 0.25
# Growth of the time lags that are tried, and the number of pairs used for each.
LAG_GROWTH, PAIRS = 1.25, 4_000
# Groups are separate if the eighth neighbour is this much farther when the own group is excluded.
COMPARED_GROUPS, FARTHER = 8, 2.0
# Fewest independent rows that a trajectory must be worth. On spheres, rings, boxes and tori
# trajectories that covered the manifold were worth at least 34, others at most 25.
FEWEST_INDEPENDENT = 30


def kept_apart(
    points: np.ndarray, groups: Any = None, times: Any = None, *, noise: float = 0.0
) -> Apart | None:
    r"""Find rows to exclude from each other's neighbourhoods; None without groups and times.

    These are rows of one group, or rows closer in time than the lag w at which::

        mean |x(t + w) - x(t)|^2 >= 1/4 mean |x_i - x_j|^2

    Parameters
    ----------
    points : ndarray of shape (n, d)
    groups : array-like of shape (n,), optional
        Trials, animals or objects, with any values.
    times : array-like of shape (n,), optional
        In any unit. With groups, only rows of one group that are close in time are excluded.
    noise : float
        Standard deviation of the noise per direction, which is subtracted from the squares.

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
    # Groups are separated by gaps longer than the window.
    return Apart(moment + code * (moment.max() + 2 * window + 1.0), window)


def numbered_groups(groups: Any, n: int) -> np.ndarray | None:
    """Number the groups, shape (n,), in the order of their values."""
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
    """Select the groups or times of some rows; None stays None."""
    if values is None:
        return None
    column = np.asarray(to_numpy(values, "groups and times"))
    if column.ndim != 1 or len(column) <= rows.max():
        raise InputError(
            f"groups and times need one value for every row of X; got shape {column.shape}."
        )
    return column[rows]


def coverage_doubts(points: np.ndarray, near: Neighbors, apart: Apart | None) -> tuple[Doubt, ...]:
    """Check that a trajectory covers its manifold, and that groups overlap.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    near : Neighbors
        Neighbours among all points, without exclusions.
    apart : Apart or None
        Rows to exclude from each other's neighbourhoods.

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
    """Estimate the time after which rows are independent."""
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
    return float(moment.max())  # rows are never independent


def _column(values: Any, name: str, n: int) -> np.ndarray:
    column = np.asarray(to_numpy(values, name))
    if column.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), one value per row; got {column.shape}.")
    return column


# Neighbours used by the checks below.
USED = 20
MIN_POINTS = 100

# Grids. Distances are equal within 2 %. The first two neighbours are that close in distance for a
# share 1 - exp(-.02 k) of random points in dimension k, .04 for surfaces and .18 in dimension 10,
# but for nearly all interior points of a grid.
EQUAL, MORE_EQUAL = 0.02, 0.35
MOST_DIMENSIONS = 30.0
# A neighbour has an opposite if a point lies within this share of the distance from its mirror
# image: true for .25^k of random points, at most .06 from dimension 2 on.
OPPOSITE, MANY_OPPOSITE = 0.25, 0.4
# Even spacing. The median of |log r_1(i) / r_1(j)| times k is log(3) for independent distances,
# whatever the dimension (.9 to 1.2 were measured from n = 300 on); grids of images with unequal
# steps had .05 to .28.
EVEN, CHANCE_EVEN = 0.4, np.log(3)
# Neighbours compared; the nearest are excluded, since mutual neighbours share their distance.
COMPARED = slice(2, 6)

# Trajectories. Rows within this window are near in time, a share of 2 w / n by chance; so are most
# neighbours in space if a path does not return.
WINDOW, LEAST_WINDOW, PART_OF_ROWS = 64, 8, 40
NEAR_IN_TIME = 0.7
# Steps are short up to this multiple of the distances to the neighbours.
SHORT_STEP = 2.0
# Mean cosine between successive steps: 0 for a random walk, more for a smooth path. Sorted random
# points have -.35 to -.5 in the order of a column, -.06 to -.35 along a space-filling curve.
INDEPENDENT_STEPS = -0.05
# Share of steps that are short in a recording; rows sorted by a column have many long steps.
ALL_STEPS = 0.9
# Largest mean square step of a recording, relative to that of independent rows. Concatenated parts
# and classes have .2 to 1; trajectories worth too few independent rows .1 and less.
SLOW = 0.1
# Noise makes the cosines of a slow trajectory negative too, but then more neighbours are near in
# time than in any ordering of a random sample.
ALL_NEAR_IN_TIME = 0.9


def sampling_doubts(
    points: np.ndarray, neighbors: Neighbors, *, dim: int | None = None
) -> tuple[Doubt, ...]:
    r"""Check that points are a random sample of a manifold, not a grid or a trajectory.

    A *grid* has more neighbours at equal distances than chance: for a random sample in dimension k,
    with r_j the distance to neighbour j, ``log(r_2 / r_1)`` is exponential with mean 1 / k. Or
    neighbours have an opposite one at ``x_i - (x_j - x_i)``, or distances to the nearest neighbour
    hardly vary. In a *trajectory* successive rows are near, most neighbours in space are also near
    in time, and successive steps do not reverse each other, as they do in sorted random points. A
    trajectory that covers its manifold has neighbours from other times and raises no doubt.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        In their original order.
    neighbors : Neighbors
        Of all points; the first twenty are used.
    dim : int, optional
        Of the manifold, if known; curves are not checked.

    Returns
    -------
    tuple of Doubt
        Empty if the points look like a random sample.

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
    """Check whether a curve may be a path through more dimensions, or only part of a curve.

    If rows follow a curve once, all their neighbours are near in time, whether the curve is the
    whole manifold or only the part that was visited. A closed curve is complete if it was traversed
    repeatedly, or once from end to end; a path that crosses itself also looks closed, but its ends
    are apart. An open curve that was traversed repeatedly but slowly may extend beyond the data.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        In their original order.
    neighbors : Neighbors
    closed : bool
        Whether the curve is closed.
    noise : float
        Standard deviation of the noise per direction.

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
    """Describe ties of distances or opposite neighbours; empty if there are few."""
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
    """Describe even spacing; empty if nearest distances vary as by chance."""
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
    """Estimate the dimension from the growth of distances over the farther half of neighbours.

    The nearest are uninformative for copies and grids.
    """
    count = distances.shape[1]
    growth = float(np.median(np.log(distances[:, -1] / distances[:, count // 2 - 1])))
    return min(np.log(count / (count // 2)) / max(growth, 1e-300), MOST_DIMENSIONS)


def _share_with_opposite(points: np.ndarray, indices: np.ndarray, distances: np.ndarray) -> float:
    """Return the share of points whose nearest neighbour has an opposite one."""
    rows = np.unique(np.linspace(0, len(points) - 1, 1000).astype(int))
    mirror = 2 * points[rows] - points[indices[rows, 0]]
    off = np.sqrt(((points[indices[rows, 1:]] - mirror[:, None]) ** 2).sum(axis=2)).min(axis=1)
    return float((off < OPPOSITE * distances[rows, 0]).mean())


def _near_in_time(indices: np.ndarray) -> tuple[float, int]:
    """Return the share of neighbours within a window of rows, and the window."""
    n = len(indices)
    window = int(np.clip(n // PART_OF_ROWS, LEAST_WINDOW, WINDOW))
    own = np.arange(n, dtype=indices.dtype)
    # One column at a time, to save memory.
    near = sum(int((np.abs(column - own) <= window).sum()) for column in indices.T)
    return near / indices.size, window


def _worth(points: np.ndarray, noise: float) -> float:
    """Estimate the number of independent rows of a trajectory; infinite for other rows."""
    apart = kept_apart(points, times=np.arange(len(points)), noise=noise)
    assert apart is not None
    lag = int(min(apart.window, len(points) - 1))
    still = 2 * points.shape[1] * noise**2
    step, whole = (
        float(((points[w:] - points[:-w]) ** 2).sum(axis=1).mean()) - still for w in (1, lag)
    )
    return len(points) / float(apart.counts().mean()) if step <= SLOW * whole else np.inf


def _why_walk(points: np.ndarray, indices: np.ndarray, distances: np.ndarray) -> str:
    """Describe neighbours in space that are near in time; empty if rows are no trajectory."""
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
