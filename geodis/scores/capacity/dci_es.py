"""Explicitness and size of DCI-ES: how large a probe must be, and how large the code is."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_random_state
from geodis.scores.card import ALL_LATENTS, Card, Cost
from geodis.scores.grouping.factor_blocks import varying_blocks
from geodis.scores.identifiability.ridge import ridge_predict
from geodis.scores.inputs import check_latents
from geodis.scores.prediction.held_out import TRAIN_SHARE, split_rows, standardise
from geodis.scores.prediction.importance_models import order_of_latents
from geodis.scores.registry import register_score
from geodis.scores.score import Score

# Random features of the probes beside the latents themselves: the first probe is linear.
FEATURES = (0, 4, 16, 64, 256)


@register_score(
    family="predictive",
    rows={"dci_es_explicitness": "", "dci_es_size": "size"},
    takes_continuous=True,
    halves=True,
    default=False,
    cost=Cost("0.1 s"),
    card=Card(
        rewards="explicitness: factors that a small probe reads as well as a large one. size: as "
        "few latents as factors.",
        blind="How well the largest probe does: a code of noise, which no probe can read, has an "
        "explicitness of one. Read it beside informativeness. It is of this family of probes.",
        answers={"dci_es_explicitness": "information"},
        scale="-1 to 1; 0 where losses fall evenly to nothing",
        chance="explicitness near 1, size as before: read them beside informativeness",
        shapes=ALL_LATENTS,
        source="Eastwood et al. 2023, section 4",
    ),
)
def dci_es(
    latents: Any,
    factors: Any,
    *,
    groups: Any = None,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    random_state: Any = None,
) -> Score:
    """Explicitness and size of DCI-ES (Eastwood et al. 2023).

    Probes of growing capacity predict every factor, and their losses make a curve
    (`explicitness_of_curve`); explicitness is one less the share of the area that lies under the
    curve and above its end. A probe is ridge regression on the latents and on 0, 4, 16, 64 and 256
    random Fourier features; its capacity the logarithm of one more than these; its loss the share
    of the variance of held-out rows that is left. Size is ``f / z``, at most one.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or Factors
        Of any kind, as in `block_r2`.
    groups : ignored
        All latents are read together.
    train_share, shuffle, random_state
        As in `sap`; `random_state` also draws the features.

    Returns
    -------
    Score
        `value` is explicitness, `per_factor` its parts; `details` has "size", "capacities" and
        "losses" (probes, f).

    Examples
    --------
    >>> factors = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> float(dci_es(factors @ [[1.0, 2.0], [1.0, -1.0]], factors, random_state=0)) > 0.999
    True
    """
    z = check_latents(latents)
    blocks, varying = varying_blocks(factors, len(z))
    rng = check_random_state(random_state)
    split = split_rows(len(z), train_share, shuffle, rng)
    # Those that stand still say nothing, and places that were given draw no lots.
    varied = z.max(axis=0) > z.min(axis=0)
    moving = z[:, varied] if varied.any() else z[:, :1]
    train, test = standardise(moving[:, order_of_latents(moving)], split)
    capacities = np.log2(1 + np.array(FEATURES))
    losses = np.full((len(FEATURES), len(blocks)), np.nan)
    for probe, count in enumerate(FEATURES):
        seen, unseen = _with_features(train, test, count, rng)
        for j in varying.kept:
            known, wanted = (blocks[j].values[rows] for rows in (split.train, split.test))
            left = ((wanted - ridge_predict(seen, known, unseen)[0]) ** 2).sum()
            total = ((wanted - known.mean(axis=0)) ** 2).sum()
            losses[probe, j] = min(left / total, 1.0) if total > 0 else 0.0
    explicit = [explicitness_of_curve(capacities, losses[:, j]) for j in varying.kept]
    return varying.score(
        "dci_es",
        varying.spread(explicit),
        details={
            "size": min(len(varying.kept) / z.shape[1], 1.0),
            "capacities": capacities,
            "losses": losses,
        },
    )


def explicitness_of_curve(
    capacities: np.ndarray, losses: np.ndarray, baseline: float = 1.0
) -> float:
    """Explicitness of the losses of probes (Eastwood et al. 2023, eq. 5).

    ``1 - 2 A / ((c_T - c_1) b)``, with A the area between the curve of the least loss so far and
    its end, by trapezia, and b the loss without latents; the best loss there could be is zero.

    Examples
    --------
    >>> explicitness_of_curve(np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.5, 0.5]))
    1.0
    >>> explicitness_of_curve(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    0.0
    """
    least = np.minimum.accumulate(losses)
    above = least - least[-1]
    area = ((above[1:] + above[:-1]) / 2 * np.diff(capacities)).sum()
    return float(1 - 2 * area / ((capacities[-1] - capacities[0]) * baseline))


def _with_features(
    train: np.ndarray, test: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Latents and random Fourier features of them (Rahimi and Recht 2007), of their own width."""
    if not count:
        return train, test
    width = np.sqrt(train.shape[1])
    turns = rng.standard_normal((train.shape[1], count)) / width
    phase = rng.uniform(0, 2 * np.pi, count)
    return (
        np.column_stack([train, np.cos(train @ turns + phase)]),
        np.column_stack([test, np.cos(test @ turns + phase)]),
    )
