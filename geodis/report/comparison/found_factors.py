"""Agreement of the factors found in several runs, their maps, and similarities of the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, check_random_state
from geodis.distances.representations import cka, procrustes, rsa
from geodis.plots.figure.linked_views import LinkedViews
from geodis.plots.figure.sprite_sheet import are_pictures
from geodis.plots.geometry.maps import SHOWN_ON_PAGE, maps_figure

if TYPE_CHECKING:
    from geodis.report.results import Report


MOST_VIEWS = 12  # maps on one page


@dataclass(frozen=True, eq=False)
class AgreementOfFactors:
    """Agreement of the factors of several runs.

    Attributes
    ----------
    runs : tuple of int
        Indices of the runs with maps of the same rows.
    matrix : ndarray of shape (r, r)
        Mean over the factors of the row's run of the R^2 with which the best factor of the
        column's run predicts its coordinates on held-out rows.
    matched : dict
        Indices of two runs -> for every factor of the first, the factor of the second that
        predicts it best (-1 for none), and the R^2.
    """

    runs: tuple[int, ...]
    matrix: np.ndarray
    matched: dict[tuple[int, int], list[tuple[int, float]]]

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain types."""
        matched = {f"{a} in {b}": pairs for (a, b), pairs in self.matched.items()}
        return {"runs": self.runs, "matrix": self.matrix, "matched": matched}


def agreement_of_factors(reports: Sequence[Report]) -> AgreementOfFactors:
    """Match the factors of every run to those of every other run."""
    from geodis.data.factors import as_factors
    from geodis.scores.match_given_factors import match_given_factors

    mapped = _with_maps(reports)
    matrix, matched = np.eye(len(mapped)), {}
    for i, a in enumerate(mapped):
        coordinates = _coordinates(reports[a].manifold)
        groups = {f"factor {j}": list(own) for j, own in enumerate(coordinates)}
        columns = {name: values for own in coordinates for name, values in own.items()}
        for j, b in enumerate(mapped):
            if a == b:
                continue
            try:
                known = as_factors(columns, groups={n: o for n, o in groups.items() if len(o) > 1})
                found = match_given_factors(reports[b].manifold, known)  # type: ignore[arg-type]
            except InputError:
                matrix[i, j] = np.nan
                continue
            matched[a, b] = [(one.found, max(one.told, 0.0)) for one in found]
            matrix[i, j] = float(np.mean([told for _, told in matched[a, b]]))
    return AgreementOfFactors(tuple(mapped), matrix, matched)


def _with_maps(reports: Sequence[Report]) -> list[int]:
    """Return the runs with maps of the same rows as the first of them."""
    usable = []
    for number, report in enumerate(reports):
        maps = report.parts["maps"].value
        if report.manifold is not None and maps is not None and maps.of:
            usable.append(number)
    first = reports[usable[0]].factorised if usable else None
    return [
        number
        for number in usable
        if first is not None
        and (rows := reports[number].factorised) is not None
        and np.array_equal(rows.rows, first.rows)
    ]


def _coordinates(est: Any) -> list[dict[str, np.ndarray]]:
    """Return the named coordinates of every factor, with gaps replaced by the mean."""
    made = []
    for j in range(est.n_factors_):
        places = np.asarray(est.coordinates(j), dtype=float)
        places = places[:, None] if places.ndim == 1 else places
        filled = np.where(np.isfinite(places), places, np.nanmean(places, axis=0))
        name = f"factor {j}" if filled.shape[1] == 1 else f"factor {j}, coordinate"
        columns = enumerate(filled.T)
        made.append({name if filled.shape[1] == 1 else f"{name} {c}": v for c, v in columns})
    return made


def maps_side_by_side(reports: Sequence[Report], names: Sequence[str]) -> LinkedViews | None:
    """Describe the linked maps of all runs; None if fewer than two runs have maps."""
    mapped = _with_maps(reports)
    if len(mapped) < 2:
        return None
    rows = reports[mapped[0]].factorised
    assert rows is not None
    shown = _rows_on_all_maps([reports[number].manifold for number in mapped])
    if not len(shown):
        return None
    images = rows.images_of if are_pictures(rows.images) else None
    parts = []
    for number in mapped:
        est = reports[number].manifold
        assert est is not None
        part = maps_figure(est, images=images, factors=rows.factors, rows=shown, numbers=rows.rows)
        titled = [replace(view, title=f"{names[number]}: {view.title}") for view in part.views]
        parts.append(replace(part, views=titled))
    return _joined(parts)


def _rows_on_all_maps(fits: Sequence[Any]) -> np.ndarray:
    """Draw some of the rows that have a position on every map of every fit."""
    placed = [
        np.isfinite(np.asarray(est.coordinates(j), dtype=float).reshape(len(est.axes_), -1)).all(1)
        for est in fits
        for j in range(est.n_factors_)
    ]
    usable = np.flatnonzero(np.all(placed, axis=0))
    chosen = check_random_state(0).choice(len(usable), min(len(usable), SHOWN_ON_PAGE), False)
    return usable[np.sort(chosen)]


def _joined(parts: Sequence[LinkedViews]) -> LinkedViews:
    """Join figures of the same rows."""
    first = parts[0]
    views = [view for part in parts for view in part.views]
    own = [part.colorings[0].of_view(j) for part in parts for j in range(len(part.views))]
    colorings = [replace(first.colorings[0], colors=own[:MOST_VIEWS])]
    for part in parts:
        places = zip(part.views, part.colorings[1 : 1 + len(part.views)], strict=True)
        colorings += [replace(one, name=f"position in {view.title}") for view, one in places]
    colorings += first.colorings[1 + len(first.views) :]
    about = f"maps of the factors of {len(parts)} runs, of the same rows"
    return replace(first, about=about, views=views[:MOST_VIEWS], colorings=colorings)


# Similarity of representations, and its chance level.

MEASURES: dict[str, Callable[..., float]] = {"CKA": cka, "Procrustes": procrustes, "RSA": rsa}


@dataclass(frozen=True, eq=False)
class Similarity:
    """One measure of similarity between all runs.

    Attributes
    ----------
    name : str
    matrix : ndarray of shape (r, r)
    chance : float
        Mean over pairs of runs after shuffling the rows of one.
    """

    name: str
    matrix: np.ndarray
    chance: float


def similarities(latents: Sequence[np.ndarray], random_state: Any = 0) -> list[Similarity]:
    """Compute every measure of similarity between all runs.

    Examples
    --------
    >>> a = np.random.default_rng(0).standard_normal((300, 2))
    >>> found = similarities([a, 2 * a[:, ::-1], a[::-1]])
    >>> [(one.name, one.matrix[0].round(1).tolist()) for one in found][:1]
    [('CKA', [1.0, 1.0, 0.0])]
    """
    rng = check_random_state(random_state)
    count = len(latents)
    shuffled = [rows[rng.permutation(len(rows))] for rows in latents]
    made = []
    for name, measure in MEASURES.items():
        matrix, by_chance = np.eye(count), []
        for i in range(count):
            for j in range(i + 1, count):
                matrix[i, j] = matrix[j, i] = measure(latents[i], latents[j])
                by_chance.append(measure(latents[i], shuffled[j]))
        made.append(Similarity(name, matrix, round(float(np.mean(by_chance)), 3) + 0.0))
    return made
