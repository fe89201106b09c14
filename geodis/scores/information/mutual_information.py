"""Mutual information between every latent and every factor."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_int, check_random_state
from geodis.scores.binning import BINS, bin_columns
from geodis.scores.information.by_counts import discrete_information, entropy
from geodis.scores.information.by_neighbors import NEIGHBORS, information_by_neighbors
from geodis.scores.inputs import check_scored
from geodis.scores.score import Score

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
        `value` the mean of those; a factor with one value has nothing to know, NaN there, and is
        left out of the mean. `details["factor_entropy"]` has the entropies (f,), NaN where the
        factor is continuous.

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
    matrix[:, coded.sizes == 1] = 0.0  # of neighbours in one class there is noise
    largest = varying.spread(matrix[:, varying.kept].max(axis=0))
    return varying.score(
        "mutual_information", largest, matrix=matrix, details={"factor_entropy": entropies}
    )
