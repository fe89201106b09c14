"""Scores from the mutual information between every latent and every factor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import check_choice, check_int, check_random_state
from geodis.scores.inputs import CodedFactors, check_scored
from geodis.scores._joint import (
    NEIGHBORS,
    class_information,
    continuous_information,
    corrected_information,
    discrete_information,
    entropy,
    without_ties,
)
from geodis.scores._result import Score
from geodis.scores.binning import BINS, bin_columns
from geodis.scores.importance import compactness_of, modularity_of, top_gap

METHODS = ("equal_width", "quantile", "knn")


def mutual_information(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: str = "equal_width",
    n_neighbors: int = NEIGHBORS,
    random_state: Any = None,
) -> Score:
    """Mutual information in nats between every latent and every factor.

    ``I(z_i; v_j) = sum p(z_i, v_j) log(p(z_i, v_j) / (p(z_i) p(v_j)))`` over bins of the latent and
    values of the factor. Counts overestimate it, by about ``(bins - 1) (size - 1) / 2n``.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        "knn" takes continuous factors; the others need classes.
    bins : int
    method : {"equal_width", "quantile", "knn"}
        "equal_width" is what published scores use; "quantile" depends on the order of the values
        of a latent alone; "knn" does not bin (Ross 2014 for classes, Kraskov et al. 2004 for
        continuous factors).
    n_neighbors : int
        For "knn".
    random_state : int, Generator or None
        "knn" breaks ties by noise of 1e-10 of the range of a latent.

    Returns
    -------
    Score
        `matrix` is the information (z, f), `per_factor` its largest entry for every factor, and
        `value` the mean of those. `details["factor_entropy"]` has the entropies (f,), NaN where
        the factor is continuous.

    Examples
    --------
    >>> factors = np.repeat([0, 1], 20)
    >>> score = mutual_information(np.column_stack([factors, np.zeros(40)]), factors)
    >>> score.matrix.round(3)
    array([[0.693],
           [0.   ]])
    """
    check_choice(method, "method", METHODS)
    z, coded = check_scored(latents, factors, allow_continuous=method == "knn")
    if method == "knn":
        n_neighbors = check_int(n_neighbors, "n_neighbors", low=1)
        matrix = _by_neighbors(z, coded, n_neighbors, check_random_state(random_state))
    else:
        matrix = discrete_information(bin_columns(z, bins, method), coded.codes)
    entropies = np.where(coded.continuous, np.nan, entropy(coded.codes))
    largest = matrix.max(axis=0)
    return Score(
        "mutual_information",
        float(largest.mean()),
        per_factor=largest,
        matrix=matrix,
        details={"factor_entropy": entropies},
        factor_names=coded.names,
    )


def mig(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: str = "equal_width",
    random_state: Any = None,
) -> Score:
    """Mutual information gap (Chen et al. 2018, eq. 6).

    ``1/f sum_j (I(z_a; v_j) - I(z_b; v_j)) / H(v_j)``, where z_a and z_b are the latents that know
    most and second most about factor j. With one latent, the second is zero.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mutual_information`; factors must be classes.

    Returns
    -------
    Score
        `per_factor` is the gap of every factor, NaN for a factor with one value, which is left
        out of the mean; `matrix` the information over the entropy of the factor.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> float(mig(factors, factors)), float(mig(factors[:, [0, 1, 1]], factors))
    (1.0, 0.5)
    """
    known = _known(latents, factors, bins, method, random_state)
    return known.score("mig", known.spread(top_gap(known.share)))


def robust_mig(latents: Any, factors: Any, *, bins: int = BINS, random_state: Any = None) -> Score:
    """Mutual information gap in equal-frequency bins, corrected for chance.

    ``1/f sum_j (I'(z_a; v_j) - I'(z_b; v_j)) / H'(v_j)``: as `mig`, with two changes. Bins hold
    equally many rows, so that outliers and monotone maps of a latent leave the score alone. And
    information and entropies are corrected for the number n of rows (Miller 1955), so that
    independent latents score near zero: ``H' = H + (m - 1) / 2n`` with m values or cells that
    occur, and ``I' = H'(z) + H'(v) - H'(z, v)``.

    Parameters
    ----------
    latents, factors, bins, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_factor` keeps the gap of every factor; `details` has the latent that knows most about
        every factor, the second, and the median and the smallest gap: a single factor that is
        spread over many latents shows there, while the mean hides it.

    Examples
    --------
    >>> factors = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 50, axis=0)
    >>> print(robust_mig(np.exp(5.0 * factors), factors))
    robust_mig 1.000
      per factor  1.000 1.000
      median 1.000, smallest 1.000
    """
    known = _known(latents, factors, bins, "quantile", random_state, corrected=True)
    order = np.argsort(-known.share, axis=0, kind="stable")
    gaps = top_gap(known.share)
    second = order[1] if len(order) > 1 else np.full(len(gaps), -1)
    details = {
        "median": float(np.median(gaps)),
        "smallest": float(gaps.min()),
        "best_latent": known.spread(order[0], -1),
        "second_latent": known.spread(second, -1),
    }
    return known.score("robust_mig", known.spread(gaps), details=details)


def mig_sup(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: str = "equal_width",
    random_state: Any = None,
) -> Score:
    """Mutual information gap of the latents: the supplement of `mig` (Li et al. 2020).

    ``1/z sum_i (S(i, a) - S(i, b))`` with ``S(i, j) = I(z_i; v_j) / H(v_j)``, where a and b are
    the factors that latent i knows most and second most about. It falls where a latent mixes
    factors, as `mig` does where a factor is spread over latents. The mean is plain: latents that
    know nothing lower it. With one factor, the second is zero.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_latent` is the gap of every latent; `details["weighted"]` the mean of the gaps over
        latents weighted by their largest S, which latents that know nothing do not lower.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> score = mig_sup(np.column_stack([factors, np.zeros(4)]), factors)
    >>> round(float(score), 3), score.details["weighted"]
    (0.667, 1.0)
    """
    known = _known(latents, factors, bins, method, random_state)
    gaps, largest = top_gap(known.share.T), known.share.max(axis=1)
    weighted = float(gaps @ largest / largest.sum()) if largest.sum() > 0 else 0.0
    return known.score("mig_sup", per_latent=gaps, details={"weighted": weighted})


def modularity(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: str = "equal_width",
    random_state: Any = None,
) -> Score:
    """Modularity: whether every latent knows about one factor only (Ridgeway and Mozer 2018).

    ``1/z sum_i (1 - sum_{j != a} I(z_i; v_j)^2 / (I(z_i; v_a)^2 (f - 1)))``, where a is the factor
    that latent i knows most about: `modularity_of` the mutual information. The mean is plain, so
    that a latent of pure noise counts in full, with whatever pattern chance gave it. A latent that
    knows nothing at all scores zero. With one factor, any latent that knows about it scores one.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_latent`, and `matrix` is the mutual information in nats.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> modularity(np.column_stack([factors[:, 0], factors.sum(axis=1)]), factors).per_latent
    array([1., 0.])
    """
    known = _known(latents, factors, bins, method, random_state)
    found = modularity_of(known.information)
    return known.score(
        "modularity", per_latent=found.parts, matrix=known.spread_columns(known.information)
    )


def completeness(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: str = "equal_width",
    random_state: Any = None,
) -> Score:
    """Completeness from information: whether one latent holds all that is known of a factor.

    ``1/f sum_j (max_i S(i, j) / sum_i S(i, j) - 1/z) / (1 - 1/z)`` with
    ``S(i, j) = I(z_i; v_j) / H(v_j)`` over the z latents that are not constant: the compactness of
    InfoMEC (Hsu et al. 2023). The completeness of DCI, which reads importances, is in `dci`.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_factor`, zero for a factor that no latent knows about; `matrix` is S.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> completeness(factors[:, [0, 1, 1]], factors).per_factor
    array([1.  , 0.25])
    """
    known = _known(latents, factors, bins, method, random_state)
    active = known.active
    parts = compactness_of(known.share[active]).parts if active.any() else np.zeros(len(known.kept))
    notes = "" if active.all() else f"constant latents left out: {int((~active).sum())}"
    return known.score("completeness", known.spread(parts), note=notes)


@dataclass(frozen=True)
class _Known:
    """Information about the factors that have more than one value.

    Attributes
    ----------
    kept : indices of those factors among all f
    note : which factors were left out
    information, share : ndarray of shape (z, len(kept)); share is information over entropy
    active : ndarray of bool, shape (z,); latents that are not constant
    """

    coded: CodedFactors
    kept: np.ndarray
    note: str
    information: np.ndarray
    share: np.ndarray
    active: np.ndarray

    def spread(self, parts: np.ndarray, empty: float = np.nan) -> np.ndarray:
        """Parts of the kept factors at their places among all factors."""
        kind = np.result_type(parts.dtype, type(empty))
        found = np.full(len(self.coded.sizes), empty, kind)
        found[self.kept] = parts
        return found

    def spread_columns(self, matrix: np.ndarray) -> np.ndarray:
        found = np.zeros((len(matrix), len(self.coded.sizes)))
        found[:, self.kept] = matrix
        return found

    def score(
        self,
        name: str,
        per_factor: np.ndarray | None = None,
        *,
        per_latent: np.ndarray | None = None,
        matrix: np.ndarray | None = None,
        details: Mapping[str, Any] | None = None,
        note: str = "",
    ) -> Score:
        """The mean of the parts, and all that was read on the way."""
        parts = per_latent if per_factor is None else per_factor[self.kept]
        assert parts is not None
        return Score(
            name,
            float(parts.mean()),
            per_factor=per_factor,
            per_latent=per_latent,
            matrix=self.spread_columns(self.share) if matrix is None else matrix,
            details=details or {},
            note="; ".join(filter(None, [self.note, note])),
            factor_names=self.coded.names,
        )


def _known(
    latents: Any,
    factors: Any,
    bins: int,
    method: str,
    random_state: Any,
    *,
    corrected: bool = False,
) -> _Known:
    check_choice(method, "method", METHODS)
    z, coded = check_scored(latents, factors)
    kept, note = coded.varying()
    codes = coded.codes[:, kept]
    if method == "knn":
        rng = check_random_state(random_state)
        information, entropies = _by_neighbors(z, coded, NEIGHBORS, rng)[:, kept], entropy(codes)
    else:
        measure = corrected_information if corrected else _information_and_entropy
        information, entropies = measure(bin_columns(z, bins, method), codes)
    active = z.max(axis=0) > z.min(axis=0)
    share = np.minimum(information / entropies, 1.0)  # estimates from neighbours may pass it
    return _Known(coded, kept, note, information, share, active)


def _information_and_entropy(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return discrete_information(a, b), entropy(b)


def _by_neighbors(
    latents: np.ndarray, coded: CodedFactors, n_neighbors: int, rng: np.random.Generator
) -> np.ndarray:
    matrix = np.zeros((latents.shape[1], len(coded.sizes)))
    values = [
        without_ties(coded.values[:, j], rng) if continuous else coded.codes[:, j]
        for j, continuous in enumerate(coded.continuous)
    ]
    for i, column in enumerate(latents.T):
        if column.min() == column.max():
            continue  # a constant knows nothing
        x = without_ties(column, rng)
        for j, target in enumerate(values):
            measure = continuous_information if coded.continuous[j] else class_information
            matrix[i, j] = measure(x, target, n_neighbors)
    return matrix
