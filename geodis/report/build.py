"""One call from latents to results and a page: every part runs, whatever becomes of the others."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from geodis.base.check import InputError, check_int
from geodis.base.progress import Stages
from geodis.report.material import BINS, MAX_POINTS, Material, gather_material
from geodis.report.parts import (
    INTERVALS,
    Part,
    distance_part,
    factorise_part,
    inspect_part,
    rows_for,
    score_part,
)
from geodis.report.results import Report
from geodis.report.sentences import collect_warnings, summarise

PAGE, RESULTS, FIGURES = "index.html", "results.json", "figures"


def report(
    latents: Any,
    factors: Any = None,
    images: Any = None,
    *,
    dim: int | None = None,
    n_factors: int | None = None,
    out: Any = "report",
    max_points: int = MAX_POINTS,
    bins: int = BINS,
    intervals: int = INTERVALS,
    title: str | None = None,
    sources: dict[str, str] | None = None,
    verbose: bool | int = True,
    random_state: Any = 0,
) -> Report:
    """Analyse latents by their geometry, distances and scores, and write a page about them.

    A part that fails says so in its place, and the others go on. An interrupt ends the work; what
    was finished is written all the same.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        Rows that are not finite are left out.
    factors : array-like of shape (n, f), pandas frame or Factors, optional
        What the rows are known to vary in. Without it there are no scores, and no distances to
        compare with.
    images : array-like of shape (n, h, w, c) or (n, h, w), optional
        uint8, or floats in [0, 1]: adds perceived distances.
    dim : int, optional
        Intrinsic dimension; estimated by default.
    n_factors : int, optional
        Factors of the manifold; counted by default.
    out : path or None
        Folder for ``index.html``, ``results.json`` and ``figures/``; None writes nothing.
    max_points : int
        Of more rows, so many are drawn at random.
    bins : int
        Bins of continuous factors, for what needs classes.
    intervals : int
        Resamplings behind the intervals of the cheaper scores; 0 for none.
    title : str, optional
        Of the page.
    sources : dict of str to str, optional
        Names of the files that "latents", "factors" and "images" came from, for the lines of
        Python on the page.
    verbose : bool or int
        Show stages, and the time that is left, on a terminal.
    random_state : int or None
        Of everything random.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(300, 2))
    >>> latents = factors + 0.01 * rng.standard_normal((300, 2))
    >>> found = report(latents, factors, intervals=0, out=None, verbose=0)
    >>> len(found.summary), found.scores["mig"] > 0.9
    (3, True)
    """
    for name, value in (("dim", dim), ("n_factors", n_factors)):
        if value is not None:
            check_int(value, name, low=1)
    check_int(intervals, "intervals", low=0)
    if random_state is not None:
        check_int(random_state, "random_state", low=0)
    material = gather_material(
        latents, factors, images, max_points=max_points, bins=bins, random_state=random_state
    )
    if out is not None:
        _check_out(out)
    settings = {
        "title": title or "Report",
        "sources": dict(sources or {}),
        "dim": dim,
        "n_factors": n_factors,
        "max_points": max_points,
        "bins": bins,
        "intervals": intervals,
        "random_state": random_state,
        "has_factors": material.factors is not None,
        "has_images": images is not None,
    }
    found, interrupted = run_parts(material, settings, verbose)
    found = replace(found, summary=summarise(found), warnings=collect_warnings(found))
    if out is not None:
        found = write_report(found, Path(out), verbose and not interrupted)
    if interrupted:
        raise KeyboardInterrupt
    return found


def _check_out(out: str | Path) -> None:
    """Find what would stop the writing before the work, not after it."""
    from geodis.report.page import plotly_script

    plotly_script()
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"out must be a folder that can be written to; {out} came ({problem.strerror})."
        ) from problem


def run_parts(
    material: Material, settings: dict[str, Any], verbose: bool | int
) -> tuple[Report, bool]:
    """Run every part that applies; an interrupt leaves those that are done."""
    seed = settings["random_state"]
    parts = {name: Part(name) for name in ("inspection", "manifold", "scores", "distances")}
    work: dict[str, Callable[[], Any]] = {
        "inspection": lambda: inspect_part(material, seed),
        "manifold": lambda: factorise_part(
            material, settings["dim"], settings["n_factors"], parts["inspection"].value, seed
        ),
        "scores": lambda: score_part(material, settings["intervals"], seed),
        "distances": lambda: distance_part(material, seed),
    }
    if material.factors is None:
        del work["scores"]
        parts["scores"].failure = "Scores compare latents with factors, and none were given."
    expected = expected_seconds(material, settings)
    interrupted = False
    with Stages("report", verbose) as stages:
        for name, compute in work.items():
            left = [expected[later] for later in list(work)[list(work).index(name) :]]
            try:
                with stages.stage(name), _time_left(stages, left, sum(expected.values())):
                    _attempt(parts[name], compute)
            except KeyboardInterrupt:
                interrupted = True
                break
    if interrupted:
        for part in parts.values():
            if part.value is None and not part.failure:
                part.failure = "It was interrupted."
    return Report(parts, material, settings), interrupted


def _attempt(part: Part, compute: Callable[[], Any]) -> None:
    """Run one part, and keep what it warned of, or why it failed."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        for category in (UserWarning, RuntimeWarning):  # never errors here, whatever the filters
            warnings.simplefilter("always", category)
        try:
            part.value = compute()
        except InputError as problem:
            part.failure = str(problem)
        except Exception as problem:  # one part must not take the others with it
            part.failure = f"{type(problem).__name__}: {problem}"
    part.seconds = time.perf_counter() - start
    notes = []
    for item in caught:
        if issubclass(item.category, RuntimeWarning):
            notes.append(f"Numerical warning ({part.name}): {item.message}.")
        elif issubclass(item.category, UserWarning):
            notes.append(str(item.message))
    part.notes = list(dict.fromkeys(notes))


def expected_seconds(material: Material, settings: dict[str, Any]) -> dict[str, float]:
    """About how long each part takes on two cores; only the time shown as left rests on it."""
    n, z = material.latents.shape
    dim = settings["dim"] or min(z, 6)
    sought = min(n, rows_for(dim))
    f = 0 if material.factors is None else len(material.factors.names)
    return {
        "inspection": 1 + 1e-4 * n,
        "manifold": 2 + 4e-7 * sought * dim**4,
        "scores": (2 + 6e-5 * n * f * (1 + z / 10)) * (f > 0),
        "distances": 1 + 1.5 * f * (1 + (material.images is not None)),
    }


@contextmanager
def _time_left(stages: Stages, left: list[float], total: float) -> Iterator[None]:
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


def write_report(found: Report, out: Path, verbose: bool | int = False) -> Report:
    """Write results, figures and page, each file whole or not at all; return where they are.

    The numbers come first: they are there whatever becomes of the figures.
    """
    from geodis.base.write import whole_file
    from geodis.report.page import render_page
    from geodis.report.pictures import draw_pictures

    found.to_json(out / RESULTS)
    with Stages("report", verbose) as stages:
        with stages.stage("figures"):
            figures, failures = draw_pictures(found, out / FIGURES)
        if failures:
            found = replace(found, warnings=(*found.warnings, *failures))
            found.to_json(out / RESULTS)
        with stages.stage("page"), whole_file(out / PAGE) as temporary:
            temporary.write_text(render_page(found), encoding="utf-8")
    return replace(found, path=out / PAGE, figures=figures)
