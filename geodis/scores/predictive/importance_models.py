"""Models of one factor, and how much every latent mattered to them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from geodis.scores.inputs import CodedFactors, of_order_one
from geodis.scores.predictive.boosting import N_STAGES, bin_for_splits, boost
from geodis.scores.predictive.cross_validation import HeldOut, standardise

ImportanceModel = Literal["histogram", "exact", "forest", "lasso"]

FOREST_TREES = 100
LASSO_FOLDS = 5
LASSO_PENALTIES = 50

# Importances of trees sum to one and are sums of differences of impurities: rounding, of 2e-16
# each, can leave an unused latent below zero, -4e-17 as seen. With a margin for many trees, what
# is less than this below zero counts as zero; a larger negative importance is an error.
ROUNDING = 1e-12

# Latents that agree in the order of so many rows are one latent.
ROWS_TO_ORDER_BY = 1024


@dataclass(frozen=True)
class LearntFactor:
    """One column of importances (z,) of sum one or zero, and how well the model predicts."""

    importance: np.ndarray
    train: float
    test: float


@dataclass
class FactorModel:
    """What every model is given: one call of `learn` a factor."""

    latents: np.ndarray
    factors: CodedFactors
    split: HeldOut
    bins: int
    # Whether it gets the latents in `order_of_latents`, so that their own order does not matter.
    reorders: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.train, self.test = self.latents[self.split.train], self.latents[self.split.test]

    def regresses(self, j: int) -> bool:
        """Whether factor j is predicted as a number."""
        return bool(self.factors.continuous[j])

    def target(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Factor j of the rows to learn from, and of those to be judged by."""
        of = self.factors.values if self.regresses(j) else self.factors.codes
        return of[self.split.train, j], of[self.split.test, j]

    def learn(self, j: int, seed: int) -> LearntFactor:
        """Fit a model of factor j."""
        raise NotImplementedError

    def judge(self, j: int, importance: np.ndarray, train: Any, test: Any) -> LearntFactor:
        """Normalise importances and compare predictions with the factor."""
        known, wanted = self.target(j)
        total = importance.sum()
        importance = importance / total if total > 0 else np.zeros(len(importance))
        if not self.regresses(j):
            return LearntFactor(
                importance, float((train == known).mean()), float((test == wanted).mean())
            )
        return LearntFactor(
            importance, explained(known, train, known), explained(wanted, test, known)
        )


class _Histogram(FactorModel):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.binned = bin_for_splits(self.train, self.test, self.bins)

    def learn(self, j: int, seed: int) -> LearntFactor:
        known, regression = self.target(j)[0], self.regresses(j)
        boosted = boost(*self.binned, known, regression=regression)
        return self.judge(j, boosted.importance, boosted.train, boosted.test)


class _FromTrees(FactorModel):
    """Any scikit-learn model with importances; the published scores depend on the order."""

    reorders = False

    def __post_init__(self) -> None:
        # Its trees hold latents in single precision and see no difference below 1e-7.
        self.latents = of_order_one(self.latents)
        super().__post_init__()

    def model(self, j: int, seed: int) -> Any:
        raise NotImplementedError

    def learn(self, j: int, seed: int) -> LearntFactor:
        known, wanted = self.target(j)
        if len(np.unique(known)) == 1:  # nothing to learn, which scikit-learn refuses
            constant = np.full(len(known), known[0]), np.full(len(wanted), known[0])
            return self.judge(j, np.zeros(self.train.shape[1]), *constant)
        model = self.model(j, seed).fit(self.train, known)
        importance = model.feature_importances_
        importance = np.where((importance > -ROUNDING) & (importance < 0), 0.0, importance)
        return self.judge(j, importance, model.predict(self.train), model.predict(self.test))


class _Exact(_FromTrees):
    def model(self, j: int, seed: int) -> Any:
        from sklearn.ensemble import GradientBoostingClassifier

        return GradientBoostingClassifier(n_estimators=N_STAGES, random_state=seed)


class _Forest(_FromTrees):
    def model(self, j: int, seed: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        forest = RandomForestRegressor if self.regresses(j) else RandomForestClassifier
        return forest(n_estimators=FOREST_TREES, random_state=seed)


class _Lasso(FactorModel):
    def __post_init__(self) -> None:
        self.train, self.test = standardise(self.latents, self.split)

    def regresses(self, j: int) -> bool:
        return True

    def learn(self, j: int, seed: int) -> LearntFactor:
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


FACTOR_MODELS: dict[ImportanceModel, type[FactorModel]] = {
    "histogram": _Histogram,
    "exact": _Exact,
    "forest": _Forest,
    "lasso": _Lasso,
}


def order_of_latents(latents: np.ndarray) -> np.ndarray:
    """An order of latents that their values decide, and not the places that they were given.

    Of latents that split equally well a tree takes the first, or draws lots by their number, and
    what is left for the others depends on which. The order is that of the ranks of the first rows,
    which no scale of a latent changes.

    Returns
    -------
    ndarray of int, shape (z,)

    Examples
    --------
    >>> latents = np.array([[3.0, 0.0, 1.0], [1.0, 2.0, 5.0]])
    >>> latents[:, order_of_latents(latents)]
    array([[0., 1., 3.],
           [2., 5., 1.]])
    """
    rows = latents[:ROWS_TO_ORDER_BY]
    ranks = np.array([np.unique(column, return_inverse=True)[1] for column in rows.T]).T
    # The first key counts last: ranks decide, and values where all of these are equal.
    return np.lexsort([*rows[::-1], *ranks.reshape(rows.shape)[::-1]])


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
