"""Scores that fix one factor and ask a classifier which it was: BetaVAE, FactorVAE.

Each takes latents and factors of a plain sample, among whose rows it finds those that share a
value; or a code and its `FactorGrid`, from which it draws.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.scores._collapsed import active_latents, check_log_variances, varies
from geodis.scores._fixed import MIN_ROWS, Source, open_source
from geodis.scores._result import Score

# What Locatello et al. (2019) trained and evaluated the classifiers with.
N_TRAIN, N_EVAL, BATCH_SIZE = 10_000, 5_000, 64
# Rows of an encoder that stand for all where every row would have to be encoded.
MAX_ENCODED = 10_000
# Latents gathered at once; a few megabytes stay in the cache.
CHUNK_ENTRIES = 1 << 18


def beta_vae(
    latents: Any,
    factors: Any,
    *,
    n_train: int = N_TRAIN,
    n_eval: int = N_EVAL,
    batch_size: int = BATCH_SIZE,
    standardise: bool = False,
    random_state: Any = None,
) -> Score:
    """BetaVAE score (Higgins et al., 2017): accuracy of a linear classifier of the fixed factor.

    A factor y is chosen, and L pairs of rows that agree in it; the classifier predicts y from

        z_diff = 1/L sum_l |z_l1 - z_l2|,

    the mean absolute difference of the pair's latents. The score is 1 also when one of the
    factors is not encoded at all: the classifier learns that no latent stands still (Kim and
    Mnih, 2018, section 4); `factor_vae` sees the difference.

    Parameters
    ----------
    latents : array-like of shape (n, z), or code of the grid
        With a grid: an array whose row is the grid index, or an encoder of float32 images
        (n, h, w, c).
    factors : array-like of shape (n, f), or FactorGrid
    n_train, n_eval : int
        Differences the classifier is fitted to and evaluated on.
    batch_size : int
        Pairs L behind each difference.
    standardise : bool
        Divide latents by their standard deviation first. The published classifier is regularised
        and fails to see latents on a scale far below 1.
    random_state : None, int or Generator

    Returns
    -------
    Score
        ``per_factor`` is the share of a factor's differences that is recognised, NaN where it
        was left out; ``matrix`` (z, f) holds the weights of the classifier. Chance is about 1/f.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(1000, 3))
    >>> float(beta_vae(factors * 0.5, factors, random_state=0))
    1.0
    """
    n_train, n_eval = check_int(n_train, "n_train", low=10), check_int(n_eval, "n_eval", low=1)
    size = check_int(batch_size, "batch_size", low=1)
    random = check_random_state(random_state)
    source = open_source(latents, factors, "beta_vae", min_rows=MIN_ROWS)
    labels = _labels(source, n_train + n_eval, random)
    left = np.empty((len(labels), size), dtype=np.int64)
    right = np.empty_like(left)
    for factor in source.used:
        own = labels == factor
        left[own], right[own] = source.rows.pairs(factor, int(own.sum()), size, random)
    table, (left, right) = source.latents(left, right)
    if standardise:
        spread = table.std(axis=0)
        table = table / np.where(varies(table), spread, 1.0)
    points = pair_differences(table, left, right)
    return _linear_score(source, points, labels, n_train)


def _labels(source: Source, count: int, random: np.random.Generator) -> np.ndarray:
    """Which factor is fixed in each draw: uniform over those that can be."""
    return source.used[random.integers(len(source.used), size=count)]


def _linear_score(source: Source, points: np.ndarray, labels: np.ndarray, n_train: int) -> Score:
    from sklearn.linear_model import LogisticRegression

    train, test = slice(None, n_train), slice(n_train, None)
    # With few draws a factor may never have been chosen; one class has nothing to be told from.
    if len(np.unique(labels[train])) < 2:
        raise InputError(f"n_train must let every factor be drawn; {n_train} came.")
    model = LogisticRegression()
    with warnings.catch_warnings():
        # Latents on wild scales stop the optimiser early; the note below says so.
        warnings.simplefilter("ignore")
        model.fit(points[train], labels[train])
    predicted = model.predict(points)
    right = predicted == labels
    weights = np.zeros((points.shape[1], source.n_factors))
    # Two classes share one row of coefficients.
    rows = model.coef_ if len(model.classes_) > 2 else np.stack([-model.coef_[0], model.coef_[0]])
    weights[:, model.classes_] = rows.T
    notes = [source.note] if source.note else []
    if int(np.max(model.n_iter_)) >= model.max_iter:
        notes.append("the classifier did not converge: try standardise=True")
    return Score(
        "beta_vae",
        float(right[test].mean()),
        per_factor=_recognised(source, labels[test], right[test]),
        matrix=weights,
        details={
            "train_accuracy": float(right[train].mean()),
            "n_train": n_train,
            "n_eval": int(right[test].size),
        },
        note="; ".join(notes),
        factor_names=source.names,
    )


def _recognised(source: Source, labels: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Share of right answers for each factor, NaN where there were no questions."""
    asked = np.bincount(labels, minlength=source.n_factors)
    answered = np.bincount(labels, weights=right, minlength=source.n_factors)
    return np.divide(answered, asked, out=np.full(source.n_factors, np.nan), where=asked > 0)


