"""FactorVAE score: a majority vote on the factor that was fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_random_state, check_real
from geodis.scores.active import active_latents, check_log_variances
from geodis.scores.card import Card
from geodis.scores.intervention.discrete_latents import gini_variances, merge_discrete
from geodis.scores.intervention.fixed_source import (
    BATCH_SIZE,
    MIN_ROWS,
    N_EVAL,
    N_TRAIN,
    FixedSource,
    chunks,
    open_source,
)
from geodis.scores.prediction.importance_models import order_of_latents
from geodis.scores.registry import register_score
from geodis.scores.scaling import of_order_one, unit_of
from geodis.scores.score import Score

# Shares of variance that are so near to each other are equal up to rounding.
TIED = 1e-9

# Rows of an encoder that stand for all where every row would have to be encoded.
MAX_ENCODED = 10_000


def batch_variances(
    table: np.ndarray, rows: np.ndarray, discrete: np.ndarray | None = None
) -> np.ndarray:
    """Variance (ddof 1) of every latent within each batch: rows (b, l) -> (b, z).

    Of latents that are `discrete`, bool (z,), Gini's variance.
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
    takes_log_variances=True,
    random=True,
    card=Card(
        rewards="For each factor a latent that varies least where that factor is fixed.",
        blind="What else the latent does; spread of a factor over latents.",
        answers="modularity",
        chance="1 / f, and a little more",
        cost="0.06 s",
        source="Kim and Mnih 2018, section 4",
    ),
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
    discrete : sequence of int, or of sequence of int
        Latents that are discrete: a column of labels, or the columns that hold the probabilities
        of a categorical latent, which stands for the most probable one, as ``[[4, 5, 6]]`` for
        what `encode` gives of ``ConcreteVAE(shape, 4, categories=3)``. They count as one latent,
        in the place of the first of these columns. Theirs is Gini's variance (appendix B,
        equation 4), sum_ij [z_i != z_j] / (2 n (n - 1)).
    random_state : None, int or Generator

    Returns
    -------
    Score
        ``per_factor`` is the share of a factor's votes that is right; ``matrix`` (z, f) holds
        the training votes, a discrete latent being one row. Without any active latent the score is
        that of a guess, 1/f.

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
    # Variances of large and of small latents leave the range of floats; their ratios do not.
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
    """The active latent that varies least in each batch, relative to all; -1 if there is none.

    Of several that vary equally little, but for rounding, always the same one, whatever the order
    of the latents: two copies of one latent would otherwise tell factors apart by their rounding.
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
    """V_jk: how often latent j was named when factor k was fixed, int64 (z, f)."""
    cells = np.ravel_multi_index((votes, labels), shape)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def majority_score(
    source: FixedSource, votes: np.ndarray, labels: np.ndarray, n_train: int, active: np.ndarray
) -> Score:
    """Accuracy of the majority vote, learnt from the first votes (n,) and their labels (n,)."""
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
            # Latents without a vote say nothing of any factor.
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
