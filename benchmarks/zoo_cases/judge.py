"""What a fit says about a case, and whether it is right."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from benchmarks.zoo_cases.case import Case, Dims
from benchmarks.zoo_cases.clouds import Cloud, orthonormal
from geodis import GeoManCER, subspace_angles
from geodis.base.check import InputError

Outcome: TypeAlias = Literal[
    "right, silent", "right, flagged", "dimensions only", "wrong, flagged", "wrong, silent", "crash"
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
FARTHEST = 0.3  # mean aligned angle in radians; beyond, only the dimensions are right
ROWS = 1500  # on which angles are taken
INTERNAL = ("distances must",)  # sentences about arrays that nobody gave are crashes


@dataclass(frozen=True)
class Answer:
    """What came out of a fit.

    Attributes
    ----------
    dims : tuple of int
        Of the factors, largest first; none where the data were refused.
    flagged : bool
    angle : float or None
        Mean aligned angle to the truth; None where the truth says nothing about such factors.
    lost : float
        Share of the points without axes.
    doubts : list of str
    departure : Any
        The version's own figure for how far from a product, if it has one.
    refused : str or None
        The sentence of an `InputError`.
    crash : str or None
    seconds, cpu : float
        Of the fit alone.
    dim, directions : int or None
        The estimate of the dimension, and the directions that were kept.
    verdict : str or None
        Of the dimension.
    """

    dims: Dims = ()
    flagged: bool = False
    angle: float | None = None
    lost: float = 0.0
    doubts: list[str] = field(default_factory=list)
    departure: Any = None
    refused: str | None = None
    crash: str | None = None
    seconds: float = 0.0
    cpu: float = 0.0
    dim: int | None = None
    directions: int | None = None
    verdict: str | None = None


def outcome(answer: Answer, accepted: Sequence[Dims], real: bool = False) -> Outcome:
    """Whether an answer is right and whether it is flagged.

    Examples
    --------
    >>> outcome(Answer((2, 2), angle=0.02), [(2, 2)])
    'right, silent'
    >>> outcome(Answer((2, 2), angle=0.7), [(2, 2)])
    'dimensions only'
    >>> outcome(Answer((4,), flagged=True), [(2, 2)])
    'wrong, flagged'
    """
    if answer.crash is not None:
        return "crash"
    flagged = answer.flagged or answer.refused is not None
    if real:
        right = flagged or len(answer.dims) == 1
    else:
        right = answer.refused is None and answer.dims in accepted and answer.lost <= 0.5
    if right and not real and answer.angle is not None and answer.angle > FARTHEST:
        return "dimensions only"
    if right:
        return "right, flagged" if flagged else "right, silent"
    return "wrong, flagged" if flagged else "wrong, silent"


def answer_of(case: Case, seed: int) -> Answer:
    """Draw a case, fit it and compare its subspaces with the true ones."""
    cloud = case.cloud(seed)
    est = GeoManCER(n_jobs=1, verbose=0, **case.fit)
    wall, cpu = time.perf_counter(), time.process_time()

    def spent() -> dict[str, Any]:
        return {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est.fit(cloud.points)
    except InputError as error:
        if str(error).startswith(INTERNAL):
            return Answer(crash=f"InputError: {error}", **spent())
        return Answer(flagged=True, refused=str(error), **spent())
    except Exception as error:
        return Answer(crash=f"{type(error).__name__}: {error}", **spent())
    used = spent()
    dims = tuple(int(k) for k in est.factor_dims_)
    own = [est.subspace(j) for j in range(len(dims))]
    return Answer(
        dims=tuple(sorted(dims, reverse=True)),
        flagged=bool(est.uncertain_),
        angle=angle_by_piece(own, cloud),
        lost=float(np.isnan(est.axes_).any(axis=(1, 2)).mean()),
        doubts=[str(doubt) for doubt in getattr(est, "doubts_", ())],
        departure=plain(getattr(est, "departure_", None)),
        dim=est.dimension_.dim,
        directions=est.n_directions_,
        verdict=est.dimension_.verdict,
        **used,
    )


def plain(value: Any) -> Any:
    """A figure of unknown type as what JSON can hold."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, str | bool | int | float | np.number | np.bool_):
        return value
    return str(value)


def angle_by_piece(own: list[np.ndarray], cloud: Cloud) -> float | None:
    """Mean over the points of the angle within each piece; see `angle_between`."""
    if cloud.piece is None:
        return angle_between(own, cloud.tangents)
    inside = [cloud.piece == number for number in np.unique(cloud.piece)]
    angles = [angle_between([o[i] for o in own], [t[i] for t in cloud.tangents]) for i in inside]
    known = [(angle, i.sum()) for angle, i in zip(angles, inside, strict=True) if angle is not None]
    if not known:
        return None
    return float(sum(angle * count for angle, count in known) / sum(count for _, count in known))


def angle_between(own: list[np.ndarray], true: list[np.ndarray]) -> float | None:
    """Mean angle to the truth, or to the union of true factors that fits the answer best.

    Rows without axes or without truth are left out; None where no union has such dimensions.
    """
    if not true:
        return None
    known = [np.isfinite(frames).all(axis=(1, 2)) for frames in [*own, *true]]
    rows = np.flatnonzero(np.logical_and.reduce(known))
    rows = np.random.default_rng(0).permutation(rows)[:ROWS]
    wanted = sorted(frames.shape[1] for frames in own)
    angles = []
    for groups in groupings(len(true)):
        dims = sorted(sum(true[j].shape[1] for j in group) for group in groups)
        if dims == wanted and len(rows):
            unions = [union([true[j][rows] for j in group]) for group in groups]
            angles.append(float(subspace_angles([o[rows] for o in own], unions).mean()))
    return min(angles, default=None)


def union(frames: list[np.ndarray]) -> np.ndarray:
    """Orthonormal rows spanning several subspaces."""
    return frames[0] if len(frames) == 1 else orthonormal(np.concatenate(frames, axis=1))


def groupings(m: int) -> Iterator[list[list[int]]]:
    """All ways to put m things into groups.

    Examples
    --------
    >>> list(groupings(2))
    [[[0], [1]], [[0, 1]]]
    """
    if m == 0:
        yield []
        return
    for groups in groupings(m - 1):
        yield [*groups, [m - 1]]
        for j, group in enumerate(groups):
            yield [*groups[:j], [*group, m - 1], *groups[j + 1 :]]
