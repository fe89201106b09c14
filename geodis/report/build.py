"""Make a report: from latents to results and a page."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import InputError, has_pixels, rows_of_pixels
from geodis.base.progress import LOG, Stages
from geodis.base.whole_set import check_whole_set
from geodis.manifold.preparation.row_measure import Metric, Preparation
from geodis.report.analysis import INTERVALS, Analysis, Part, ReportSettings
from geodis.report.material import BINS, MAX_POINTS, Material, gather_material
from geodis.report.page.render import PAGE, write_page
from geodis.report.registry import all_sections, computing_sections
from geodis.report.results import Report
from geodis.report.section import FAILURES, Section, call_hook, note_of, reason_of
from geodis.report.sentences import collect_warnings, summarise
from geodis.scores.groups import group_columns

# Run of the sections.


def run_sections(
    material: Material,
    settings: ReportSettings,
    verbose: bool | int,
    tell: Callable[[str], object] | None = None,
) -> Analysis:
    """Run every section that computes and applies, and pass its first result to `tell`."""
    computing = computing_sections()
    parts = {section.name: Part(section.name) for section in computing}
    analysis = Analysis(parts, material, settings)
    for section in computing:
        part, (missing, problem) = parts[section.name], call_hook(section, "missing", analysis)
        part.applies, part.failure = not missing, missing or problem
    left = [section for section in computing if not parts[section.name].failure]
    expected = [_expected_seconds(section, analysis) for section in left]
    with Stages("report", verbose) as stages:
        for i, section in enumerate(left):
            with stages.stage(section.name), _time_left(stages, expected[i:], sum(expected)):
                _attempt(section, analysis)
            if tell is not None and (said := call_hook(section, "at_once", analysis).value):
                tell(said)
    return analysis


def _expected_seconds(section: Section, analysis: Analysis) -> float:
    """Return the expected run time of a section; failures become a note."""
    seconds, problem = call_hook(section, "expected_seconds", analysis.material, analysis.settings)
    if problem:
        analysis.parts[section.name].notes.append(note_of(section, "expected_seconds", problem))
    return float(seconds)


def _attempt(section: Section, analysis: Analysis) -> None:
    """Run one section, and record its result, warnings, failure and run time."""
    part = analysis.parts[section.name]
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        for category in (UserWarning, RuntimeWarning):  # never raised as errors here
            warnings.simplefilter("always", category)
        try:
            part.value = section.compute(analysis)
        except FAILURES as problem:  # other sections continue
            part.failure = reason_of(problem)
            LOG.warning("report: %s failed", section.name, exc_info=True)
    part.seconds = time.perf_counter() - start
    part.notes += dict.fromkeys(_notes(part.name, caught))


def _notes(name: str, caught: Sequence[warnings.WarningMessage]) -> Iterator[str]:
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning):
            yield f"Numerical warning ({name}): {warning.message}."
        elif issubclass(warning.category, UserWarning):
            yield str(warning.message)


@contextmanager
def _time_left(stages: Stages, left: Sequence[float], total: float) -> Iterator[None]:
    """Show the remaining time while a section runs, including that of later sections."""
    start, over = time.perf_counter(), threading.Event()

    def show() -> None:
        passed = time.perf_counter() - start
        # The clock stops if a section takes longer than expected.
        seconds = max(left[0] - passed, 0) + sum(left[1:])
        stages.advance(1 - seconds / total, f"(about {seconds:.0f} s left)")

    def count_down() -> None:
        show()
        while not over.wait(1.0):
            show()

    counter = threading.Thread(target=count_down, daemon=True)
    counter.start()
    try:
        yield
    finally:
        over.set()
        counter.join()


def report(
    latents: Any,
    factors: Any = None,
    images: Any = None,
    *,
    groups: Any = None,
    dim: int | None = None,
    n_factors: int | None = None,
    prepare: Preparation | None = None,
    metric: Metric = "euclidean",
    times: Any = None,
    out: str | os.PathLike[str] | None = "report",
    max_points: int = MAX_POINTS,
    bins: int = BINS,
    intervals: int = INTERVALS,
    scores: str | Sequence[str] | None = None,
    title: str | None = None,
    about: str = "",
    sources: Mapping[str, str] | None = None,
    docs: str = "",
    verbose: bool | int = True,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    tell: Callable[[str], object] | None = None,
) -> Report:
    """Analyse the geometry, distances and scores of latents, and write a page.

    A section that fails is reported on the page, and the others are still computed. The page, the
    results and the figures replace those of an earlier report in the same folder atomically. A
    folder with any other file is refused.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        Rows that are not finite are left out. uint8 images of shape (n, h, w, c) or (n, h, w) are
        flattened to rows of pixels, and also used as `images` if these are not given.
    factors : Factors, or what `geodis.data.factors.as_factors` reads, optional
        Known factors of variation of the rows, needed for scores and ground-truth distances.
    images : array-like of shape (n, h, w, c) or (n, h, w), optional
        uint8, or floats in [0, 1]; needed for perceived distances.
    groups : sequence of sequences of int or str, optional
        Latents that form a group, by number or name, for scores that use groups.
    dim : int, optional
        Intrinsic dimension; estimated by default.
    n_factors : int, optional
        Number of factors of the manifold; estimated by default.
    prepare : "sqrt" or callable, optional
        As in `GeoManCER`: applied to the rows before their geometry is analysed. Scores and
        distances use the latents as given.
    metric : {"euclidean", "cosine", "correlation", "precomputed"} or callable
        As in `GeoManCER`. With "precomputed" the latents are distances, of shape (n, n), and all
        parts use coordinates from classical scaling.
    times : array-like of shape (n,), optional
        Recording times of the rows, as in `GeoManCER.fit`.
    out : path or None
        Folder for ``index.html``, ``results.json`` and ``figures/``: new, empty, or of an earlier
        report. None writes nothing.
    max_points : int
        Larger inputs are subsampled to this many rows.
    bins : int
        Bins of continuous factors, where classes are needed.
    intervals : int
        Number of resamplings for the intervals of most scores; one fifth of it for slow scores. 0
        computes no intervals.
    scores : str or sequence of str, optional
        Names of scores or families, as in `score_latents`. By default all; for hundreds of
        latents, scores that would take minutes are skipped and listed on the page.
    title : str, optional
        Title of the page.
    about : str
        Text under the title, such as the origin of the data.
    sources : dict of str to str, optional
        File names of "latents", "factors" and "images", for the Python code on the page.
    docs : str
        Address or folder of the documentation that cards of scores link to; by default that of the
        project.
    verbose : bool or int
        Show stages and the remaining time on a terminal.
    random_state : int or None
        Seed of all random numbers.
    n_jobs : int, optional
        Processes for the scores; -1 for every core. Results do not depend on it.
    tell : callable, optional
        Called with the first result of each section as soon as it is known.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(300, 2))
    >>> latents = factors + 0.01 * rng.standard_normal((300, 2))
    >>> made = report(latents, factors, intervals=0, out=None, verbose=0)
    >>> len(made.summary), made.scores["mig"] > 0.9
    (3, True)
    """
    sources = dict(sources or {})
    pixels = has_pixels(latents)
    if pixels:
        if images is None:
            images = latents
            sources |= {"images": sources["latents"]} if "latents" in sources else {}
        latents = rows_of_pixels(latents)
    settings = ReportSettings(
        title=title or "Report", about=about, sources=sources, docs=docs,
        groups=_read_groups(latents, groups), dim=dim, n_factors=n_factors, prepare=prepare,
        metric=metric, max_points=max_points, bins=bins, intervals=intervals,
        scores=_read_scores(scores), random_state=random_state, n_jobs=n_jobs,
        has_factors=factors is not None, has_images=images is not None, has_pixels=pixels,
        has_times=times is not None,
    )  # fmt: skip
    if out is not None:
        check_out(out)
    material = gather_material(
        latents, factors, images, times=times, metric=metric, max_points=max_points, bins=bins,
        random_state=random_state,
    )  # fmt: skip
    analysis = run_sections(material, settings, verbose, tell)
    made = Report(
        analysis.parts,
        material,
        settings,
        date=now(),
        data_hash=data_hash(material),
        summary=summarise(all_sections(), analysis),
    )
    made = replace(made, warnings=collect_warnings(all_sections(), made))
    return made if out is None else write_report(made, Path(out), verbose)


def _read_groups(latents: Any, groups: Any) -> list[list[int]] | None:
    """Convert groups of latents to lists of column numbers."""
    if groups is None:
        return None
    if hasattr(groups, "subspace"):
        raise InputError(
            "groups must be lists of latents in a report, which fits its own GeoManCER; got one."
        )
    count = np.shape(latents)[1] if len(np.shape(latents)) == 2 else 0
    return group_columns(groups, [str(name) for name in getattr(latents, "columns", range(count))])


def _read_scores(scores: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Check the requested scores."""
    from geodis.scores.registry import choose_scores

    if scores is None:
        return None
    choose_scores(scores)
    return (scores,) if isinstance(scores, str) else tuple(scores)


