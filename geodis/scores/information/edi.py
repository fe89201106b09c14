"""EDI: exclusivity disentanglement, from the share of each latent in the information."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from scipy.special import digamma

from geodis.base.check import check_choice, check_int, check_random_state
from geodis.scores.binning import BINS, bin_columns
from geodis.scores.card import Cost, Score
from geodis.scores.information.estimates import (
    NEIGHBORS,
    class_information,
    discrete_information,
    entropy,
    jittered,
)
from geodis.scores.inputs import check_scored, of_order_one, rows_at_most
from geodis.scores.registry import register_score

ImpactBy = Literal["knn", "equal_width"]
JointBy = Literal["knn", "largest", "sum"]
# The search for neighbours in the space of all latents is slow; more rows hardly improve estimates.
EDI_ROWS = 5_000


@register_score(
    family="information",
    rows={"edi_modularity": "", "edi_compactness": "compactness", "edi_explicitness": "explicit"},
    default=False,
    cost=Cost("1 s"),
    answers={
        "edi_modularity": "modularity",
        "edi_compactness": "completeness",
        "edi_explicitness": "information",
    },
)
def edi(
    latents: Any,
    factors: Any,
    *,
    method: ImpactBy = "knn",
    joint: JointBy = "knn",
    bins: int = BINS,
    n_neighbors: int = NEIGHBORS,
    max_rows: int | None = EDI_ROWS,
    random_state: Any = None,
) -> Score:
    """Exclusivity disentanglement: modularity, compactness, explicitness (Julka et al. 2024).

    With ``R_ij = I(z_i; v_j) / I(z; v_j)``, the share of latent i in the information of all latents
    about factor j, and the exclusivity ``E(x) = max x - sqrt(sum of the other x^2 / (m - 1))`` of m
    numbers,

    - modularity: ``1/f sum_j min(1, sum E(R_i.))``, over the latents i with the largest share of
      factor j; ties are divided among factors;
    - compactness: ``1/f sum_j E(R_.j)``;
    - explicitness: ``1/f sum_j min(1, I(z; v_j) / H(v_j))``.

    The formulas are those of the code published by the second author of the paper, where the score
    is called DCII. That code may estimate I(z; v_j) with a network; here it is estimated from
    nearest neighbours. Factors are treated as classes.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes.
    method : {"knn", "equal_width"}
        Estimate of I(z_i; v_j): nearest neighbours (Ross 2014), or counts in bins.
    joint : {"knn", "largest", "sum"}
        Estimate of I(z; v_j): from nearest neighbours in the space of the standardised latents, at
        least the largest I(z_i; v_j); that largest information; or the sum over all latents.
    bins, n_neighbors : int
        For the estimates.
    max_rows : int or None
        Larger inputs are subsampled to this many rows; None uses all.
    random_state : int, Generator or None
        Draws rows, and breaks ties with noise of 1e-10 of the range of a latent.

    Returns
    -------
    Score
        `value` is the modularity, `per_latent` the exclusivity of every latent, `per_factor` the
        exclusivity of every factor; `matrix` is R; `details` has "compactness", "explicit" (the
        mean), and "explicitness" and "modularity" by factor.

    Rewards
    -------
    Modularity: every factor is the only one of some latent. Compactness: of every factor one latent
    knows all that is known, and the others nothing. Explicitness: all latents together know the
    factor.

    Cannot see
    ----------
    Shares of what is known forget how little that is: read the first two beside edi_explicitness.
    Neighbours in many latents find less than there is. Factors on circles lower compactness.

    By chance
    ---------
    modularity and compactness 0.5 to 1, shares of noise; explicitness near 0

    Source
    ------
    Julka, Wang and Granitzer 2024, as the second author's code has it

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (50, 1))
    >>> code = factors[:, ::-1] + 0.01 * np.random.default_rng(0).standard_normal((200, 2))
    >>> score = edi(code, factors, random_state=0)
    >>> round(float(score), 1), round(score.details["compactness"], 1)
    (1.0, 1.0)
    """
    check_choice(method, "method", get_args(ImpactBy))
    check_choice(joint, "joint", get_args(JointBy))
    n_neighbors = check_int(n_neighbors, "n_neighbors", low=1)
    rng = check_random_state(random_state)
    z, coded = check_scored(latents, factors)
    varying = coded.varying()
    z, codes, limited = rows_at_most(max_rows, z, coded.codes[:, varying.kept], rng)
    of_factor = entropy(codes)
    near_zero = of_order_one(z - z.min(axis=0))  # floats are densest near zero
    alone, together = _informed(near_zero, codes, method, joint, bins, n_neighbors, rng)
    shares = alone / np.where(together > 0, together, 1.0)
    of_latent, best = exclusive_share(shares.T), shares == shares.max(axis=1, keepdims=True)
    modular = np.minimum(of_latent @ (best / best.sum(axis=1, keepdims=True)), 1.0)
    compact = exclusive_share(shares)
    explicit = np.minimum(together / np.where(of_factor > 0, of_factor, 1.0), 1.0)
    return varying.score(
        "edi",
        varying.spread(compact),
        value=float(modular.mean()),
        per_latent=of_latent,
        matrix=varying.spread_columns(shares),
        details={
            "compactness": float(compact.mean()),
            "explicit": float(explicit.mean()),
            "explicitness": varying.spread(explicit),
            "modularity": varying.spread(modular),
        },
        notes=[limited],
    )


def exclusive_share(shares: np.ndarray) -> np.ndarray:
    """Return the largest entry of every column minus the root mean square of the others, (f,).

    Examples
    --------
    >>> exclusive_share(np.array([[1.0, 0.5], [0.0, 0.5], [0.0, 0.5]]))
    array([1., 0.])
    """
    ordered = np.sort(shares, axis=0)
    others = (ordered[:-1] ** 2).sum(axis=0) / max(len(shares) - 1, 1)
    exclusive: np.ndarray = ordered[-1] - np.sqrt(others)
    return exclusive


def _informed(
    z: np.ndarray,
    codes: np.ndarray,
    method: ImpactBy,
    joint: JointBy,
    bins: int,
    k: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the information of every latent (z, f), and of all latents together (f,)."""
    noise = rng.standard_normal(len(z))
    # Constant latents are not jittered: they have no information.
    spread = np.where(np.ptp(z, axis=0) > 0, z.std(axis=0), 0.0)
    moving = np.flatnonzero(spread > 0)
    moved = np.column_stack([jittered(z[:, i], noise) / spread[i] for i in moving] or [0 * noise])
    if method == "knn":
        alone = np.zeros((z.shape[1], codes.shape[1]))
        for i, x in zip(moving, moved.T, strict=False):
            alone[i] = [class_information(x, target, k) for target in codes.T]
    else:
        alone = discrete_information(bin_columns(z, bins), codes)
    if joint == "sum":
        return alone, alone.sum(axis=0)
    largest: np.ndarray = alone.max(axis=0)
    if joint == "largest" or not len(moving):
        return alone, largest
    found = [joint_information(moved, target, k) for target in codes.T]
    return alone, np.maximum(largest, found)


