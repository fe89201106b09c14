"""Unsupervised disentanglement ranking: whether models find the same latents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice
from geodis.scores.card import Score
from geodis.scores.inputs import active_latents, check_latents, check_log_variances

Similarity = Literal["lasso", "spearman"]
# Weight of the L1 penalty that Duan et al. (2020) use on standardised latents.
LASSO_PENALTY = 0.1


def udr(
    latents: Sequence[Any],
    *,
    similarity: Similarity = "lasso",
    log_variances: Sequence[Any] | None = None,
) -> Score:
    """Unsupervised disentanglement ranking (Duan et al., 2020) of several models' latents.

    Disentangled models have the same latents, up to order, sign and scale. With R_ab >= 0 the
    similarity of latent a of one model and latent b of another, over active latents,

        UDR_ij = (sum_b max_a R_ab^2 / sum_a R_ab + sum_a max_b R_ab^2 / sum_b R_ab) / (d_a + d_b),

    and the score of model j is the median of UDR_ij over the others.

    Parameters
    ----------
    latents : sequence of m array-likes of shape (n, z_i)
        Latents of each model for the same n observations; the models should differ only in their
        seeds.
    similarity : "lasso" or "spearman"
        Absolute weights of an L1-penalised regression (penalty 0.1) of each latent of model j on
        those of model i, or absolute rank correlations; latents are standardised first.
    log_variances : sequence of m array-likes of shape (n, z_i), optional
        Latents with a mean KL divergence from N(0, 1) of at most 0.01 nats are inactive. Without
        log-variances, constant latents are.

    Returns
    -------
    Score
        ``value`` is the score of the best model; ``details["models"]`` (m,) has the score of every
        model, ``details["pairs"]`` (m, m) the UDR_ij, and ``details["active"]`` the number of
        active latents of each model.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal((500, 3))
    >>> ranked = udr([z, -z[:, ::-1], 2 * z], similarity="spearman")
    >>> float(ranked) > 0.8
    True
    """
    check_choice(similarity, "similarity", get_args(Similarity))
    models = [check_latents(model, min_points=3) for model in latents]
    active = _active(models, log_variances)
    used = [_standard(z[:, own], similarity) for z, own in zip(models, active, strict=True)]
    pairs = _compare(used, similarity)
    others = ~np.eye(len(models), dtype=bool)
    per_model = np.array([np.median(pairs[others[:, j], j]) for j in range(len(models))])
    counts = np.array([int(own.sum()) for own in active])
    unused = int((counts == 0).sum())
    return Score(
        "udr",
        float(per_model.max()),
        details={"models": per_model, "pairs": pairs, "active": counts},
        note=f"{unused} models use no latent and score 0" if unused else "",
    )


def _active(models: list[np.ndarray], log_variances: Sequence[Any] | None) -> list[np.ndarray]:
    """Return the active latents of each model, and refuse models that cannot be compared."""
    if len(models) < 2:
        raise InputError(f"udr compares models and needs two at least; got {len(models)}.")
    if len({len(z) for z in models}) > 1:
        raise InputError(
            "udr needs latents of the same observations from every model; "
            f"got {', '.join(str(len(z)) for z in models)} rows."
        )
    spreads = [None] * len(models) if log_variances is None else list(log_variances)
    if len(spreads) != len(models):
        raise InputError(
            f"log_variances must be {len(models)} arrays, one a model; got {len(spreads)}."
        )
    return [
        active_latents(z, check_log_variances(spread, z))
        for z, spread in zip(models, spreads, strict=True)
    ]


def _compare(models: list[np.ndarray], similarity: Similarity) -> np.ndarray:
    """Return UDR_ij of all pairs of models, (m, m); zero on the diagonal."""
    pairs = np.zeros((len(models), len(models)))
    for i, first in enumerate(models):
        for j, second in enumerate(models):
            if i == j or (similarity == "spearman" and j < i):
                continue
            pairs[i, j] = matching_strength(_similarity(first, second, similarity))
            if similarity == "spearman":  # symmetric
                pairs[j, i] = pairs[i, j]
    return pairs


def _standard(latents: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Standardise columns, or their ranks."""
    if similarity == "spearman":
        from scipy.stats import rankdata

        latents = rankdata(latents, axis=0)
    return (latents - latents.mean(axis=0)) / latents.std(axis=0)


def _similarity(first: np.ndarray, second: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Return the similarity matrix R (d_a, d_b), which is non-negative."""
    if not first.size or not second.size:
        return np.zeros((first.shape[1], second.shape[1]))
    if similarity == "spearman":
        return np.abs(first.T @ second) / len(first)
    from sklearn.linear_model import Lasso

    weights = Lasso(alpha=LASSO_PENALTY).fit(first, second).coef_
    return np.abs(weights.reshape(second.shape[1], first.shape[1]).T)


def matching_strength(similarity: np.ndarray) -> float:
    """Return the UDR of a pair from R (d_a, d_b): 1 for a permutation matrix, 0 for zeros."""
    total = 0.0
    for axis in (0, 1):
        strongest, whole = similarity.max(axis=axis, initial=0), similarity.sum(axis=axis)
        safe = np.where(whole > 0, whole, 1.0)
        total += float((strongest**2 / safe).sum())
    return total / max(sum(similarity.shape), 1)
