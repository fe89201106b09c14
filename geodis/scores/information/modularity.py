"""Modularity: whether every latent knows about one factor only."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_int
from geodis.scores.binning import BINS, bin_columns
from geodis.scores.card import QUICK, Card, Score
from geodis.scores.importance import (
    compactness_of,
    completeness_of,
    disentanglement_of,
    modularity_of,
    top_gap,
)
from geodis.scores.information.estimates import entropy
from geodis.scores.information.mutual_information import InformationBy, information_about
from geodis.scores.inputs import check_latents
from geodis.scores.registry import register_score


@register_score(
    family="information",
    cost=QUICK,
    card=Card(
        rewards="Latents that know about one factor only.",
        blind="How much they know: noise hardly lowers it, and a latent of noise counts in "
        "full with the pattern that chance gave it. Squares forgive: turned latents "
        "keep most of it, where `infom` falls.",
        answers="modularity",
        chance="0.18 to 0.46 of factors with equally many values; 0.66 to 0.79 with 3 to 8 values "
        "and 0.98 with 2 to 40, for in noise the factor of most values stands out",
        source="Ridgeway and Mozer 2018, section 3.1",
    ),
)
def modularity(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    random_state: Any = None,
) -> Score:
    """Modularity: whether every latent knows about one factor only (Ridgeway and Mozer 2018).

    ``1/z sum_i (1 - sum_{j != a} I(z_i; v_j)^2 / (I(z_i; v_a)^2 (f - 1)))``, where a is the factor
    that latent i knows most about: `modularity_of` the mutual information. The mean is plain, so
    that a latent of pure noise counts in full, with whatever pattern chance gave it. A latent that
    knows nothing at all scores zero. With one factor, any latent that knows about it scores one.
    This is not the InfoM of `infomec`, which does not square, leaves dead latents out, and is far
    lower for a turned code.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_latent`, and `matrix` is the mutual information in nats.

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> modularity(np.column_stack([factors[:, 0], factors.sum(axis=1)]), factors).per_latent
    array([1., 0.])
    """
    about = information_about(latents, factors, bins, method, random_state)
    return about.score(
        "modularity", per_latent=modularity_of(about.information).parts, matrix=about.information
    )


# Completeness: whether one latent holds all that is known of a factor.


@register_score(
    family="information",
    cost=QUICK,
    card=Card(
        rewards="Factors of which one latent has all that is known.",
        blind="What else that latent holds; how much is known. Circles in two latents score "
        "half by design.",
        answers="completeness",
        source="Hsu et al. 2023, eq. 5, of information by counts",
    ),
)
def completeness(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    random_state: Any = None,
) -> Score:
    """Completeness from information: whether one latent holds all that is known of a factor.

    ``1/f sum_j (max_i S(i, j) / sum_i S(i, j) - 1/z) / (1 - 1/z)`` with
    ``S(i, j) = I(z_i; v_j) / H(v_j)`` over the z latents that are not constant: the compactness of
    InfoMEC (Hsu et al. 2023) of information by counts; as published, from neighbours and without
    dead latents, it is the InfoC of `infomec`. The completeness of DCI, of importances, is in
    `dci`.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_factor`, zero for a factor that no latent knows about; `matrix` is S.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> completeness(factors[:, [0, 1, 1]], factors).per_factor
    array([1.  , 0.25])
    """
    about = information_about(latents, factors, bins, method, random_state)
    active = about.active
    parts = (
        compactness_of(about.share[active]).parts
        if active.any()
        else np.zeros(len(about.varying.kept))
    )
    notes = [] if active.all() else [f"constant latents left out: {int((~active).sum())}"]
    return about.score("completeness", about.spread(parts), notes=notes)


# MED: disentanglement of DCI, read from mutual information.


@register_score(
    family="information",
    rows={"med": "", "med_top": "top"},
    default=False,
    card=Card(
        rewards="Latents that know one factor each. med_top: some latents among many that do.",
        blind="What only several latents together know. Chance information of counts lowers it "
        "with few rows.",
        answers="modularity",
        chance="near 0; med_top picks the best and is a little higher",
        source="Cao et al. 2022, section 3",
    ),
)
def med(latents: Any, factors: Any, *, bins: int = BINS, top: int = 1) -> Score:
    """Mutual-information based entropy disentanglement (Cao et al. 2022).

    `disentanglement_of` R with ``R_ij = I(z_i; v_j) / sum_i I(z_i; v_j)``: the formula of `dci`,
    where trees need not be learnt in a space of thousands of latents. The top-k form takes for
    each factor the k latents of the largest parts among those that know it most, and forgets the
    others.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`.
    top : int
        k of the top-k form.

    Returns
    -------
    Score
        `per_latent`; `matrix` is R; `details` has "top" (the top-k form), "chosen" (its latents)
        and "completeness".

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> mixed = np.column_stack([factors, factors.sum(axis=1)])
    >>> score = med(mixed, factors)
    >>> round(float(score), 2), round(score.details["top"], 2)
    (0.67, 1.0)
    """
    check_int(top, "top", low=1)
    about = information_about(latents, factors, bins, "equal_width", None)
    total = about.information.sum(axis=0)
    shares = about.information / np.where(total > 0, total, 1.0)
    whole = disentanglement_of(shares)
    chosen = _best_of_each(shares, whole.parts, top)
    return about.score(
        "med",
        per_latent=whole.parts,
        matrix=shares,
        details={
            "top": float(disentanglement_of(shares[chosen]).value),
            "chosen": chosen,
            "completeness": float(completeness_of(shares).value),
        },
        value=float(whole.value),
    )


def _best_of_each(shares: np.ndarray, parts: np.ndarray, top: int) -> np.ndarray:
    """The latents of the largest parts, k of those that know each factor most."""
    factor = shares.argmax(axis=1)
    order = np.argsort(-parts, kind="stable")
    return np.sort(
        np.concatenate([order[factor[order] == j][:top] for j in range(shares.shape[1])])
    )


# DCIMIG: gaps of latents between factors, each factor with its best latent.


@register_score(
    family="information",
    default=False,
    card=Card(
        rewards="For each factor a latent that knows it and no other factor.",
        blind="What the other latents know of the factor: copies cost nothing.",
        answers="modularity",
        source="Sepliarskaia, Kiseleva and de Rijke 2019, section 4 (3CharM)",
    ),
)
def dcimig(latents: Any, factors: Any, *, bins: int = BINS) -> Score:
    """DCIMIG, or 3CharM (Sepliarskaia et al. 2019).

    ``sum_j max_i g_ij / sum_j H(v_j)``: latent i goes to the factor that it knows most about, with
    ``g_ij = I(z_i; v_j) - I(z_i; v_k)`` its gap to the second, k; g is zero for other factors.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`. With one factor, the second is zero.

    Returns
    -------
    Score
        `per_factor` is ``max_i g_ij / H(v_j)``; `matrix` is g.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> mixed = factors.sum(axis=1, keepdims=True)
    >>> float(dcimig(factors[:, [0, 1, 1]], factors)), float(dcimig(mixed, factors))
    (1.0, 0.0)
    """
    about = information_about(latents, factors, bins, "equal_width", None)
    gaps = np.zeros_like(about.information)
    rows = np.arange(len(gaps))
    gaps[rows, about.information.argmax(axis=1)] = top_gap(about.information.T)
    of_factor = entropy(about.codes)
    largest = gaps.max(axis=0)
    return about.score(
        "dcimig",
        about.spread(largest / of_factor),
        matrix=gaps,
        value=float(largest.sum() / of_factor.sum()),
    )


# JEMMIG: the mutual information gap, and what the best latent knows beside its factor.


@register_score(
    family="information",
    default=False,
    card=Card(
        rewards="One latent for each factor, with as many values as the factor and no others.",
        blind="It is high only where the latent has few values: a continuous latent that holds a "
        "factor of three values exactly is far from one. Depends on the number of bins.",
        answers="completeness",
        chance="0.1 to 0.3: a latent of any kind has less entropy than it could have",
        source="Do and Tran 2020, eq. 10 and its normalisation",
    ),
)
def jemmig(latents: Any, factors: Any, *, bins: int = BINS) -> Score:
    """Joint entropy minus mutual information gap, turned round (Do and Tran 2020).

    ``1/f sum_j (1 - (H(z_a, v_j) - I(z_a; v_j) + I(z_b; v_j)) / (H(v_j) + log bins))``, where z_a
    and z_b are the latents that know most and second most about factor j. The joint entropy is as
    small as that of the factor only where the latent has nothing else in it.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`.

    Returns
    -------
    Score
        `per_factor`; `matrix` is the mutual information in nats; `details["best_latent"]`.

    Examples
    --------
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> float(jemmig(factors, factors, bins=2))
    1.0
    """
    about = information_about(latents, factors, bins, "equal_width", None)
    codes = bin_columns(check_latents(latents), bins)
    best = about.information.argmax(axis=0)
    of_factor = entropy(about.codes)
    known = about.information.max(axis=0)
    joint = of_factor + entropy(codes[:, best]) - known  # H(z, v) = H(v) + H(z) - I(z; v)
    parts = 1 - (joint - top_gap(about.information)) / (of_factor + np.log(bins))
    return about.score(
        "jemmig",
        about.spread(parts),
        matrix=about.information,
        details={"best_latent": about.spread(best, -1)},
    )
