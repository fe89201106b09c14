"""Information about the factors that vary, and the score that is read from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from geodis.base.check import check_choice, check_random_state
from geodis.scores.active import check_log_variances
from geodis.scores.binning import bin_columns
from geodis.scores.information.by_counts import corrected_information, discrete_information, entropy
from geodis.scores.information.by_neighbors import NEIGHBORS, information_by_neighbors
from geodis.scores.information.mutual_information import InformationBy
from geodis.scores.inputs import CodedFactors, ScoredFactors, check_scored
from geodis.scores.posterior.mixture_information import mixture_information
from geodis.scores.score import Score


@dataclass(frozen=True)
class FactorInformation:
    """Information about the factors that have more than one value.

    Attributes
    ----------
    varying : which of all factors those are
    information, share : ndarray of shape (z, k); share is information over entropy
    active : ndarray of bool, shape (z,); latents that are not constant
    """

    coded: CodedFactors
    varying: ScoredFactors
    information: np.ndarray
    share: np.ndarray
    active: np.ndarray

    @property
    def codes(self) -> np.ndarray:
        """Codes of those factors (n, k)."""
        return self.coded.codes[:, self.varying.kept]

    def spread(self, parts: np.ndarray, empty: float = np.nan) -> np.ndarray:
        """Parts of those factors at their places among all factors."""
        return self.varying.spread(parts, empty)

    def score(
        self,
        name: str,
        per_factor: np.ndarray | None = None,
        *,
        matrix: np.ndarray | None = None,
        **parts: Any,
    ) -> Score:
        """A score of those factors, with the matrix (z, k) that it was read from, or the share."""
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
    """Information of every latent about every factor that varies; all scores here read it.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.
    corrected : bool
        Correct information and entropies for the number of rows, as `robust_mig` does.
    log_variances : array-like of shape (n, z), optional
        Information of the latents that a Gaussian encoder draws, whatever the method.
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
    share = np.minimum(information / entropies, 1.0)  # estimates from neighbours may pass it
    return FactorInformation(coded, varying, information, share, active)


def _information_and_entropy(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return discrete_information(a, b), entropy(b)
