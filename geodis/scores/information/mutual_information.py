"""Mutual information between every latent and every factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int, check_random_state
from geodis.scores.binning import BINS, bin_columns
from geodis.scores.card import Score
from geodis.scores.information.estimates import (
    NEIGHBORS,
    corrected_information,
    discrete_information,
    entropy,
    information_by_neighbors,
    mixture_information,
)
from geodis.scores.inputs import CodedFactors, ScoredFactors, check_log_variances, check_scored

InformationBy = Literal["equal_width", "quantile", "knn"]


def mutual_information(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    n_neighbors: int = NEIGHBORS,
    random_state: Any = None,
) -> Score:
    """Mutual information in nats between every latent and every factor.

    ``I(z_i; v_j) = sum p(z_i, v_j) log(p(z_i, v_j) / (p(z_i) p(v_j)))`` over bins of the latent and
    values of the factor. Counts overestimate it by about ``(bins - 1) (size - 1) / 2n``.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        "knn" accepts continuous factors; the other methods need classes.
    bins : int
    method : {"equal_width", "quantile", "knn"}
        "equal_width" is used in published scores; "quantile" depends only on the order of the
        values of a latent; "knn" does not bin (Ross 2014 for classes, Kraskov et al. 2004 for
        continuous factors).
    n_neighbors : int
        For "knn".
    random_state : int, Generator or None
        "knn" breaks ties with noise of 1e-10 of the range of a latent.

    Returns
    -------
    Score
        `matrix` is the information (z, f), `per_factor` its largest entry for every factor, NaN
        for constant factors, and `value` the mean over the others. `details["factor_entropy"]` has
        the entropies (f,), NaN for continuous factors.

    Examples
    --------
    >>> factors = np.repeat([0, 1], 20)
    >>> score = mutual_information(np.column_stack([factors, np.zeros(40)]), factors)
    >>> score.matrix.round(3)
    array([[0.693],
           [0.   ]])
    """
    check_choice(method, "method", get_args(InformationBy))
    z, coded = check_scored(latents, factors, allow_continuous=method == "knn")
    varying = coded.varying()
    if method == "knn":
        n_neighbors = check_int(n_neighbors, "n_neighbors", low=1)
        matrix = information_by_neighbors(z, coded, n_neighbors, check_random_state(random_state))
    else:
        matrix = discrete_information(bin_columns(z, bins, method), coded.codes)
    entropies = np.where(coded.continuous, np.nan, entropy(coded.codes))
    matrix[:, coded.sizes == 1] = 0.0  # estimates from neighbours in a single class are noise
    largest = varying.spread(matrix[:, varying.kept].max(axis=0))
    return varying.score(
        "mutual_information", largest, matrix=matrix, details={"factor_entropy": entropies}
    )


# Information about the factors that vary, and scores made from it.


@dataclass(frozen=True)
class FactorInformation:
    """Information about the factors with more than one value.

    Attributes
    ----------
    varying : ScoredFactors
        The selected factors.
    information, share : ndarray of shape (z, k)
        `share` is the information divided by the entropy of the factor.
    active : ndarray of bool, shape (z,)
        Latents that are not constant.
    """

    coded: CodedFactors
    varying: ScoredFactors
    information: np.ndarray
    share: np.ndarray
    active: np.ndarray

    @property
    def codes(self) -> np.ndarray:
        """Codes of the selected factors (n, k)."""
        return self.coded.codes[:, self.varying.kept]

    def spread(self, parts: np.ndarray, empty: float = np.nan) -> np.ndarray:
        """Expand values of the selected factors to all factors."""
        return self.varying.spread(parts, empty)

    def score(
        self,
        name: str,
        per_factor: np.ndarray | None = None,
        *,
        matrix: np.ndarray | None = None,
        **parts: Any,
    ) -> Score:
        """Make a score of the selected factors, with a matrix (z, k), by default `share`."""
        whole = self.varying.spread_columns(self.share if matrix is None else matrix)
        return self.varying.score(name, per_factor, matrix=whole, **parts)


def information_about(
    latents: Any,
    factors: Any,
    bins: int,
    method: InformationBy,
    random_state: Any,
    *,
    corrected: bool = False,
    log_variances: Any = None,
) -> FactorInformation:
    """Compute the information of every latent about every factor that varies.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.
    corrected : bool
        Correct information and entropies for the number of rows, as in `robust_mig`.
    log_variances : array-like of shape (n, z), optional
        Of a Gaussian encoder; the information is then that of sampled latents, for any method.
    """
    check_choice(method, "method", get_args(InformationBy))
    z, coded = check_scored(latents, factors)
    varying = coded.varying()
    codes = coded.codes[:, varying.kept]
    spread = check_log_variances(log_variances, z)
    if spread is not None:
        information, entropies = mixture_information(z, spread, codes), entropy(codes)
    elif method == "knn":
        rng = check_random_state(random_state)
        information = information_by_neighbors(z, coded, NEIGHBORS, rng)[:, varying.kept]
        entropies = entropy(codes)
    else:
        measure = corrected_information if corrected else _information_and_entropy
        information, entropies = measure(bin_columns(z, bins, method), codes)
    active = z.max(axis=0) > z.min(axis=0)
    share = np.minimum(
        information / entropies, 1.0
    )  # estimates from neighbours may exceed the entropy
    return FactorInformation(coded, varying, information, share, active)


def _information_and_entropy(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return discrete_information(a, b), entropy(b)
