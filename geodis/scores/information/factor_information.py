"""Information about the factors that vary, and the score that is read from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from geodis.base.check import check_choice, check_random_state
from geodis.scores.active import check_log_variances
from geodis.scores.binning import bin_columns
from geodis.scores.information.by_counts import corrected_information, discrete_information, entropy
from geodis.scores.information.by_neighbors import NEIGHBORS, information_by_neighbors
from geodis.scores.information.mutual_information import InformationBy
from geodis.scores.inputs import CodedFactors, check_scored
from geodis.scores.posterior.mixture_information import mixture_information
from geodis.scores.score import Score


@dataclass(frozen=True)
class FactorInformation:
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
        whole = np.full(len(self.coded.sizes), empty, kind)
        whole[self.kept] = parts
        return whole

    def spread_columns(self, matrix: np.ndarray) -> np.ndarray:
        """Columns of the kept factors among zeros for the others."""
        whole = np.zeros((len(matrix), len(self.coded.sizes)))
        whole[:, self.kept] = matrix
        return whole

    def score(
        self,
        name: str,
        per_factor: np.ndarray | None = None,
        *,
        per_latent: np.ndarray | None = None,
        matrix: np.ndarray | None = None,
        details: Mapping[str, Any] | None = None,
        note: str = "",
        value: float | None = None,
    ) -> Score:
        """The mean of the parts unless another value is given, and all that was read on the way."""
        parts = per_latent if per_factor is None else per_factor[self.kept]
        assert parts is not None
        return Score(
            name,
            float(parts.mean()) if value is None else value,
            per_factor=per_factor,
            per_latent=per_latent,
            matrix=self.spread_columns(self.share) if matrix is None else matrix,
            details=details or {},
            note="; ".join(filter(None, [self.note, note])),
            factor_names=self.coded.names,
        )


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
    kept, note = coded.varying()
    codes = coded.codes[:, kept]
    spread = check_log_variances(log_variances, z)
    if spread is not None:
        information, entropies = mixture_information(z, spread, codes), entropy(codes)
    elif method == "knn":
        rng = check_random_state(random_state)
        information = information_by_neighbors(z, coded, NEIGHBORS, rng)[:, kept]
        entropies = entropy(codes)
    else:
        measure = corrected_information if corrected else _information_and_entropy
        information, entropies = measure(bin_columns(z, bins, method), codes)
    active = z.max(axis=0) > z.min(axis=0)
    share = np.minimum(information / entropies, 1.0)  # estimates from neighbours may pass it
    return FactorInformation(coded, kept, note, information, share, active)


def _information_and_entropy(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return discrete_information(a, b), entropy(b)
