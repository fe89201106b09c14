"""Disentanglement, completeness, informativeness: from importances in a model of every factor."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_choice, check_int, check_random_state
from geodis.scores._boosting import N_STAGES, bin_for_splits, boost
from geodis.scores.inputs import CodedFactors, check_scored
from geodis.scores._result import Score
from geodis.scores._split import TRAIN_SHARE, Split, of_order_one, split_rows, standardise
from geodis.scores._threads import in_threads
from geodis.scores.importance import completeness_of, disentanglement_of

METHODS = ("histogram", "exact", "forest", "lasso")

# Noisy latents need fine splits. On the reference sets, whose training rows are up to 3,750,
# disentanglement and completeness lie within .003 of exact splits with 4,096 bins, .006 with
# 2,048, .015 with 1,024, and .055 away with 256. More rows take half the bins for half the time.
FINE_BINS, COARSE_BINS = 4096, 2048
FINE_ROWS = 5_000

# More training rows than this only sharpen what is sharp already, and cost in proportion: the
# published scores learn from 10,000.
MOST_ROWS = 10_000

FOREST_TREES = 100
LASSO_FOLDS = 5
LASSO_PENALTIES = 50


def dci(
    latents: Any,
    factors: Any,
    *,
    method: str = "histogram",
    bins: int | None = None,
    max_rows: int | None = MOST_ROWS,
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    n_jobs: int = 1,
    random_state: Any = None,
) -> Score:
    """Disentanglement, completeness and informativeness (Eastwood and Williams 2018, section 2).

    A model predicts every factor from all latents, and R_ij says how much latent i mattered to
    factor j. Disentanglement is high where every latent matters to one factor
    (`disentanglement_of` R, ``sum_i w_i (1 - H_f(R_i))``), completeness where every factor needs
    one latent (`completeness_of` R, the same of columns), informativeness where the prediction
    succeeds.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f)
        Classes. Continuous factors are regressed upon, except by "exact".
    method : {"histogram", "exact", "forest", "lasso"}
        Where importances come from.

        - "histogram": gradient boosted trees, 100 stages of depth 3, split between bins; the
          squared error that splits removed. The same algorithm as "exact", a hundred times faster.
        - "exact": scikit-learn's `GradientBoostingClassifier`, which published scores use.
        - "forest": scikit-learn's random forest of 100 trees.
        - "lasso": absolute weights of a cross-validated lasso on standardised columns; factors
          must be numbers, whose order and steps it takes at their word.
    bins : int, optional
        For "histogram"; by default 4,096 for up to 5,000 training rows, and 2,048 for more.
    max_rows : int or None
        Most rows to learn from, and as many to be judged by; None for all.
    train_share, shuffle, n_jobs, random_state
        As in `sap`; `random_state` also seeds "exact", "forest" and the folds of "lasso". In
        "histogram", latents that split equally well share what the split gains.

    Returns
    -------
    Score
        `value` is disentanglement, `per_latent` its parts; `matrix` is R with columns of sum one;
        `per_factor` the completeness of every factor. `details` has "completeness",
        "informativeness" (accuracy on held-out rows; R^2 where the model regresses),
        "informativeness_train", and both by factor.

    Examples
    --------
    >>> factors = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (25, 1))
    >>> print(dci(2.0 * factors, factors, random_state=0))
    dci 1.000
      per factor  1.000 1.000
      per latent  1.000 1.000
      completeness 1.000, informativeness 1.000, informativeness_train 1.000
    """
    check_choice(method, "method", METHODS)
    bins = bins if bins is None else check_int(bins, "bins", low=2, high=2**16)
    z, coded = check_scored(latents, factors, allow_continuous=method != "exact")
    if method == "lasso" and not coded.numeric.all():
        j = int(np.flatnonzero(~coded.numeric)[0])
        raise InputError(
            f"dci with method='lasso' needs factors that are numbers; {coded.called(j)} has labels."
        )
    kept, note = coded.varying()
    rng = check_random_state(random_state)
    split = split_rows(len(z), train_share, shuffle, rng)
    notes = [note]
    if max_rows is not None and len(split.train) > check_int(max_rows, "max_rows", low=1):
        notes.append(f"learnt from {max_rows} of {len(split.train)} training rows (max_rows)")
        split = Split(split.train[:max_rows], split.test[:max_rows])
    if bins is None:
        bins = FINE_BINS if len(split.train) <= FINE_ROWS else COARSE_BINS
    seeds = rng.integers(2**31 - 1, size=len(coded.sizes))
    learner = _LEARNERS[method](z, coded, split, bins)
    found = in_threads(lambda j: learner.learn(int(j), int(seeds[j])), kept, n_jobs)

    matrix = np.zeros((z.shape[1], len(coded.sizes)))
    matrix[:, kept] = np.array([item.importance for item in found]).T
    per_factor, train, test = (np.full(len(coded.sizes), np.nan) for _ in range(3))
    disentangled, complete = disentanglement_of(matrix[:, kept]), completeness_of(matrix[:, kept])
    per_factor[kept] = complete.parts
    train[kept] = [item.train for item in found]
    test[kept] = [item.test for item in found]
    return Score(
        "dci",
        disentangled.value,
        per_factor=per_factor,
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
        note="; ".join(filter(None, notes)),
        factor_names=coded.names,
    )


@dataclass(frozen=True)
class _Learnt:
    """One column of importances (z,) of sum one or zero, and how well the model predicts."""

    importance: np.ndarray
    train: float
    test: float


@dataclass
class _Learner:
    """What every learner is given: one call of `learn` a factor."""

    latents: np.ndarray
    factors: CodedFactors
    split: Split
    bins: int

    def __post_init__(self) -> None:
        self.train, self.test = self.latents[self.split.train], self.latents[self.split.test]

    def regresses(self, j: int) -> bool:
        return bool(self.factors.continuous[j])

    def target(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        of = self.factors.values if self.regresses(j) else self.factors.codes
        return of[self.split.train, j], of[self.split.test, j]

    def learn(self, j: int, seed: int) -> _Learnt:
        raise NotImplementedError

    def judge(self, j: int, importance: np.ndarray, train: Any, test: Any) -> _Learnt:
        """Normalise importances and compare predictions with the factor."""
        known, wanted = self.target(j)
        total = importance.sum()
        importance = importance / total if total > 0 else np.zeros(len(importance))
        if not self.regresses(j):
            return _Learnt(
                importance, float((train == known).mean()), float((test == wanted).mean())
            )
        return _Learnt(importance, explained(known, train, known), explained(wanted, test, known))


class _Histogram(_Learner):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.binned = bin_for_splits(self.train, self.test, self.bins)

    def learn(self, j: int, seed: int) -> _Learnt:
        known, regression = self.target(j)[0], self.regresses(j)
        found = boost(*self.binned, known, regression=regression)
        return self.judge(j, found.importance, found.train, found.test)


class _Model(_Learner):
    """Any scikit-learn model with importances."""

    def __post_init__(self) -> None:
        # Its trees hold latents in single precision and see no difference below 1e-7.
        self.latents = of_order_one(self.latents)
        super().__post_init__()

    def model(self, j: int, seed: int) -> Any:
        raise NotImplementedError

    def learn(self, j: int, seed: int) -> _Learnt:
        known, wanted = self.target(j)
        if len(np.unique(known)) == 1:  # nothing to learn, which scikit-learn refuses
            constant = np.full(len(known), known[0]), np.full(len(wanted), known[0])
            return self.judge(j, np.zeros(self.train.shape[1]), *constant)
        model = self.model(j, seed).fit(self.train, known)
        importance = model.feature_importances_
        return self.judge(j, importance, model.predict(self.train), model.predict(self.test))


class _Exact(_Model):
    def model(self, j: int, seed: int) -> Any:
        from sklearn.ensemble import GradientBoostingClassifier

        return GradientBoostingClassifier(n_estimators=N_STAGES, random_state=seed)


class _Forest(_Model):
    def model(self, j: int, seed: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        forest = RandomForestRegressor if self.regresses(j) else RandomForestClassifier
        return forest(n_estimators=FOREST_TREES, random_state=seed)


class _Lasso(_Learner):
    def __post_init__(self) -> None:
        self.train, self.test = standardise(self.latents, self.split)

    def regresses(self, j: int) -> bool:
        return True

    def learn(self, j: int, seed: int) -> _Learnt:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LassoCV

        known, wanted = self.target(j)
        mean, deviation = known.mean(), known.std()
        folds = min(LASSO_FOLDS, len(known))
        if deviation == 0 or folds < 2 or not self.train.any():
            constant = np.full(len(known), mean), np.full(len(wanted), mean)
            return self.judge(j, np.zeros(self.train.shape[1]), *constant)
        model = LassoCV(alphas=LASSO_PENALTIES, cv=folds, random_state=seed)
        with warnings.catch_warnings():
            # Exact fits, as of a perfect code, run into the tolerance of the smallest penalties.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.train, (known - mean) / deviation)
        train, test = (model.predict(x) * deviation + mean for x in (self.train, self.test))
        return self.judge(j, np.abs(model.coef_), train, test)


_LEARNERS: dict[str, type[_Learner]] = {
    "histogram": _Histogram,
    "exact": _Exact,
    "forest": _Forest,
    "lasso": _Lasso,
}


def explained(wanted: np.ndarray, predicted: np.ndarray, known: np.ndarray) -> float:
    """Share of variance explained beyond the mean of the rows learnt from; at least zero.

    Examples
    --------
    >>> explained(np.array([0.0, 2.0]), np.array([0.0, 1.0]), np.array([1.0]))
    0.5
    """
    total = ((wanted - known.mean()) ** 2).sum()
    if total == 0:
        return 0.0
    return max(1 - float(((wanted - predicted) ** 2).sum() / total), 0.0)