def pair_differences(table: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Mean over pairs of |z1 - z2|: rows (b, l) twice -> (b, z)."""
    out = np.empty((len(left), table.shape[1]))
    for part in _chunks(left.shape, table.shape[1]):
        out[part] = np.abs(table[left[part]] - table[right[part]]).mean(axis=1)
    return out


def batch_variances(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Variance (ddof 1) of every latent within each batch: rows (b, l) -> (b, z)."""
    out = np.empty((len(rows), table.shape[1]))
    for part in _chunks(rows.shape, table.shape[1]):
        out[part] = table[rows[part]].var(axis=1, ddof=1)
    return out


def _chunks(shape: tuple[int, ...], width: int) -> list[slice]:
    step = max(1, CHUNK_ENTRIES // (shape[1] * width))
    return [slice(start, start + step) for start in range(0, shape[0], step)]


def factor_vae(
    latents: Any,
    factors: Any,
    *,
    n_train: int = N_TRAIN,
    n_eval: int = N_EVAL,
    batch_size: int = BATCH_SIZE,
    min_std: float = 0.0,
    log_variances: Any = None,
    random_state: Any = None,
) -> Score:
    """FactorVAE score (Kim and Mnih, 2018): accuracy of a majority vote on the fixed factor.

    A factor k is chosen, and L rows that share its value. The latent that varies least,

        a = argmin_j Var_l(z_lj) / Var(z_j),

    gives the vote (a, k). With V_jk votes of a training set, the classifier is
    C(j) = argmax_k V_jk, and the score its accuracy on votes of its own.

    Collapsed latents are left out before the vote: those that do not vary beyond rounding, whose
    ratio is 0/0; those below `min_std`; and, with `log_variances`, those whose posterior is the
    prior, as the paper says (appendix B).

    Parameters
    ----------
    latents, factors
        As in `beta_vae`.
    n_train, n_eval : int
        Votes.
    batch_size : int
        Rows L behind each vote.
    min_std : float
        Latents with a smaller standard deviation are left out. The default leaves in whatever
        varies, because the score does not depend on the scale of a latent.
    log_variances : array-like of the shape of `latents`, optional
        Of a Gaussian encoder whose means are `latents`: a mean KL from N(0, 1) of at most 0.01
        nats is a collapse.
    random_state : None, int or Generator

    Returns
    -------
    Score
        ``per_factor`` is the share of a factor's votes that is right; ``matrix`` (z, f) holds
        the training votes. Without any active latent the score is that of a guess, 1/f.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(4, size=(1000, 3))
    >>> collapsed = np.column_stack([factors, np.full(1000, 0.1)])
    >>> score = factor_vae(collapsed, factors, random_state=0)
    >>> float(score), score.details["active"].tolist()
    (1.0, [True, True, True, False])
    """
    n_train, n_eval = check_int(n_train, "n_train", low=1), check_int(n_eval, "n_eval", low=1)
    size = check_int(batch_size, "batch_size", low=2)
    min_std = check_real(min_std, "min_std", low=0)
    random = check_random_state(random_state)
    source = open_source(latents, factors, "factor_vae", min_rows=MIN_ROWS)
    if log_variances is not None and source.table is None:
        raise InputError("log_variances need latents as an array; an encoder came.")
    labels = _labels(source, n_train + n_eval, random)
    rows = np.empty((len(labels), size), dtype=np.int64)
    for factor in source.used:
        own = labels == factor
        rows[own] = source.rows.batches(factor, int(own.sum()), size, random)
    typical = source.typical(MAX_ENCODED, random)
    table, (rows, typical) = source.latents(rows, typical)
    whole = table[typical]
    active = active_latents(whole, check_log_variances(log_variances, whole))
    active &= whole.std(axis=0, ddof=1) >= min_std
    votes = vote(table, rows, whole.var(axis=0, ddof=1), active)
    return _majority_score(source, votes, labels, n_train, active)


def vote(
    table: np.ndarray, rows: np.ndarray, variances: np.ndarray, active: np.ndarray
) -> np.ndarray:
    """The active latent that varies least in each batch, relative to all; -1 if there is none."""
    places = np.flatnonzero(active)
    if not len(places):
        return np.full(len(rows), -1)
    ratios = batch_variances(table[:, places], rows) / variances[places]
    return places[ratios.argmin(axis=1)]


def count_votes(votes: np.ndarray, labels: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """V_jk: how often latent j was named when factor k was fixed, int64 (z, f)."""
    cells = np.ravel_multi_index((votes, labels), shape)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def _majority_score(
    source: Source, votes: np.ndarray, labels: np.ndarray, n_train: int, active: np.ndarray
) -> Score:
    shape = (len(active), source.n_factors)
    notes = [source.note] if source.note else []
    if not active.any():
        guess = 1 / len(source.used)
        per_factor = np.full(source.n_factors, np.nan)
        per_factor[source.used] = guess
        notes.append("no latent is active: the score is that of a guess")
        return Score(
            "factor_vae",
            guess,
            per_factor=per_factor,
            matrix=np.zeros(shape),
            details={"active": active, "train_accuracy": guess},
            note="; ".join(notes),
            factor_names=source.names,
        )
    train = count_votes(votes[:n_train], labels[:n_train], shape)
    classifier = train.argmax(axis=1)
    right = classifier[votes] == labels
    if not active.all():
        notes.append(f"{int((~active).sum())} of {len(active)} latents collapsed and left out")
    return Score(
        "factor_vae",
        float(right[n_train:].mean()),
        per_factor=_recognised(source, labels[n_train:], right[n_train:]),
        matrix=train,
        details={
            "train_accuracy": float(right[:n_train].mean()),
            "eval_votes": count_votes(votes[n_train:], labels[n_train:], shape),
            # Latents without a vote say nothing of any factor.
            "classifier": np.where(train.any(axis=1), classifier, -1),
            "active": active,
        },
        note="; ".join(notes),
        factor_names=source.names,
    )
