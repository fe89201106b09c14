"""Scores of thousands of models, resumable, with one row per model and score.

Models are the files of a folder, paths, or arrays, each with a name.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, MissingExtraError, check_int, to_numpy
from geodis.base.engine import Engine, EngineError, open_engine
from geodis.base.journal import Journal
from geodis.base.progress import Stages
from geodis.data.factors import Factors, as_factors
from geodis.data.files.formats import READERS, arrays_of_factors, suffix_of
from geodis.data.files.load import load_array, load_factors
from geodis.data.grids.grid import FactorGrid
from geodis.scores.binning import MOST_BINS
from geodis.scores.many.many_scores import ManyScores, check_table_path
from geodis.scores.registry import choose_scores
from geodis.scores.score_latents import N_RESAMPLES, how_often, score_latents

Stamp = list[int] | str


@dataclass(frozen=True)
class ModelSource:
    """Name and location of the latents of one model.

    Attributes
    ----------
    name : str
    place : str or ndarray
        A file, optionally with the key of an array, or the latents themselves.
    """

    name: str
    place: str | np.ndarray

    def stamp(self) -> Stamp:
        """Return a fingerprint: size and time of a file, or a hash of an array.

        Examples
        --------
        >>> ModelSource("a", np.zeros(3)).stamp()
        '68b59104335b75f8b05a168c'
        """
        if isinstance(self.place, str):
            found = file_of_place(self.place).stat()
            return [found.st_size, found.st_mtime_ns]
        array = np.ascontiguousarray(self.place)
        digest = hashlib.blake2b(f"{array.dtype.str}{array.shape}".encode(), digest_size=12)
        digest.update(array.data)
        return digest.hexdigest()

    def load(self) -> np.ndarray:
        """Read the latents; refuse a file that changes during reading."""
        if not isinstance(self.place, str):
            return self.place
        before = self.stamp()
        latents = load_array(self.place, mmap=False)
        if self.stamp() != before:
            raise InputError("A file must stay as it is while it is read; got one that changed.")
        return latents


def file_of_place(place: str) -> Path:
    """Return the file of a path that may end in the key of an array.

    Examples
    --------
    >>> file_of_place("run.npz:latents").name
    'run.npz'
    """
    whole = Path(place).expanduser()
    return whole if whole.exists() or ":" not in whole.name else Path(place.rpartition(":")[0])


def model_sources(
    models: Any, key: str | None = None, apart: Iterable[Path] = ()
) -> Iterator[ModelSource]:
    """Iterate over the given models.

    Parameters
    ----------
    models : str, path, mapping or iterable
        A folder, whose files of known formats, including subfolders, are used in the order of their
        names; paths; arrays; or a mapping of names to paths or arrays.
    key : str, optional
        Key of the array in every file.
    apart : iterable of Path
        Files of the folder that are not models.

    Yields
    ------
    ModelSource
        With unique names.

    Examples
    --------
    >>> [one.name for one in model_sources({"a": np.zeros((2, 1)), "b": "b.npy"})]
    ['a', 'b']
    """
    seen: set[str] = set()
    for name, place in _named(models, {path.resolve() for path in apart}):
        if name in seen:
            raise InputError(f"Every model needs a name of its own; got {name} twice.")
        seen.add(name)
        if not isinstance(place, str | os.PathLike):
            yield ModelSource(name, to_numpy(place, name))
        else:
            # Workers may have another current folder.
            text = str(Path(place).expanduser().absolute())
            yield ModelSource(name, text if key is None else f"{text}:{key}")


def _named(models: Any, apart: set[Path]) -> Iterator[tuple[str, Any]]:
    if isinstance(models, str | os.PathLike):
        yield from _in_folder(Path(models).expanduser(), apart)
    elif isinstance(models, Mapping):
        yield from ((str(name), place) for name, place in models.items())
    elif isinstance(models, Iterable):
        for number, place in enumerate(models):
            path = isinstance(place, str | os.PathLike)
            yield (Path(place).as_posix() if path else str(number)), place
    else:
        raise InputError(
            "models must be a folder, paths, arrays or a mapping of names to either; got "
            f"{type(models).__name__}."
        )


def _in_folder(folder: Path, apart: set[Path]) -> Iterator[tuple[str, Path]]:
    if not folder.is_dir():
        raise InputError(f"models must be a folder that is there; got {folder}.")
    found = False
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts) or not path.is_file():
            continue
        if suffix_of(path) in READERS and path.resolve() not in apart:
            found = True
            yield inside.as_posix(), path
    if not found:
        raise InputError(f"models must be a folder with files of arrays; got {folder}, without.")


# Models per task: sending a model to a worker takes as long as a quick score.
TOGETHER = 8
# Columns of the table that a worker returns.
SENT = ("score", "family", "question", "value", "chance", "low", "high", "better", "note")

# Stamp of a model, its rows, and why there are none.
Scored = tuple[Stamp | None, list[list[Any]], str]


def score_many(
    models: Any,
    factors: Any,
    scores: str | Sequence[str] | None = None,
    *,
    cluster: Any = None,
    n_workers: int | None = None,
    out: Any = None,
    key: str | None = None,
    apart: Sequence[str | Path] = (),
    bins: int | None = None,
    chance: bool | int = True,
    intervals: bool | int = False,
    verbose: bool | int = True,
    random_state: int = 0,
) -> ManyScores:
    """Score many models on the same factors, with `score_latents` for each of them.

    Parameters
    ----------
    models : str, path, mapping or iterable
        A folder, whose files, including subfolders, are the models in the order of their names;
        paths; arrays; or a mapping of names to paths or arrays. Files are read by `load_array`.
    factors : array-like of shape (n, f), Factors or path
        Factors of the rows, the same for every model.
    scores : str or sequence of str, optional
        As in `score_latents`.
    cluster : None, "local", str or distributed.Client
        Where models are scored: in this process, in local processes, or on a Dask cluster given by
        its address or client. Its workers must have the files at the same paths.
    n_workers : int, optional
        Number of processes of "local"; one per core by default.
    out : str or path, optional
        File of the table, .parquet or .csv, which is written atomically. Finished models are saved
        in a journal next to it. A call with the same settings reuses models whose files have not
        changed, and scores the others and those that failed.
    key : str, optional
        Key of the array in each file, such as "latents".
    apart : sequence of paths
        Files of the folder that are not models; the factors and ``out`` are excluded by default.
    bins, chance, intervals
        As in `score_latents`.
    verbose : bool or int
        Show progress.
    random_state : int
        The same for every model: a row equals that of `score_latents` for this model.

    Returns
    -------
    ManyScores
        ``frame`` has a row for each model and score. Models that could not be read or scored, and
        scores that do not apply, have a ``reason``. The result does not depend on the cluster or
        the number of workers.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(300, 2))
    >>> models = {f"noise {s}": factors + s * rng.standard_normal((300, 2)) for s in (0.1, 1, 4)}
    >>> table = score_many(models, factors, "mig", chance=False)
    >>> table.values["mig"].round(2).tolist()
    [0.96, 0.25, 0.01]
    """
    check_int(random_state, "random_state", low=0)
    if bins is not None:
        check_int(bins, "bins", low=2, high=MOST_BINS)
    chosen = [entry.name for entry in choose_scores(scores)]
    known = _known_factors(factors)
    options: dict[str, Any] = {
        "bins": bins,
        "chance": how_often(chance, "chance", 1),
        "intervals": how_often(intervals, "intervals", N_RESAMPLES),
        "random_state": random_state,
    }
    from geodis import __version__

    settings = {"geodis": __version__, "scores": chosen, "factors": _digest(known), **options}
    other = [factors, *apart] if isinstance(factors, str | Path) else apart
    aside = [file_of_place(str(path)) for path in other]
    if out is not None:
        out = check_table_path(out)
        journal_path = out.with_name(out.name + ".journal")
        if out.exists() and not journal_path.exists():
            raise InputError(
                f"out must be a new file, or one with its journal beside it; got {out}, without."
            )
        aside += [out, journal_path]
    sources = model_sources(models, key, aside)
    keeping = nullcontext() if out is None else Journal(journal_path, settings)
    with keeping as journal, Stages("models", verbose) as stages:
        with stages.stage("scored"), open_engine(cluster, n_workers=n_workers) as engine:
            found = _score_all(engine, sources, (known, chosen, options), journal, stages)
        table = ManyScores.of_models(found)
        if out is not None:
            table.write(out)
    return table


def _known_factors(factors: Any) -> Factors:
    if isinstance(factors, FactorGrid):
        raise InputError(
            "factors must be of the rows of every model; got a grid: use grid.factors(index)."
        )
    read = load_factors(factors) if isinstance(factors, str | Path) else as_factors(factors)
    return read.refuse_missing()


def _digest(factors: Factors) -> str:
    """Return a hash of the factors."""
    digest = hashlib.blake2b(digest_size=12)
    for name, array in arrays_of_factors(factors).items():
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    digest.update(json.dumps([sorted(factors.ordered), dict(factors.groups)]).encode())
    return digest.hexdigest()


def _score_all(
    engine: Engine,
    sources: Iterator[ModelSource],
    shared: tuple[Any, ...],
    journal: Journal | None,
    stages: Stages,
) -> dict[str, tuple[list[list[Any]], str]]:
    """Return rows or a reason for every model, in order; reuses valid entries of the journal."""
    # In the order of the models; None if not scored yet.
    found: dict[str, Any] = {}
    done = 0

    def unfinished() -> Iterator[ModelSource]:
        for source in sources:
            found[source.name] = None if journal is None else _kept(journal, source)
            if found[source.name] is None:
                yield source

    def keep(name: str, scored: Scored) -> None:
        nonlocal done
        stamp, rows, reason = scored
        found[name] = _interned(rows), reason
        if journal is not None and not reason:
            journal.add(name, [stamp, rows])
        done += 1
        stages.advance(done / len(found), f"{done:,} of {len(found):,}")

    sent: dict[int, list[ModelSource]] = {}

    def remembered(groups: Iterator[list[ModelSource]]) -> Iterator[list[ModelSource]]:
        for number, group in enumerate(groups):
            sent[number] = group
            yield group

    alone: list[ModelSource] = []
    together = remembered(_groups(unfinished(), engine))
    for number, outcome in engine.run(score_models, together, shared=shared):
        group = sent.pop(number)
        if outcome.error is None:
            for source, scored in zip(group, outcome.value, strict=True):
                keep(source.name, scored)
        elif len(group) > 1:  # retry one by one to find the model that failed
            alone += group
        else:
            keep(group[0].name, (None, [], _reason(outcome.error)))
    for number, outcome in engine.run(score_models, ([one] for one in alone), shared=shared):
        failed: list[Scored] = [(None, [], _reason(outcome.error))] if outcome.error else []
        keep(alone[number].name, (failed or outcome.value)[0])
    return found


def _groups(sources: Iterator[ModelSource], engine: Engine) -> Iterator[list[ModelSource]]:
    """Group models by eight; the first ones singly, to distribute few models evenly."""
    for source in itertools.islice(sources, 8 * engine.n_workers):
        yield [source]
    while group := list(itertools.islice(sources, TOGETHER)):
        yield group


def _kept(journal: Journal, source: ModelSource) -> tuple[list[list[Any]], str] | None:
    """Return the rows of an unchanged model from the journal."""
    if source.name not in journal.entries:
        return None
    stamp, rows = journal.entries[source.name]
    try:
        return (_interned(rows), "") if source.stamp() == stamp else None
    except OSError:
        return None


def _interned(rows: list[list[Any]]) -> list[list[Any]]:
    """Intern the texts of rows, because thousands of models share them."""
    return [[sys.intern(cell) if type(cell) is str else cell for cell in row] for row in rows]


def score_models(
    sources: Sequence[ModelSource], factors: Factors, scores: list[str], options: dict[str, Any]
) -> list[Scored]:
    """Score some models, on a worker."""
    return [_score_model(source, factors, scores, options) for source in sources]


def _score_model(
    source: ModelSource, factors: Factors, scores: list[str], options: dict[str, Any]
) -> Scored:
    try:
        stamp, latents = source.stamp(), source.load()
        table = score_latents(latents, factors, scores, verbose=False, **options)
    except Exception as error:  # a failure must not affect the other models
        return None, [], _reason(error)
    frame = table.frame.reset_index()
    columns = [frame[name].tolist() for name in SENT]
    rows = [[*row, ""] for row in zip(*columns, strict=True)]
    nan = float("nan")
    for name, reason in table.skipped.items():
        rows.append([name, "", "", nan, nan, nan, nan, "", "", reason])
    return stamp, rows, ""


def _reason(error: BaseException) -> str:
    """Return why a model was not scored, with the type of unexpected errors."""
    meant = isinstance(error, InputError | MissingExtraError | EngineError)
    if isinstance(error, FileNotFoundError):
        return f"There is no file {error.filename}."
    return str(error) if meant else f"{type(error).__name__}: {error}"
