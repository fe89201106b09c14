"""Models of a factor that give the importance of every latent, for DCI."""

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

# Importances of trees are sums of differences of impurities. Rounding errors, of 2e-16 each, can
# make that of an unused latent negative. Negative values up to this count as zero; larger ones are
# an error.
ROUNDING = 1e-12

# Number of rows that define the canonical order of latents.
ROWS_TO_ORDER_BY = 1024


@dataclass(frozen=True)
class LearntFactor:
    """Importances (z,) of sum one or zero, and the accuracy of the model."""

    importance: np.ndarray
    train: float
    test: float


@dataclass
class FactorModel:
    """Base class of models; `learn` is called for every factor."""

    latents: np.ndarray
    factors: CodedFactors
    split: HeldOut
    bins: int
    # Whether it gets the latents in `order_of_latents`, to make it independent of their order.
    reorders: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.train, self.test = self.latents[self.split.train], self.latents[self.split.test]

    def regresses(self, j: int) -> bool:
        """Whether factor j is predicted as a number."""
        return bool(self.factors.continuous[j])

    def target(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Factor j of the training and the test rows."""
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
    """Trees of scikit-learn; published scores depend on the order of latents."""

    reorders = False

    def __post_init__(self) -> None:
        # The trees use single precision.
        self.latents = of_order_one(self.latents)
        super().__post_init__()

    def model(self, j: int, seed: int) -> Any:
        raise NotImplementedError

    def learn(self, j: int, seed: int) -> LearntFactor:
        known, wanted = self.target(j)
        if len(np.unique(known)) == 1:  # scikit-learn refuses a single class
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
            # Exact fits reach the tolerance at the smallest penalties.
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
    """Return a canonical order of latents, which depends on their values only.

    Trees break ties between latents by their order. Results become independent of it if latents are
    sorted by the ranks of their first rows, which are invariant to scale.

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
    # The last key is the primary one: ranks, then values.
    return np.lexsort([*rows[::-1], *ranks.reshape(rows.shape)[::-1]])


def explained(wanted: np.ndarray, predicted: np.ndarray, known: np.ndarray) -> float:
    """Return the R^2 relative to the mean of the training rows; at least zero.

    Examples
    --------
    >>> explained(np.array([0.0, 2.0]), np.array([0.0, 1.0]), np.array([1.0]))
    0.5
    """
    total = ((wanted - known.mean()) ** 2).sum()
    if total == 0:
        return 0.0
    return max(1 - float(((wanted - predicted) ** 2).sum() / total), 0.0)
