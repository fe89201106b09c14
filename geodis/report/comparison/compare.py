"""Compare several runs: results and a page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from geodis.base.check import check_int
from geodis.base.jobs import check_jobs
from geodis.base.progress import Stages
from geodis.report.analysis import ReportSettings
from geodis.report.build import check_out, data_hash, now
from geodis.report.comparison.comparison_results import Comparison
from geodis.report.comparison.found_factors import (
    AgreementOfFactors,
    agreement_of_factors,
    similarities,
)
from geodis.report.comparison.many_models import (
    frame_of_many,
    is_table_of_runs,
    runs_of_many,
    runs_of_table,
)
from geodis.report.comparison.paired_scores import (
    ComparedRuns,
    PairedScores,
    gather_runs,
    pair_scores,
)
from geodis.report.material import BINS
from geodis.report.page.render import PAGE, write_page
from geodis.report.results import Report
from geodis.report.sections.scores import counts_of

MAX_POINTS, N_RESAMPLES = 5_000, 40


def compare(
    runs: Any,
    factors: Any = None,
    images: Any = None,
    *,
    models: Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = "comparison",
    title: str = "Comparison",
    max_points: int = MAX_POINTS,
    bins: int = BINS,
    n_resamples: int = N_RESAMPLES,
    sources: Mapping[str, str] | None = None,
    docs: str = "",
    verbose: bool | int = True,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> Comparison:
    """Compare latents of several models, seeds or layers of the same rows, and write a page.

    With factors, the runs are ranked by all scores, each with its chance level and interval, and
    differences are tested: over seeds if every model has the same number of runs, at least two, and
    otherwise over random halves of the rows. With or without factors, the page shows the similarity
    of the representations, the agreement of the found factors, and their maps.

    Parameters
    ----------
    runs : mapping of str to array-like of shape (n, z), or sequence of these
        Latents of the same n rows in the same order; z may differ. Or only scores: the table of a
        sweep with a row per run, or the result of `geodis.scores.score_many`.
    factors, images : as in `report`
    models : sequence of str, optional
        The model of each run; runs of one model are its seeds, in this order. By default every run
        is a separate model.
    out : path or None
        Folder for ``index.html``, ``results.json`` and ``figures/``; None writes nothing.
    title : str
    max_points : int
        Larger inputs are subsampled to this many rows, the same for all runs.
    bins : int
        Bins of continuous factors, where classes are needed.
    n_resamples : int
        Number of random halves of the rows on which most scores are recomputed; one fifth of it for
        slow scores.
    sources : dict of str to str, optional
        Names of the files of the runs, "factors" and "images".
    docs : str
        As in `report`.
    verbose : bool or int
    random_state : int or None
    n_jobs : int, optional
        Processes for the scores; -1 for every core.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(200, 2))
    >>> noise = rng.standard_normal((200, 2))
    >>> runs = {"good": factors + 0.1 * noise, "bad": noise}
    >>> compared = compare(runs, factors, out=None, n_resamples=10, verbose=0)
    >>> compared.ranking[0], bool(compared.scores.value.at["mig", "good"] > 0.9)
    ('good', True)
    """
    check_int(n_resamples, "n_resamples", low=0)
    check_jobs(n_jobs)
    table = frame_of_many(runs)
    if table is not None or is_table_of_runs(runs):
        compared = runs_of_table(runs) if table is None else runs_of_many(table, models)
        return _of_table(compared, title, out, docs)
    if out is not None:
        check_out(out)
    settings = ReportSettings(
        title=title, sources=dict(sources or {}), max_points=max_points, bins=bins,
        intervals=n_resamples, random_state=random_state, n_jobs=n_jobs, docs=docs,
        has_factors=factors is not None, has_images=images is not None,
    )  # fmt: skip
    gathered = gather_runs(
        runs, factors, images, models=models, max_points=max_points, bins=bins,
        random_state=random_state,
    )  # fmt: skip
    with Stages("compare", verbose) as stages:
        reports = []
        for number, name in enumerate(gathered.names):
            with stages.stage(name):
                reports.append(_report_of(gathered, number, settings))
        with stages.stage("differences"):
            scores = _scores(gathered, reports, settings)
        with stages.stage("similarities"):
            similar = similarities(gathered.latents, random_state)
            agreed = agreement_of_factors(reports)
    made = Comparison(
        gathered, settings, tuple(reports), scores, tuple(similar), agreed,
        now(), data_hash(gathered.material),
    )  # fmt: skip
    return made if out is None else write_comparison(made, Path(out))


def _of_table(
    compared: Any, title: str, out: str | os.PathLike[str] | None, docs: str
) -> Comparison:
    """Compare runs by given scores."""
    if out is not None:
        check_out(out)
    runs, scores, *notes = compared
    agreed = AgreementOfFactors((), np.empty((0, 0)), {})
    date = now()
    made = Comparison(runs, ReportSettings(title=title, docs=docs), (), scores, (), agreed, date,
                      notes=notes[0] if notes else ())  # fmt: skip
    return made if out is None else write_comparison(made, Path(out))


def _report_of(gathered: ComparedRuns, number: int, settings: ReportSettings) -> Report:
    """Make the report of one run, without intervals, which are computed for all runs together."""
    from geodis.report.build import report

    used = gathered.material
    images = None if used.images is None else used.images[used.rows]
    return report(
        gathered.latents[number],
        used.factors,
        images,
        out=None,
        bins=settings.bins,
        intervals=0,
        verbose=0,
        max_points=max(len(used.rows), 10),
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
    )


def _scores(
    gathered: ComparedRuns, reports: Sequence[Report], settings: ReportSettings
) -> PairedScores | None:
    tables = [report.scores for report in reports]
    if any(table is None for table in tables):
        return None
    known = [table for table in tables if table is not None]
    counts = counts_of(known[0], settings.intervals)
    return pair_scores(gathered, known, counts, random_state=settings.random_state)


def write_comparison(made: Comparison, out: Path) -> Comparison:
    """Write results, figures and page, replacing earlier ones atomically."""
    write_page(made.page(), out, results=lambda _: made.to_dict())
    return replace(made, path=out / PAGE)
