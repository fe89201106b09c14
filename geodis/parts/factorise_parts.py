"""Factorise data larger than memory: fit a sample, then map all rows in parts."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from geodis import __version__
from geodis.base.check import InputError, check_choice, check_int, check_random_state
from geodis.base.engine import LOCAL, Engine, open_engine
from geodis.base.progress import Stages
from geodis.base.row_source import RowSource, even_rows, row_source
from geodis.base.safetensors_files import read_arrays, write_arrays
from geodis.base.write import FolderLock, write_json
from geodis.data.files.open_rows import open_rows
from geodis.manifold.atlas.fitted_atlas import Atlas
from geodis.manifold.geomancer import GeoManCER
from geodis.manifold.preparation.rows import sampled_points, whole_problem_doubts
from geodis.parts.map_part import (
    ATLAS,
    MANIFEST,
    PartsFolder,
    PartTask,
    begin_manifest,
    check_unchanged,
    file_state,
    hash_of,
    is_done,
    map_part,
    no_room,
    part_path,
    path_before_key,
)

SECOND = "second_sample.safetensors"
# A second sample adds at most half of the first. Fewer outside rows than LEAST_PIECE, about the
# size of a neighbourhood, are outliers rather than a piece of the data that the sample missed.
SECOND_SHARE, LEAST_PIECE = 0.5, 40


def factorise_parts(
    source: Any,
    out: str | os.PathLike[str],
    *,
    sample: int = 100_000,
    part_rows: int = 250_000,
    dtype: Literal["float32", "float64"] = "float32",
    axes: bool = True,
    coordinates: bool = True,
    resample: bool = False,
    settings: Mapping[str, Any] | None = None,
    random_state: int = 0,
    cluster: Any = None,
    n_workers: int | None = None,
    verbose: int = 1,
) -> PartsFolder:
    """Fit an even sample of rows, and map all rows with its atlas, in parts.

    A part file is complete or absent. The same call with the same folder resumes an interrupted
    one, and the resulting files have the same bytes.

    Parameters
    ----------
    source : path, or an array-like with shape (n, d) and slices of rows
        A file as for `open_rows`; a memory map, an HDF5 dataset, a zarr or Dask array, an array.
    out : path
        Folder for the manifest, the atlas and the parts: new, empty, or with the same settings.
    sample : int
        Number of rows to fit; see `GeoManCER.fit`.
    part_rows : int
        Number of rows in every part.
    dtype : {"float32", "float64"}
        Dtype of the written arrays.
    axes : bool
        Write axes, which are the largest of the arrays.
    coordinates : bool
        Make the maps of the factors, and write the coordinates of every row on them.
    resample : bool
        If many rows are far from all fitted points, as in a piece of the data that the sample
        missed, fit again with some of them, and map all rows again.
    settings : mapping, optional
        Parameters of `GeoManCER`.
    random_state : int
        Seed of the sample and of the fit.
    cluster : None, str or distributed.Client
        Where parts are mapped: sequentially in this process, in processes of this machine
        ("local"), or on a Dask cluster, whose workers need the file and the folder under the same
        paths.
    n_workers : int, optional
        Number of processes for "local"; by default one per core.
    verbose : int
        1 shows progress on a terminal; 0 is silent.

    Returns
    -------
    PartsFolder

    Examples
    --------
    >>> import tempfile
    >>> import geodis as gd
    >>> points = gd.product_manifold("S^2 x S^1", n=3000, random_state=0).points
    >>> parts = factorise_parts(
    ...     points, tempfile.mkdtemp(), sample=500, part_rows=1000, settings={"dim": 3}, verbose=0
    ... )
    >>> print(parts)
    3,000 rows in 5 columns, in parts of 1,000
      sample of 500 rows: factors of dimension 2 + 1 (flat)
      all 3,000 rows lie among the fitted ones
    >>> parts.read("coordinates", 900, 1100).shape
    (200, 5)
    """
    folder = Path(out)
    rows, named = _opened(source)
    if cluster is not None and named is None:
        raise InputError(
            "A cluster needs points in a file, which every worker opens for itself; got "
            f"{type(source).__name__} in this process: leave the cluster out, or save them."
        )
    if cluster != LOCAL:  # an unreachable cluster is an error before the fit
        with open_engine(cluster, n_workers=n_workers):
            pass
    settings = dict(settings or {})
    check_choice(dtype, "dtype", ("float32", "float64"))
    made_with = {
        "geodis": __version__,
        "source": None if named is None else path_before_key(named).name,
        "changed": None if named is None else file_state(named),
        "shape": list(rows.shape),
        "dtype": str(rows.dtype),
        "sample": check_int(sample, "sample", low=2),
        "part_rows": check_int(part_rows, "part_rows", low=1),
        "written": dtype,
        "axes": bool(axes),
        "coordinates": bool(coordinates),
        "settings": settings,
        "seed": check_int(random_state, "random_state", low=0),
    }
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} must be a folder for parts; got a file.")
    folder.mkdir(parents=True, exist_ok=True)
    with FolderLock(folder), Stages("parts", verbose) as stages:
        for left in folder.glob(".*-*.safetensors"):  # files of killed processes
            left.unlink(missing_ok=True)
        manifest = begin_manifest(folder, made_with)
        run = _Run(rows, named, folder, manifest, stages)
        atlas = _fit_sample(run)
        with open_engine(cluster, n_workers=n_workers) as engine:
            notes = _map_parts(run, atlas, engine)
            if resample and not (folder / SECOND).exists():
                more = _second_sample(folder, notes, made_with)
                if len(more):
                    write_arrays(folder / SECOND, {"rows": more})
                    manifest.pop("done", None)
                    atlas = _fit_sample(run)
                    notes = _map_parts(run, atlas, engine)
        if named is not None:
            check_unchanged(named, str(made_with["changed"]))
        manifest["done"] = _summary(notes, rows.shape[0], bool(resample))
        write_json(folder / MANIFEST, manifest)
    return PartsFolder(folder, manifest)


@dataclass(frozen=True)
class _Run:
    """The rows of a run, their file, its folder, manifest and progress."""

    rows: RowSource
    named: str | None
    folder: Path
    manifest: dict[str, Any]
    stages: Stages


def _opened(source: Any) -> tuple[RowSource, str | None]:
    """Open the source; return its rows, and its file if other processes can open one."""
    if isinstance(source, str | os.PathLike):
        return open_rows(source), os.fspath(source)
    file = getattr(source, "filename", None) if isinstance(source, np.memmap) else None
    if file is not None and Path(file).suffix == ".npy":  # the file contains shape and dtype
        whole = open_rows(file)
        if whole.shape == source.shape and whole.dtype == source.dtype:
            return whole, os.fspath(file)
    return row_source(source, "source"), None


def _fit_sample(run: _Run) -> Atlas:
    """Load the atlas of the sample, or fit the sample and make it."""
    rows, folder, manifest, stages = run.rows, run.folder, run.manifest, run.stages
    made, path, second = manifest["made_with"], folder / ATLAS, folder / SECOND
    more = read_arrays(second)[0]["rows"] if second.exists() else np.empty(0, np.int64)
    fit = manifest.get("fit")
    if fit is not None and fit["second_sample"] == len(more) and path.exists():
        unchanged = hash_of(path) == fit["atlas"]
        if unchanged:
            return Atlas.load(path)
    settings = {"random_state": made["seed"], "verbose": 0, **made["settings"]}
    est = GeoManCER(**settings)
    with stages.stage("sample"):
        taken = sampled_points(
            rows,
            made["sample"],
            check_random_state(made["seed"]),
            tangents=est.tangents,
            more=more,
            done=lambda share: stages.advance(share, f"of {rows.shape[0]:,} rows"),
        )
    if run.named is not None:
        check_unchanged(run.named, made["changed"])
    with stages.stage("fit"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the doubts contain all warnings
        est.fit(taken.points)
        atlas = est.atlas(coordinates=made["coordinates"])
    doubts = (*est.doubts_, *taken.doubts, *whole_problem_doubts(est.split_, len(taken.points)))
    try:
        atlas.save(path)
    except OSError as error:
        raise no_room(path, "the atlas") from error
    manifest["fit"] = {
        "atlas": hash_of(path),
        "sampled": len(taken.rows),
        "second_sample": len(more),
        "dim": est.dim_,
        "factor_dims": est.factor_dims_,
        "flat": est.flat_,
        "uncertain": est.uncertain_,
        "doubts": doubts,
        "doubt_codes": [doubt.code for doubt in doubts],
        "columns": atlas.get_feature_names_out(),
    }
    write_json(folder / MANIFEST, manifest)
    return atlas


def _map_parts(run: _Run, atlas: Atlas, engine: Engine) -> list[dict[str, Any]]:
    """Map the parts that are missing, and return the notes of all parts."""
    rows, folder, manifest, stages = run.rows, run.folder, run.manifest, run.stages
    made, n = manifest["made_with"], rows.shape[0]
    step = made["part_rows"]
    tasks = [
        PartTask(
            rows if run.named is None else _absolute(run.named),
            made["changed"] or "",
            start,
            min(start + step, n),
            str((folder / ATLAS).resolve()),
            manifest["fit"]["atlas"],
            str(part_path(folder.resolve(), number)),
            made["written"],
            made["axes"],
        )
        for number, start in enumerate(range(0, n, step))
    ]
    notes = {task.start: is_done(task) for task in tasks}
    left = [task for task in tasks if notes[task.start] is None]
    _check_room(folder, atlas, sum(task.stop - task.start for task in left), made)
    reached = n - sum(task.stop - task.start for task in left)
    with stages.stage("parts"):
        stages.advance(reached / n, f"{reached:,} of {n:,} rows")
        for _, outcome in engine.run(map_part, left):
            note = outcome.result()
            start, stop = note["rows"]
            notes[start] = note
            reached += stop - start
            stages.advance(reached / n, f"{reached:,} of {n:,} rows")
    return [note for _, note in sorted(notes.items()) if note is not None]


def _absolute(named: str) -> str:
    """Return the absolute path of the file, with the key."""
    place = path_before_key(named)
    return f"{place.resolve()}{str(Path(named).expanduser())[len(str(place)) :]}"


def _check_room(folder: Path, atlas: Atlas, rows: int, made: Mapping[str, Any]) -> None:
    """Require enough free space on the disk."""
    numbers = sum(atlas.n_coordinates) + 1
    numbers += atlas.dim * len(atlas.basis) if made["axes"] else 0
    needed = rows * (numbers * np.dtype(made["written"]).itemsize + 1)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"{folder} needs room for {needed / 1e6:,.0f} MB; got {free / 1e6:,.0f} MB free: what "
            "is written is kept, and the same command goes on from there."
        )


def _second_sample(
    folder: Path, notes: list[dict[str, Any]], made: Mapping[str, Any]
) -> np.ndarray:
    """Draw an even sample of the outside rows; none if they are too few."""
    counts = np.array([note["outside"] for note in notes])
    total = int(counts.sum())
    if total < LEAST_PIECE:
        return np.empty(0, np.int64)
    most = max(LEAST_PIECE, int(SECOND_SHARE * made["sample"]))
    chosen = even_rows(total, most, check_random_state(made["seed"]))
    stops = np.cumsum(counts)
    found = []
    for number in np.flatnonzero(counts):
        first = stops[number] - counts[number]
        own = chosen[(chosen >= first) & (chosen < stops[number])]
        arrays, _ = read_arrays(part_path(folder, int(number)), names=["outside"])
        outside = np.flatnonzero(arrays["outside"])[own - first]
        found.append(number * made["part_rows"] + outside)
    return np.concatenate(found).astype(np.int64)


def _summary(notes: list[dict[str, Any]], n: int, resampled: bool) -> dict[str, Any]:
    """Count the rows of all parts that are far from the sample or not finite, also in words."""
    outside = sum(note["outside"] for note in notes)
    unusable = sum(note["unusable"] for note in notes)
    said = []
    if outside:
        farthest = max(note["farthest"] for note in notes)
        worst = max(notes, key=lambda note: note["outside"])
        first, last = worst["rows"]
        said.append(
            f"{outside:,} of {n:,} rows lie far from all fitted ones, up to {farthest:.3g} from "
            f"the nearest, most of them in rows {first:,} to {last:,}: outliers, or a piece that "
            + ("two samples missed" if resampled else "the sample missed (resample fits again)")
        )
    elif not unusable:
        said.append(f"all {n:,} rows lie among the fitted ones")
    if unusable:
        some = [row for note in notes for row in note["unusable_rows"]][:5]
        said.append(
            f"{unusable:,} of {n:,} rows hold NaN or infinity and are NaN in all parts "
            f"(row {', '.join(map(str, some))}{', ...' if unusable > len(some) else ''})"
        )
    return {"outside": outside, "unusable": unusable, "said": said}
