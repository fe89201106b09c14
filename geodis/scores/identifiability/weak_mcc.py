"""Weak mean correlation coefficient: after the best linear map, or after canonical correlation."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import check_choice, check_random_state
from geodis.scores.card import COLUMNS, QUICK, Card
from geodis.scores.identifiability.mcc import (
    CorrelationBy,
    absolute_correlations,
    matched_correlations,
    means_of_blocks,
    ordered_blocks,
)
from geodis.scores.inputs import check_latents
from geodis.scores.prediction.held_out import TRAIN_SHARE, split_rows, standardise
from geodis.scores.registry import register_score
from geodis.scores.score import Score

LinkBy = Literal["linear", "cca"]
# Directions of a smaller singular value than this share of the largest are rounding.
RANK_TOLERANCE = 1e-8


@register_score(
    "weak_mcc_cca",
    family="identifiability",
    options={"method": "cca"},
    takes_continuous=True,
    halves=True,
    cost=QUICK,
    card=Card(
        rewards="Latents and factors that span the same, up to a linear map on either side.",
        blind="Which latent holds which factor: turned latents score as before. Directions that "
        "neither side varies along much count as much as others.",
        answers="information",
        chance="0.03 to 0.05 for 5,000 rows",
        shapes=COLUMNS,
        source="Khemakhem et al. 2020 (ICE-BeeM), section 5",
    ),
)
@register_score(
    "weak_mcc_linear",
    family="identifiability",
    options={"method": "linear"},
    takes_continuous=True,
    halves=True,
    cost=QUICK,
    card=Card(
        rewards="Every factor a linear function of the latents.",
        blind="Which latent holds which factor: turned latents score as before. Bent encodings.",
        answers="information",
        chance="0.03 to 0.05 for 5,000 rows",
        shapes=COLUMNS,
        source="Khemakhem et al. 2020 (ICE-BeeM), section 5",
    ),
)
def weak_mcc(
    latents: Any,
    factors: Any,
    *,
    method: LinkBy = "linear",
    correlation: CorrelationBy = "pearson",
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    random_state: Any = None,
) -> Score:
    """Mean correlation coefficient after a linear map, on held-out rows (Khemakhem et al. 2020).

    Latents that are known up to an invertible matrix are as good as those known up to scale for
    much theory: the map is found on some rows, and `mcc` is taken of the others.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or Factors
        As in `mcc`.
    method : {"linear", "cca"}
        Latents mapped onto the factors by least squares, or both onto their canonical variates, as
        many as the smaller of the two has.
    correlation : {"pearson", "spearman"}
    train_share, shuffle, random_state
        As in `sap`.

    Returns
    -------
    Score
        For "linear", `per_factor`. `matrix` has the correlations, without sign, of both sides on
        held-out rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.standard_normal((300, 2))
    >>> turned = factors @ [[3.0, 1.0], [1.0, -1.0]]
    >>> round(float(weak_mcc(turned, factors, random_state=0)), 6)
    1.0
    """
    check_choice(method, "method", get_args(LinkBy))
    check_choice(correlation, "correlation", get_args(CorrelationBy))
    z = check_latents(latents)
    blocks, varying = ordered_blocks(factors, len(z), "weak_mcc")
    targets = np.column_stack([block.values for block in blocks])
    split = split_rows(len(z), train_share, shuffle, check_random_state(random_state))
    train, test = standardise(z, split)
    known, wanted = targets[split.train], targets[split.test]
    per_factor = None
    if method == "linear":
        mapped = test @ np.linalg.lstsq(train, known - known.mean(axis=0), rcond=None)[0]
        matrix = absolute_correlations(mapped, wanted, correlation)
        parts = matched_correlations(matrix)[1]
        per_factor = varying.spread(means_of_blocks(parts, blocks))
        value = float(per_factor[varying.kept].mean())
    else:
        left, right = canonical_directions(train, known)
        matrix = absolute_correlations(test @ left, wanted @ right, correlation)
        value = float(matched_correlations(matrix)[1].mean()) if matrix.size else 0.0
    return varying.score(
        "weak_mcc", per_factor, value=value, matrix=matrix, details={"method": method}
    )


def canonical_directions(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions of two sets of columns whose values correlate most (Hotelling 1936).

    With ``a = U S V^T`` and ``b = U' S' V'^T`` centred, and ``U^T U' = P D Q^T``, the directions
    are ``V S^-1 P`` and ``V' S'^-1 Q``, and D has the correlations.

    Returns
    -------
    left : ndarray of shape (p, c)
    right : ndarray of shape (q, c)
        c is the smaller rank of the two.

    Examples
    --------
    >>> a = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 1.0]])
    >>> left, right = canonical_directions(a, a @ [[1.0, 2.0], [3.0, 4.0]])
    >>> np.abs(np.corrcoef(a @ left, a @ [[1.0, 2.0], [3.0, 4.0]] @ right, rowvar=False)).round(6)
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """
    left, right = _whitening(a), _whitening(b)
    p, _, q = np.linalg.svd(left[0].T @ right[0], full_matrices=False)
    return left[1] @ p, right[1] @ q.T


def _whitening(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal columns with the span of the centred ones, and the map onto them."""
    u, s, vt = np.linalg.svd(a - a.mean(axis=0), full_matrices=False)
    kept = s > RANK_TOLERANCE * max(s[0], 1e-300)
    return u[:, kept], vt[kept].T / s[kept]