def check_out(out: str | os.PathLike[str]) -> None:
    """Check before the computation that the folder can be written to."""
    try:
        check_whole_set(out)
    except OSError as problem:
        raise InputError(
            f"out must be a folder that can be written to; got {out} ({problem.strerror})."
        ) from problem


def now() -> str:
    """Return the local date and time."""
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")


def data_hash(material: Material) -> str:
    """Compute SHA-256 of the used latents and factors, and the names of the factors.

    Examples
    --------
    >>> a, b = (gather_material([[0.0], [1.0], [x]]) for x in (2.0, 3.0))
    >>> data_hash(a) == data_hash(a), data_hash(a) == data_hash(b)
    (True, False)
    """
    known = hashlib.sha256(np.ascontiguousarray(material.latents).tobytes())
    if material.factors is not None:
        known.update(np.ascontiguousarray(material.factors.values, dtype=float).tobytes())
        known.update(repr(material.factors.names).encode())
    return known.hexdigest()


def write_report(
    made: Report,
    out: Path,
    verbose: bool | int = False,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> Report:
    """Write results, figures and page, replacing earlier ones atomically.

    `arrays` are further files of the folder, by name.
    """

    def results(warnings: Sequence[str]) -> dict[str, Any]:
        return replace(made, warnings=tuple(warnings)).to_dict()

    warnings, figures = write_page(
        made.page(), out, results=results, arrays=arrays, verbose=verbose
    )
    return replace(made, path=out / PAGE, warnings=warnings, figures=figures)
