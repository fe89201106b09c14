"""FactorVAE score: a majority vote on the fixed factor. Latents may be discrete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.scores.card import Cost, Score
from geodis.scores.inputs import (
    UNUSED_KL,
    active_latents,
    check_log_variances,
    of_order_one,
    unit_of,
)
from geodis.scores.interventional.fixed_factor import (
    BATCH_SIZE,
    MIN_ROWS,
    N_EVAL,
    N_TRAIN,
    FixedSource,
    chunks,
    open_source,
)
from geodis.scores.predictive.importance_models import order_of_latents
from geodis.scores.registry import register_score

# Entries of batches and counts processed at a time.
CELLS = 2**22


@dataclass(frozen=True)
class MergedLatents:
    """Latents with a column of codes for every discrete latent.

    Attributes
    ----------
    table : ndarray of shape (n, z)
        Latents, and codes 0, 1, ... of the discrete ones.
    discrete : ndarray of bool, shape (z,)
    first : ndarray of int64, shape (z,)
        The first column of every latent in the given table.
    probabilities : dict of int to ndarray
        Probabilities of the discrete latents given as several columns.
    """

    table: np.ndarray
    discrete: np.ndarray
    first: np.ndarray
    probabilities: dict[int, np.ndarray] = field(default_factory=dict)

    def gini(self, typical: np.ndarray) -> np.ndarray:
        """Return Gini's variance of discrete latents over rows (t,), NaN for others, (z,)."""
        found = np.full(len(self.discrete), np.nan)
        for j in np.flatnonzero(self.discrete):
            found[j] = gini_variances(self.table[:, j], typical[None])[0]
        return found

    def used(self, typical: np.ndarray) -> np.ndarray:
        """Return whether each discrete latent varies, and its probabilities are not uniform."""
        answers = []
        for j in np.flatnonzero(self.discrete):
            used = len(np.unique(self.table[typical, j])) > 1
            if used and j in self.probabilities:
                used = _divergence(self.probabilities[j][typical]) > UNUSED_KL
            answers.append(used)
        return np.array(answers, dtype=bool)


def merge_discrete(table: np.ndarray, discrete: Sequence[int | Sequence[int]]) -> MergedLatents:
    """Replace every discrete latent by a column of codes.

    Parameters
    ----------
    table : ndarray of shape (n, columns)
    discrete : sequence of int, or of sequence of int
        Columns of labels, and groups of columns that hold probabilities.

    Examples
    --------
    >>> table = np.array([[0.5, 0.1, 0.9], [0.7, 0.8, 0.2]])
    >>> merge_discrete(table, [[1, 2]]).table.tolist()
    [[0.5, 1.0], [0.7, 0.0]]
    """
    groups = [
        [check_int(j, "A discrete latent", low=0, high=table.shape[1] - 1) for j in each]
        for each in (item if isinstance(item, Sequence) else [item] for item in discrete)
    ]
    every = [j for group in groups for j in group]
    if len({*every}) < len(every) or not all(groups):
        raise InputError(f"discrete must name every latent once; got {list(discrete)}.")
    of_column = {group[0]: group for group in groups}
    first = np.array([j for j in range(table.shape[1]) if j in of_column or j not in every])
    merged = table[:, first].astype(float)
    is_discrete = np.array([j in of_column for j in first])
    probabilities = {}
    for place in np.flatnonzero(is_discrete):
        columns = table[:, of_column[int(first[place])]]
        if columns.shape[1] > 1:
            probabilities[int(place)] = columns
            merged[:, place] = columns.argmax(axis=1)
        else:
            merged[:, place] = np.unique(columns, return_inverse=True)[1].reshape(-1)
    return MergedLatents(merged, is_discrete, first, probabilities)


