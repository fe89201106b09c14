"""Coordinates and holes of recordings by other methods, as a careful user would set them.

They get the directions that geodis keeps, and are told how many true coordinates there are.
CEBRA-Time learns from which rows follow which, so it is asked of walks alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, FastICA
from sklearn.manifold import Isomap, SpectralEmbedding

from benchmarks.map_cases.rivals import loop_columns
from benchmarks.recording_cases.known_states import KnownStates

LANDMARKS = {"holes": 200, "circles": 300}
BARS = 8  # of every degree that are kept
MORE = 2  # columns beside as many as there are true coordinates
LOOPS = 3  # for which circular coordinates are made
# Rows between the two of a pair that CEBRA takes for alike, columns that it gives, and steps.
APART, WIDTHS, STEPS = (1, 5, 10), (3, 8), 1000
TIMED, CLOCK = "CEBRA-Time", "time alone"

Columns = Callable[[KnownStates], np.ndarray]


def independent(columns: np.ndarray) -> np.ndarray:
    """FastICA of all columns."""
    model = FastICA(columns.shape[1], whiten="unit-variance", random_state=0, max_iter=1000)
    return model.fit_transform(columns)


def components(case: KnownStates) -> np.ndarray:
    most = min(sum(case.widths), case.kept.shape[1])
    return independent(case.kept[:, :most])


def isomap(case: KnownStates, neighbors: int) -> np.ndarray:
    width = min(sum(case.widths), len(case.points) - 2)
    return independent(Isomap(n_neighbors=neighbors, n_components=width).fit_transform(case.kept))


def eigenmaps(case: KnownStates, neighbors: int, times: int) -> np.ndarray:
    model = SpectralEmbedding(
        times * sum(case.widths),
        n_neighbors=neighbors,
        affinity="nearest_neighbors",
        random_state=0,
    )
    return independent(model.fit_transform(case.kept))


@lru_cache(maxsize=1)
def cohomology(case: KnownStates) -> Any:
    """The classes from which circular coordinates are made, once for all settings."""
    return import_module("dreimac").CircularCoords(
        case.kept, n_landmarks=LANDMARKS["circles"], prime=41
    )


def circular(case: KnownStates, share: float) -> np.ndarray:
    """Cosine and sine of a circular coordinate for every loop that stands out."""
    return loop_columns(cohomology(case), len(case.points), share, LOOPS)


def clock(case: KnownStates) -> np.ndarray:
    """The number of the row: what is told by those beside it in time, with no cell at all."""
    return np.linspace(0, 1, len(case.points))[:, None]


def latents(case: KnownStates, apart: int, width: int, model: str) -> np.ndarray:
    """CEBRA-Time, turned to its principal axes: its own mean nothing, and rings are seen in pairs.

    It gets the kept directions: from all cells it told less of the one recording that was tried.
    """
    import_module("torch").manual_seed(0)
    rows = case.kept.astype(np.float32)
    network = import_module("cebra").CEBRA(
        model_architecture=model,
        conditional="time",
        time_offsets=apart,
        output_dimension=width,
        max_iterations=STEPS,
        batch_size=512,
        device="cpu",
        verbose=False,
    )
    found = np.asarray(network.fit(rows).transform(rows), float)
    return PCA(width).fit_transform(found)


def in_time() -> dict[str, dict[str, Columns]]:
    """What is asked of rows in the order of time; CEBRA where it is installed."""
    found: dict[str, dict[str, Columns]] = {CLOCK: {"": clock}}
    if find_spec("cebra") is None:
        return found
    for apart in APART:
        found[f"{TIMED}, rows {apart} s apart"] = {
            f"{width} columns": partial(latents, apart=apart, width=width, model="offset1-model")
            for width in WIDTHS
        }
    found[f"{TIMED}, ten rows at once"] = {
        f"{WIDTHS[0]} columns": partial(latents, apart=1, width=WIDTHS[0], model="offset10-model")
    }
    return found


def rivals() -> dict[str, dict[str, Columns]]:
    """Methods with their settings; circular coordinates where dreimac is installed."""
    found: dict[str, dict[str, Columns]] = {
        "FastICA": {"": components},
        "Isomap + FastICA": {f"{k} neighbours": partial(isomap, neighbors=k) for k in (10, 20)},
        "Laplacian eigenmaps + FastICA": {
            f"{k} neighbours, {times} times the columns": partial(
                eigenmaps, neighbors=k, times=times
            )
            for k in (10, 30)
            for times in (1, 2)
        },
    }
    if find_spec("dreimac") is not None:
        found["circular coordinates"] = {
            f"{share:.0%} of the bar": partial(circular, share=share) for share in (0.5, 0.9)
        }
    return found


def spread_landmarks(rows: np.ndarray, count: int) -> np.ndarray:
    """Each the farthest from those before, the first the farthest from the mean."""
    least = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    chosen = []
    for _ in range(min(count, len(rows))):
        chosen.append(int(least.argmax()))
        away = np.linalg.norm(rows - rows[chosen[-1]], axis=1)
        least = away if len(chosen) == 1 else np.minimum(least, away)
    return rows[chosen]


def holes(case: KnownStates) -> dict[str, dict[str, list[list[float]]]]:
    """Birth and death of the longest bars of degrees one and two, of all columns and of the first.

    Leaving out the rows with the farthest neighbours made it worse: rare states are among them.
    """
    ripser: Any = import_module("ripser").ripser
    few = sum(case.widths) + MORE
    found: dict[str, dict[str, list[list[float]]]] = {}
    for setting, rows in (("all columns", case.kept), ("the first columns", case.kept[:, :few])):
        diagrams = ripser(spread_landmarks(rows, LANDMARKS["holes"]), maxdim=2)["dgms"]
        found[setting] = {}
        for degree in (1, 2):
            bars = np.asarray(diagrams[degree], float).reshape(-1, 2)
            longest = bars[np.argsort(bars[:, 0] - bars[:, 1], kind="stable")][:BARS]
            found[setting][str(degree)] = np.round(longest, 4).tolist()
    return found