def joint_information(x: np.ndarray, codes: np.ndarray, k: int = NEIGHBORS) -> float:
    """Mutual information of a vector and a class, from nearest neighbours.

    Ross (2014), eq. 2, as in `class_information`, with Euclidean distances.

    Parameters
    ----------
    x : ndarray of shape (n, z)
        Rows must be distinct.
    codes : ndarray of int, shape (n,)

    Returns
    -------
    float
        Nats, at least zero.

    Examples
    --------
    >>> x = np.stack([np.arange(40.0), np.zeros(40)], axis=1)
    >>> codes = (x[:, 0] >= 20).astype(int)
    >>> abs(joint_information(x, codes) - class_information(x[:, 0], codes)) < 1e-12
    True
    """
    from scipy.spatial import KDTree

    counts = np.bincount(codes)
    kept = counts[codes] > 1  # a class of one row has no neighbours
    x, codes = x[kept], codes[kept]
    n = len(x)
    if n < 2:
        return 0.0
    near, radius = np.minimum(k, counts[codes] - 1), np.empty(n)
    for value in np.flatnonzero(counts > 1):
        own = np.flatnonzero(codes == value)
        depth = int(near[own[0]])
        radius[own] = KDTree(x[own]).query(x[own], [depth + 1])[0][:, 0]
    # Strictly nearer: excludes the neighbour at the radius, and includes the row itself.
    inside = KDTree(x).query_ball_point(x, np.nextafter(radius, 0), return_length=True)
    psi = digamma(np.arange(n + 1))
    terms = psi[near] - psi[counts[codes]] - psi[np.maximum(inside, 1)]
    return max(float(psi[n] + terms.mean()), 0.0)