def gini_variances(codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return Gini's variance of a discrete latent within each batch, (b,), for rows (b, l).

    ``sum_ij [c_i != c_j] / (2 l (l - 1))``; with squared differences instead it would be the
    variance (ddof 1) (Kim and Mnih 2018, appendix B, eq. 4).

    Examples
    --------
    >>> gini_variances(np.array([0, 1, 1, 0]), np.array([[0, 1, 2, 3], [1, 1, 2, 2]])).round(4)
    array([0.3333, 0.    ])
    """
    values, coded = np.unique(codes, return_inverse=True)
    coded, n_values, size = coded.reshape(-1), len(values), rows.shape[1]
    same = np.empty(len(rows))
    step = max(1, CELLS // max(n_values, size))
    for start in range(0, len(rows), step):
        part = coded[rows[start : start + step]]  # (b, l)
        cells = part + n_values * np.arange(len(part))[:, None]
        counts = np.bincount(cells.ravel(), minlength=n_values * len(part))
        same[start : start + step] = (counts.reshape(len(part), -1).astype(float) ** 2).sum(axis=1)
    return (size**2 - same) / (2 * size * (size - 1))


def _divergence(probabilities: np.ndarray) -> float:
    """Return the mean over rows (n, J) of sum_j p_j log p_j + log J, in nats, after scaling."""
    positive = np.maximum(probabilities, 1e-12)
    p = positive / positive.sum(axis=1, keepdims=True)
    return float((p * np.log(p)).sum(axis=1).mean() + np.log(p.shape[1]))


# Relative difference below which variance ratios are equal up to rounding.
TIED = 1e-9

# Rows that are encoded to estimate the variances of latents.
MAX_ENCODED = 10_000


def batch_variances(
    table: np.ndarray, rows: np.ndarray, discrete: np.ndarray | None = None
) -> np.ndarray:
    """Return the variance (ddof 1) of every latent within each batch, (b, z), for rows (b, l).

    For `discrete` latents, bool (z,), it is Gini's variance.
    """
    out = np.empty((len(rows), table.shape[1]))
    for part in chunks(rows, table.shape[1]):
        out[part] = table[rows[part]].var(axis=1, ddof=1)
    if discrete is not None:
        for j in np.flatnonzero(discrete):
            out[:, j] = gini_variances(table[:, j], rows)
    return out


@register_score(
    family="interventional",
    takes_grid=True,
    cost=Cost("0.06 s", many_latents=True),
    answers="modularity",
)
def factor_vae(
    latents: Any,
    factors: Any,
    *,
    n_train: int = N_TRAIN,
    n_eval: int = N_EVAL,
    batch_size: int = BATCH_SIZE,
    min_std: float = 0.0,
    log_variances: Any = None,
    discrete: Sequence[int | Sequence[int]] = (),
    random_state: Any = None,
) -> Score:
    """FactorVAE score (Kim and Mnih, 2018): accuracy of a majority vote on the fixed factor.

    A factor k is drawn, and L rows that share its value. The latent with the least variance,

        a = argmin_j Var_l(z_lj) / Var(z_j),

    gives the vote (a, k). With V_jk votes of a training set, the classifier is
    C(j) = argmax_k V_jk, and the score is its accuracy on separate votes.

    Collapsed latents are left out: those that are constant up to rounding; those below `min_std`;
    and, with `log_variances`, those whose posterior equals the prior, as in the paper (appendix B).

    Parameters
    ----------
    latents, factors
        As in `beta_vae`.
    n_train, n_eval : int
        Numbers of training and test votes.
    batch_size : int
        Number L of rows per vote.
    min_std : float
        Latents with a smaller standard deviation are left out. By default all latents that vary are
        used, because the score does not depend on the scale of a latent.
    log_variances : array-like of the shape of `latents`, optional
        Of a Gaussian encoder whose means are `latents`: latents with a mean KL divergence from
        N(0, 1) of at most 0.01 nats are collapsed.
    discrete : sequence of int, or of sequence of int
        Discrete latents: a column of labels, or the columns of probabilities of a categorical
        latent, whose value is the most probable category. An example is ``[[4, 5, 6]]`` for the
        output of `encode` of ``ConcreteVAE(shape, 4, categories=3)``. Such columns count as one
        latent, at the place of the first column, with Gini's variance (appendix B, equation 4),
        sum_ij [z_i != z_j] / (2 n (n - 1)).
    random_state : None, int or Generator

    Returns
    -------
    Score
        ``per_factor`` is the accuracy for each factor; ``matrix`` (z, f) has the training votes,
        with one row for a discrete latent. Without active latents the score is that of a guess,
        1/f.

    Rewards
    -------
    For each factor a latent that varies least where that factor is fixed.

    Cannot see
    ----------
    What else the latent does; spread of a factor over latents.

    By chance
    ---------
    1 / f, and a little more

    Source
    ------
    Kim and Mnih 2018, section 4

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
        raise InputError("log_variances need latents as an array; got an encoder.")
    labels = source.draw_factors(n_train + n_eval, random)
    rows = source.batches(labels, size, random)
    typical = source.typical(MAX_ENCODED, random)
    table, (rows, typical) = source.latents(rows, typical)
    whole = table[typical]
    known = check_log_variances(log_variances, whole)
    merged = merge_discrete(table, discrete)
    active = active_latents(whole, known)[merged.first]
    active[merged.discrete] = merged.used(typical)
    # Variances of very large and very small latents would overflow; their ratios do not.
    scaled = of_order_one(merged.table)
    spread = scaled[typical].std(axis=0, ddof=1)
    active &= (spread >= min_std / unit_of(merged.table)) | merged.discrete
    variances = np.where(merged.discrete, merged.gini(typical), spread**2)
    votes = vote(scaled, rows, variances, active, merged.discrete)
    return majority_score(source, votes, labels, n_train, active)


def vote(
    table: np.ndarray,
    rows: np.ndarray,
    variances: np.ndarray,
    active: np.ndarray,
    discrete: np.ndarray | None = None,
) -> np.ndarray:
    """Return the active latent of least relative variance in each batch; -1 if there is none.

    Ties up to rounding are broken in a canonical order of latents. Otherwise two copies of a latent
    could separate factors by their rounding errors.
    """
    order = order_of_latents(table)
    places = order[active[order]]
    if not len(places):
        return np.full(len(rows), -1)
    kinds = None if discrete is None else discrete[places]
    ratios = batch_variances(table[:, places], rows, kinds) / variances[places]
    least = ratios <= ratios.min(axis=1, keepdims=True) * (1 + TIED) + TIED**2
    return places[least.argmax(axis=1)]


def count_votes(votes: np.ndarray, labels: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Count the votes V_jk for latent j when factor k was fixed, int64 (z, f)."""
    cells = np.ravel_multi_index((votes, labels), shape)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def majority_score(
    source: FixedSource, votes: np.ndarray, labels: np.ndarray, n_train: int, active: np.ndarray
) -> Score:
    """Score the majority vote, trained on the first votes (n,) and their labels (n,)."""
    shape = (len(active), source.n_factors)
    notes = [source.note] if source.note else []
    if not active.any():
        return _guess(source, active, notes)
    train = count_votes(votes[:n_train], labels[:n_train], shape)
    classifier = train.argmax(axis=1)
    right = classifier[votes] == labels
    if not active.all():
        notes.append(f"{int((~active).sum())} of {len(active)} latents collapsed and left out")
    return Score(
        "factor_vae",
        float(right[n_train:].mean()),
        per_factor=source.recognised(labels[n_train:], right[n_train:]),
        matrix=train,
        details={
            "train_accuracy": float(right[:n_train].mean()),
            "eval_votes": count_votes(votes[n_train:], labels[n_train:], shape),
            # Latents without a vote predict no factor.
            "classifier": np.where(train.any(axis=1), classifier, -1),
            "active": active,
        },
        note="; ".join(notes),
        factor_names=source.names,
    )


def _guess(source: FixedSource, active: np.ndarray, notes: list[str]) -> Score:
    guess = 1 / len(source.used)
    per_factor = np.full(source.n_factors, np.nan)
    per_factor[source.used] = guess
    return Score(
        "factor_vae",
        guess,
        per_factor=per_factor,
        matrix=np.zeros((len(active), source.n_factors)),
        details={"active": active, "train_accuracy": guess},
        note="; ".join([*notes, "no latent is active: the score is that of a guess"]),
        factor_names=source.names,
    )
