"""The whole chain in one call: from latents to results and a page."""

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
from geodis.report.section import FAILURES, Section, ask, note_of, reason_of
from geodis.report.sentences import collect_warnings, summarise
from geodis.scores.groups import group_columns

# Step 2: rows -> every section computes its part, whatever becomes of the others.


def run_sections(
    material: Material,
    settings: ReportSettings,
    verbose: bool | int,
    tell: Callable[[str], object] | None = None,
) -> Analysis:
    """Run every section that computes and applies, and tell what each has found."""
    computing = computing_sections()
    parts = {section.name: Part(section.name) for section in computing}
    analysis = Analysis(parts, material, settings)
    for section in computing:
        part, (missing, problem) = parts[section.name], ask(section, "missing", analysis)
        part.applies, part.failure = not missing, missing or problem
    left = [section for section in computing if not parts[section.name].failure]
    expected = [_expected_seconds(section, analysis) for section in left]
    with Stages("report", verbose) as stages:
        for i, section in enumerate(left):
            with stages.stage(section.name), _time_left(stages, expected[i:], sum(expected)):
                _attempt(section, analysis)
            if tell is not None and (said := ask(section, "at_once", analysis).value):
                tell(said)
    return analysis


def _expected_seconds(section: Section, analysis: Analysis) -> float:
    """About how long a section takes; one that cannot say so has a note."""
    seconds, problem = ask(section, "expected_seconds", analysis.material, analysis.settings)
    if problem:
        analysis.parts[section.name].notes.append(note_of(section, "expected_seconds", problem))
    return float(seconds)


def _attempt(section: Section, analysis: Analysis) -> None:
    """Run one section, and keep what it warned of, or why it failed."""
    part = analysis.parts[section.name]
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        for category in (UserWarning, RuntimeWarning):  # never errors here, whatever the filters
            warnings.simplefilter("always", category)
        try:
            part.value = section.compute(analysis)
        except FAILURES as problem:  # one part must not take the others with it
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
    """Count down while a part runs: its own expected time, and that of the parts after it."""
    start, over = time.perf_counter(), threading.Event()

    def show() -> None:
        passed = time.perf_counter() - start
        # A part that takes longer than expected holds the clock still; it does not run backwards.
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
    """Analyse latents by their geometry, distances and scores, and write a page about them.

    A part that fails is reported in its place, and the others are still computed. The page, the
    results and the figures replace those of an earlier report in the same folder together; an
    interrupt leaves the folder unchanged. A folder with any other file is refused.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        Rows that are not finite are left out. Images of uint8, of shape (n, h, w, c) or (n, h, w),
        are rows of pixels, and `images` too where these are not given.
    factors : Factors, or what `geodis.data.factors.as_factors` reads, optional
        Known factors of variation of the rows. Without them there are no scores, and no
        ground-truth distances.
    images : array-like of shape (n, h, w, c) or (n, h, w), optional
        uint8, or floats in [0, 1]: adds perceived distances.
    groups : sequence of sequences of int or str, optional
        Latents that belong together, by number or name, for the scores that can see it.
    dim : int, optional
        Intrinsic dimension; estimated by default.
    n_factors : int, optional
        Factors of the manifold; counted by default.
    prepare : "sqrt" or callable, optional
        As in `GeoManCER`: applied to the rows before their geometry is analysed. Scores and
        distances use the latents as given.
    metric : {"euclidean", "cosine", "correlation", "precomputed"} or callable
        As in `GeoManCER`. With "precomputed" the latents are distances, of shape (n, n), and all
        parts use coordinates from classical scaling.
    times : array-like of shape (n,), optional
        As in `GeoManCER.fit`: when the rows were recorded.
    out : path or None
        Folder for ``index.html``, ``results.json`` and ``figures/``, new, empty or of an earlier
        report; None writes nothing.
    max_points : int
        Larger inputs are subsampled to this many rows.
    bins : int
        Bins of continuous factors, for what needs classes.
    intervals : int
        Resamplings behind the intervals of most scores, one fifth as many for slow scores; 0 for
        none.
    scores : str or sequence of str, optional
        Names of scores or families, as in `score_latents`. By default all; for hundreds of
        latents, those that would take minutes are left out, and the page lists them.
    title : str, optional
        Of the page.
    about : str
        Said under the title, such as where the data come from.
    sources : dict of str to str, optional
        Names of the files of "latents", "factors" and "images", for the lines of Python on the
        page.
    docs : str
        Address or folder of built documentation that the cards of scores link to; by default that
        of the project. The page itself has their text.
    verbose : bool or int
        Show stages, and the time that is left, on a terminal.
    random_state : int or None
        Seed of everything random.
    n_jobs : int, optional
        Processes for the scores; -1 for every core. Results do not depend on it.
    tell : callable, optional
        Called with each sentence of the summary as soon as it is known.

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
        title=title or "Report",
        about=about,
        sources=sources,
        groups=_read_groups(latents, groups),
        dim=dim,
        n_factors=n_factors,
        prepare=prepare,
        metric=metric,
        max_points=max_points,
        bins=bins,
        intervals=intervals,
        scores=_read_scores(scores),
        random_state=random_state,
        n_jobs=n_jobs,
        docs=docs,
        has_factors=factors is not None,
        has_images=images is not None,
        has_pixels=pixels,
        has_times=times is not None,
    )
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
    """Numbers of the latents that belong together."""
    if groups is None:
        return None
    if hasattr(groups, "subspace"):
        raise InputError(
            "groups must be lists of latents in a report, which fits a GeoManCER itself; got one."
        )
    count = np.shape(latents)[1] if len(np.shape(latents)) == 2 else 0
    return group_columns(groups, [str(name) for name in getattr(latents, "columns", range(count))])


def _read_scores(scores: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Names that there are."""
    from geodis.scores.registry import choose_scores

    if scores is None:
        return None
    choose_scores(scores)
    return (scores,) if isinstance(scores, str) else tuple(scores)


def check_out(out: str | os.PathLike[str]) -> None:
    """Find what would stop the writing before the work, not after it; leave no trace."""
    try:
        check_whole_set(out)
    except OSError as problem:
        raise InputError(
            f"out must be a folder that can be written to; got {out} ({problem.strerror})."
        ) from problem


def now() -> str:
    """The local date and time."""
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")


def data_hash(material: Material) -> str:
    """SHA-256 of the rows that were used: latents, factors and their names.

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
    """Write results, figures and page, which replace earlier ones all together or not at all.

    `arrays`, by the names of their files, stand beside them.
    """

    def results(warnings: Sequence[str]) -> dict[str, Any]:
        return replace(made, warnings=tuple(warnings)).to_dict()

    warnings, figures = write_page(
        made.page(), out, results=results, arrays=arrays, verbose=verbose
    )
    return replace(made, path=out / PAGE, warnings=warnings, figures=figures)
