"""InfoMEC: modularity, explicitness and compactness from information."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_int, check_random_state
from geodis.scores.card import Cost, Score
from geodis.scores.importance import compactness_of
from geodis.scores.information.estimates import (
    class_information,
    discrete_information,
    entropy,
    jittered,
)
from geodis.scores.inputs import check_scored, codes_of, of_order_one, rows_at_most
from geodis.scores.predictive.cross_validation import fit_logistic
from geodis.scores.registry import register_score

# As published: number of neighbours, and the share of the widest range that active latents exceed.
INFOMEC_NEIGHBORS, DEAD_SHARE = 10, 1 / 20
# The time grows with the number of rows, while more rows hardly improve the estimates.
MOST_ROWS = 10_000


@register_score(
    family="information",
    rows={"infom": "", "infoe": "explicitness", "infoc": "compactness"},
    cost=Cost("0.2 s", intervals="seldom", many_latents=True),
    answers={"infom": "modularity", "infoe": "information", "infoc": "completeness"},
)
def infomec(
    latents: Any,
    factors: Any,
    *,
    n_neighbors: int = INFOMEC_NEIGHBORS,
    discrete: bool = False,
    max_rows: int | None = MOST_ROWS,
    random_state: Any = None,
) -> Score:
    """InfoMEC: modularity, explicitness and compactness (Hsu et al. 2023).

    With ``N(i, j) = I(z_i; v_j) / H(v_j)`` over the active latents, those whose range is more than
    a twentieth of the widest,

    - InfoM: ``(mean_i (max_j N_ij / sum_j N_ij) - 1/f) / (1 - 1/f)``;
    - InfoC: ``(mean_j (max_i N_ij / sum_i N_ij) - 1/z) / (1 - 1/z)``;
    - InfoE: the mean over factors of ``1 - L(v | z) / L(v)``, with L the cross-entropy on the
      training rows of logistic regression without penalty and with balanced classes.

    They differ from `modularity`, which uses squared information in equal bins over all latents,
    and from `explicitness`, an area under the ROC curve on held-out rows.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes.
    n_neighbors : int
        For the estimate of information (Ross 2014).
    discrete : bool
        For latents with few values, such as quantised ones: information from counts, one-hot
        inputs of the logistic regression, and all latents that vary are active.
    max_rows : int or None
        Larger inputs are subsampled to this many rows; None uses all.
    random_state : int, Generator or None
        Draws rows, and breaks ties with noise of 1e-10 of the range.

    Returns
    -------
    Score
        `value` is InfoM, `per_latent` its parts (NaN for dead latents), `per_factor` those of
        InfoC; `matrix` is N of all latents; `details` has "compactness", "explicitness",
        "explicitness_per_factor" and "active".

    Rewards
    -------
    InfoM: latents that each know one factor. InfoC: factors that one latent knows. InfoE: a linear
    model that reads every factor off all latents.

    Cannot see
    ----------
    Latents of a small range are taken for dead, whatever they hold: scale matters. Ratios forget
    how much there is to share out. Factors on circles lower InfoC by design, and factors that
    depend on each other lower both.

    Range
    -----
    0 to 1; InfoE may pass below

    By chance
    ---------
    InfoM 0.39 to 0.77 and InfoC 0.25 to 0.52, ratios of noise; 0.45 to 0.91 and 0.27 to 0.88 with 6
    latents, 3 factors and 1,000 rows; InfoE near 0

    Source
    ------
    Hsu et al. 2023, eqs. 3 to 6

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (50, 1))
    >>> code = factors + 0.01 * np.random.default_rng(0).standard_normal((200, 2))
    >>> score = infomec(code, factors, random_state=0)
    >>> round(float(score), 1), round(score.details["compactness"], 1)
    (1.0, 1.0)
    """
    n_neighbors = check_int(n_neighbors, "n_neighbors", low=1)
    z, coded = check_scored(latents, factors)
    varying = coded.varying()
    rng = check_random_state(random_state)
    z, codes, limited = rows_at_most(max_rows, z, coded.codes[:, varying.kept], rng)
    # One scale for all latents, because ranges are compared.
    scaled = z / max(np.abs(z).max(), 1e-300)
    width = np.ptp(scaled, axis=0)
    active = width > (0.0 if discrete else width.max() * DEAD_SHARE)
    of_factor = entropy(codes)
    share = _information(z, codes, discrete, n_neighbors, rng)
    share = share / np.where(of_factor > 0, of_factor, 1.0)
    explicit = varying.spread(_explicitness(z, codes, discrete))
    per_latent = np.full(z.shape[1], np.nan)
    compact = np.zeros(len(varying.kept))
    if active.any():
        per_latent[active] = compactness_of(share[active].T).parts
        compact = compactness_of(share[active]).parts
    dead = int((~active).sum())
    return varying.score(
        "infomec",
        varying.spread(compact),
        value=float(np.nanmean(per_latent)) if active.any() else 0.0,
        per_latent=per_latent,
        matrix=varying.spread_columns(share),
        details={
            "compactness": float(compact.mean()),
            "explicitness": float(explicit[varying.kept].mean()),
            "explicitness_per_factor": explicit,
            "active": active,
        },
        notes=[limited, f"dead latents left out: {dead}" if dead else ""],
    )


def _information(
    z: np.ndarray, codes: np.ndarray, discrete: bool, k: int, rng: np.random.Generator
) -> np.ndarray:
    if discrete:
        return discrete_information(codes_of(z), codes)
    matrix = np.zeros((z.shape[1], codes.shape[1]))
    noise = rng.standard_normal(len(z))
    for i, column in enumerate(of_order_one(z).T):
        if column.min() < column.max():
            x = jittered(column, noise)
            matrix[i] = [class_information(x, target, k) for target in codes.T]
    return matrix


def _explicitness(z: np.ndarray, codes: np.ndarray, discrete: bool) -> np.ndarray:
    """Return one minus the relative cross-entropy of a linear model, for every factor."""
    from sklearn.metrics import log_loss

    if discrete:
        columns = [column[:, None] == np.unique(column) for column in z.T]
        seen = np.concatenate(columns, axis=1).astype(float)
    else:
        scaled = of_order_one(z)
        alive = scaled.max(axis=0) > scaled.min(axis=0)
        spread = np.where(alive, scaled.std(axis=0), 1.0)
        seen = np.where(alive, scaled - scaled.mean(axis=0), 0.0) / spread
    parts = []
    for target in codes.T:
        classes = int(target.max()) + 1
        if classes < 2:  # the drawn rows have a single class
            parts.append(0.0)
            continue
        model, _ = fit_logistic(seen, target, C=np.inf, class_weight="balanced")
        left = log_loss(target, model.predict_proba(seen))
        # Without latents and with balanced classes, all classes have the same probability.
        parts.append(1 - left / np.log(classes))
    return np.array(parts)
