"""DCI: disentanglement, completeness and informativeness, and the extension DCI-ES."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from geodis.base.check import check_choice, check_int, check_random_state
from geodis.base.jobs import in_threads
from geodis.scores.card import ALL_LATENTS, Cost, MatrixCaption, Score, Shown
from geodis.scores.groups import varying_blocks
from geodis.scores.importance import completeness_of, disentanglement_of
from geodis.scores.inputs import check_latents, check_scored, refuse_labels
from geodis.scores.predictive.cross_validation import (
    TRAIN_SHARE,
    ridge_predict,
    split_rows,
    standardise,
)
from geodis.scores.predictive.importance_models import (
    FACTOR_MODELS,
    ImportanceModel,
    order_of_latents,
)
from geodis.scores.registry import register_score

# Noisy latents need fine splits. On the reference sets, with up to 3,750 training rows,
# disentanglement and completeness differ from those of exact splits by up to .003 with 3,072 bins,
# .006 with 2,048, .015 with 1,024, and .055 with 256. For more rows fewer bins save half the time.
FINE_BINS, COARSE_BINS = 3072, 2048
FINE_ROWS = 5_000

# As published: 10,000 training rows. The time grows with the rows, more rows hardly change scores.
MOST_ROWS = 10_000


@register_score(
    family="predictive",
    rows={
        "dci_disentanglement": "",
        "dci_completeness": "completeness",
        "dci_informativeness": "informativeness",
    },
    takes_continuous=True,
    halves=True,
    cost=Cost("1 s, the most of all by default", intervals="seldom", many_latents=True),
    shown=Shown(
        "DCI",
        headline=1,
        best_factor="dci_completeness",
        matrix=MatrixCaption(
            "importances",
            "Importances (DCI)",
            "importance of latents for predicting factors",
            entry="importance",
            unit="share of a factor's importance",
        ),
    ),
    answers={
        "dci_disentanglement": "modularity",
        "dci_completeness": "completeness",
        "dci_informativeness": "information",
    },
)
def dci(
    latents: Any,
    factors: Any,
    *,
    method: ImportanceModel = "histogram",
    bins: int | None = None,
    max_rows: int | None = MOST_ROWS,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Score:
    """Disentanglement, completeness and informativeness (Eastwood and Williams 2018, section 2).

    A model predicts every factor from all latents, and R_ij is the importance of latent i for
    factor j. Disentanglement is high if every latent is important for one factor
    (`disentanglement_of` R, ``sum_i w_i (1 - H_f(R_i))``), completeness if a single latent is
    important for every factor (`completeness_of` R, the same for columns), and informativeness if
    the prediction is accurate.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes. Continuous factors are predicted by regression, except with "exact".
    method : {"histogram", "exact", "forest", "lasso"}
        Model and its importances.

        - "histogram": gradient boosted trees, 100 stages of depth 3, with splits between bins; the
          reduction of squared error. The same algorithm as "exact", a hundred times faster.
        - "exact": scikit-learn's `GradientBoostingClassifier`, as in published scores.
        - "forest": scikit-learn's random forest of 100 trees.
        - "lasso": absolute weights of a cross-validated lasso on standardised columns; factors
          must be numbers.
    bins : int, optional
        For "histogram"; by default 3,072 for up to 5,000 training rows, and 2,048 for more.
    max_rows : int or None
        Largest number of training rows, and of test rows; None for all.
    train_share, shuffle, n_jobs, random_state
        As in `sap`; `random_state` also seeds "exact", "forest" and the folds of "lasso". In
        "histogram", latents with equally good splits share the gain. "histogram" and "lasso" do not
        depend on the order of the latents, while ties in scikit-learn's trees do.

    Returns
    -------
    Score
        `value` is the disentanglement, `per_latent` its parts; `matrix` is R with columns of sum
        one; `per_factor` is the completeness of every factor. `details` has "completeness",
        "informativeness" (test accuracy, or R^2 for regression), "informativeness_train", and both
        by factor.

    Rewards
    -------
    disentanglement: latents that matter to one factor each. completeness: factors that need one
    latent. informativeness: factors that trees can predict from all latents.

    Cannot see
    ----------
    Latents that say the same share importance by luck of the trees. Which rows are held out
    matters: permuting them moved disentanglement by up to 0.06 with 400 rows and by 0.02 with
    5,000, informativeness by 0.08 and 0.01. Circles in two latents score two thirds in completeness
    by design. Informativeness says nothing of disentanglement.

    By chance
    ---------
    near 0; informativeness that of a guess

    Source
    ------
    Eastwood and Williams 2018, section 2

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> print(dci(2.0 * factors, factors, random_state=0))
    dci 1.000
      per factor  1.000 1.000
      per latent  1.000 1.000
      completeness 1.000, informativeness 1.000, informativeness_train 1.000
    """
    check_choice(method, "method", get_args(ImportanceModel))
    bins = bins if bins is None else check_int(bins, "bins", low=2, high=2**16)
    z, coded = check_scored(latents, factors, allow_continuous=method != "exact")
    if method == "lasso":
        refuse_labels(coded, "dci with method='lasso'")
    varying = coded.varying()
    kept = varying.kept
    rng = check_random_state(random_state)
    split = split_rows(len(z), train_share, shuffle, rng)
    split, limited = split.at_most(max_rows, test=True)
    if bins is None:
        bins = FINE_BINS if len(split.train) <= FINE_ROWS else COARSE_BINS
    seeds = rng.integers(2**31 - 1, size=len(coded.sizes))
    model_of = FACTOR_MODELS[method]
    order = order_of_latents(z) if model_of.reorders else np.arange(z.shape[1])
    model = model_of(z[:, order], coded, split, bins)
    learnt = in_threads(lambda j: model.learn(int(j), int(seeds[j])), kept, n_jobs)

    matrix = np.zeros((z.shape[1], len(coded.sizes)))
    matrix[np.ix_(order, kept)] = np.array([factor.importance for factor in learnt]).T
    disentangled, complete = disentanglement_of(matrix[:, kept]), completeness_of(matrix[:, kept])
    train = varying.spread([factor.train for factor in learnt])
    test = varying.spread([factor.test for factor in learnt])
    return varying.score(
        "dci",
        varying.spread(complete.parts),
        value=disentangled.value,
        per_latent=disentangled.parts,
        matrix=matrix,
        details={
            "completeness": complete.value,
            "informativeness": float(test[kept].mean()),
            "informativeness_train": float(train[kept].mean()),
            "informativeness_per_factor": test,
            "informativeness_train_per_factor": train,
            "method": method,
        },
        notes=[limited],
    )


# Numbers of random features of the probes of DCI-ES; the first probe is linear.
FEATURES = (0, 4, 16, 64, 256)


@register_score(
    family="predictive",
    rows={"dci_es_explicitness": "", "dci_es_size": "size"},
    takes_continuous=True,
    halves=True,
    default=False,
    cost=Cost("0.1 s"),
    answers={"dci_es_explicitness": "information"},
    shapes=ALL_LATENTS,
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

    Probes of increasing capacity predict every factor. Explicitness is one minus the normalised
    area between the loss-capacity curve and its end (`explicitness_of_curve`). The probes are ridge
    regressions on the latents and p = 0, 4, 16, 64 and 256 random Fourier features; the capacity is
    log2(1 + p), and the loss is the share of unexplained variance on test rows. Size is ``f / z``,
    at most one.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or Factors
        Of any kind, as in `block_r2`.
    groups : ignored
        All latents are used together.
    train_share, shuffle, random_state
        As in `sap`; `random_state` also draws the random features.

    Returns
    -------
    Score
        `value` is the explicitness, `per_factor` its parts; `details` has "size", "capacities" and
        "losses" (probes, f).

    Rewards
    -------
    explicitness: factors that a small probe reads as well as a large one. size: as few latents as
    factors.

    Cannot see
    ----------
    How well the largest probe does: a code of noise, which no probe can read, has an explicitness
    of one. Read it beside informativeness. It is of this family of probes.

    Range
    -----
    -1 to 1; 0 where losses fall evenly to nothing

    By chance
    ---------
    explicitness near 1, size as before: read them beside informativeness

    Source
    ------
    Eastwood et al. 2023, section 4

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
    # Constant latents are dropped, and a canonical order makes the result order-invariant.
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
    """Compute the explicitness from the losses of probes (Eastwood et al. 2023, eq. 5).

    ``1 - 2 A / ((c_T - c_1) b)``, with A the area between the running minimum of the loss and its
    end, by the trapezoidal rule, and b the loss without latents; the best possible loss is zero.

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
    """Append random Fourier features to the latents (Rahimi and Recht 2007)."""
    if not count:
        return train, test
    width = np.sqrt(train.shape[1])
    turns = rng.standard_normal((train.shape[1], count)) / width
    phase = rng.uniform(0, 2 * np.pi, count)
    return (
        np.column_stack([train, np.cos(train @ turns + phase)]),
        np.column_stack([test, np.cos(test @ turns + phase)]),
    )
