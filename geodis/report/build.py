"""The whole chain in one call: from latents to results and a page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from geodis.base.check import InputError, check_int
from geodis.base.progress import Stages
from geodis.base.write import whole_file
from geodis.report.analysis import INTERVALS, Analysis, ReportSettings
from geodis.report.material import BINS, MAX_POINTS, gather_material
from geodis.report.page.pictures import draw_pictures
from geodis.report.page.render import check_page_extras, render_page
from geodis.report.results import Report
from geodis.report.run import run_sections
from geodis.report.sentences.collect_sentences import collect_warnings, summarise

PAGE, RESULTS, FIGURES = "index.html", "results.json", "figures"


def report(
    latents: Any,
    factors: Any = None,
    images: Any = None,
    *,
    dim: int | None = None,
    n_factors: int | None = None,
    out: str | os.PathLike[str] | None = "report",
    max_points: int = MAX_POINTS,
    bins: int = BINS,
    intervals: int = INTERVALS,
    title: str | None = None,
    sources: Mapping[str, str] | None = None,
    verbose: bool | int = True,
    random_state: int | None = 0,
) -> Report:
    """Analyse latents by their geometry, distances and scores, and write a page about them.

    A part that fails says so in its place, and the others go on. An interrupt ends the work; what
    was finished is written all the same.

    Parameters
    ----------
    latents : array-like of shape (n, z)
        Rows that are not finite are left out.
    factors : Factors, or what `geodis.data.factors.as_factors` reads, optional
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
        Names of the files of "latents", "factors" and "images", for the lines of Python on the
        page.
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
    >>> made = report(latents, factors, intervals=0, out=None, verbose=0)
    >>> len(made.summary), made.scores["mig"] > 0.9
    (3, True)
    """
    settings = ReportSettings(
        title=title or "Report",
        sources=dict(sources or {}),
        dim=dim,
        n_factors=n_factors,
        max_points=max_points,
        bins=bins,
        intervals=intervals,
        random_state=random_state,
        has_factors=factors is not None,
        has_images=images is not None,
    )
    _check_settings(settings)
    material = gather_material(
        latents, factors, images, max_points=max_points, bins=bins, random_state=random_state
    )
    if out is not None:
        _check_out(out)
    analysis, interrupted = run_sections(material, settings, verbose)
    made = _summed_up(analysis)
    if out is not None:
        made = write_report(made, Path(out), verbose and not interrupted)
    if interrupted:
        raise KeyboardInterrupt
    return made


def _check_settings(settings: ReportSettings) -> None:
    for name in ("dim", "n_factors"):
        if (value := getattr(settings, name)) is not None:
            check_int(value, name, low=1)
    check_int(settings.intervals, "intervals", low=0)
    if settings.random_state is not None:
        check_int(settings.random_state, "random_state", low=0)


def _check_out(out: str | os.PathLike[str]) -> None:
    """Find what would stop the writing before the work, not after it."""
    check_page_extras()
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"out must be a folder that can be written to; got {out} ({problem.strerror})."
        ) from problem


def _summed_up(analysis: Analysis) -> Report:
    made = Report(analysis.parts, analysis.material, analysis.settings)
    made = replace(made, summary=summarise(made))
    return replace(made, warnings=collect_warnings(made))


def write_report(made: Report, out: Path, verbose: bool | int = False) -> Report:
    """Write results, figures and page, each file whole or not at all; return where they are.

    The numbers come first: they are there whatever becomes of the figures.
    """
    made.to_json(out / RESULTS)
    with Stages("report", verbose) as stages:
        with stages.stage("figures"):
            figures, failures = draw_pictures(made, out / FIGURES)
        if failures:
            made = replace(made, warnings=(*made.warnings, *failures))
            made.to_json(out / RESULTS)
        with stages.stage("page"), whole_file(out / PAGE) as temporary:
            # Half a character, which some texts of others hold, must not cost the page.
            temporary.write_text(render_page(made), "utf-8", errors="xmlcharrefreplace")
    return replace(made, path=out / PAGE, figures=figures)
