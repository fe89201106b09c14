"""Modularity, completeness and related scores of the mutual information matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import check_int
from geodis.scores.binning import BINS, bin_columns
from geodis.scores.card import QUICK, Score
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


@register_score(family="information", cost=QUICK, answers="modularity")
def modularity(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    random_state: Any = None,
) -> Score:
    """Modularity: whether every latent encodes one factor only (Ridgeway and Mozer 2018).

    ``1/z sum_i (1 - sum_{j != a} I(z_i; v_j)^2 / (I(z_i; v_a)^2 (f - 1)))``, where a is the factor
    that latent i is most informative about: `modularity_of` the mutual information. The mean is
    unweighted, so that a latent of pure noise counts in full. A latent without any information
    scores zero. With a single factor, every informative latent scores one. InfoM of `infomec` is
    different: it does not square, leaves out dead latents, and is far lower for rotated latents.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        Has `per_latent`; `matrix` is the mutual information in nats.

    Rewards
    -------
    Latents that know about one factor only.

    Cannot see
    ----------
    How much they know: noise hardly lowers it, and a latent of noise counts in full with the
    pattern that chance gave it. Squares forgive: turned latents keep most of it, where `infom`
    falls.

    By chance
    ---------
    0.18 to 0.46 of factors with equally many values; 0.66 to 0.79 with 3 to 8 values and 0.98 with
    2 to 40, for in noise the factor of most values stands out

    Source
    ------
    Ridgeway and Mozer 2018, section 3.1

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


@register_score(family="information", cost=QUICK, answers="completeness")
def completeness(
    latents: Any,
    factors: Any,
    *,
    bins: int = BINS,
    method: InformationBy = "equal_width",
    random_state: Any = None,
) -> Score:
    """Completeness from information: whether all information about a factor is in one latent.

    ``1/f sum_j (max_i S(i, j) / sum_i S(i, j) - 1/z) / (1 - 1/z)`` with
    ``S(i, j) = I(z_i; v_j) / H(v_j)`` over the z latents that are not constant. This is the
    compactness of InfoMEC (Hsu et al. 2023) with information from counts; InfoC of `infomec` is the
    published version, with nearest neighbours and without dead latents. The completeness of DCI
    is in `dci`.

    Parameters
    ----------
    latents, factors, bins, method, random_state
        As in `mig`.

    Returns
    -------
    Score
        `per_factor` is zero if no latent is informative about the factor; `matrix` is S.

    Rewards
    -------
    Factors of which one latent has all that is known.

    Cannot see
    ----------
    What else that latent holds; how much is known. Circles in two latents score half by design.

    Source
    ------
    Hsu et al. 2023, eq. 5, of information by counts

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


@register_score(family="information", default=False, answers="completeness")
def jemmig(latents: Any, factors: Any, *, bins: int = BINS) -> Score:
    """One minus the normalised JEMMIG, joint entropy minus MIG (Do and Tran 2020).

    ``1/f sum_j (1 - (H(z_a, v_j) - I(z_a; v_j) + I(z_b; v_j)) / (H(v_j) + log bins))``, where z_a
    and z_b are the latents with the largest and second largest information about factor j. The
    joint entropy equals that of the factor only if the latent encodes nothing else.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`.

    Returns
    -------
    Score
        Has `per_factor` and `details["best_latent"]`; `matrix` is the mutual information in nats.

    Rewards
    -------
    One latent for each factor, with as many values as the factor and no others.

    Cannot see
    ----------
    It is high only where the latent has few values: a continuous latent that holds a factor of
    three values exactly is far from one. Depends on the number of bins.

    By chance
    ---------
    0.1 to 0.3: a latent of any kind has less entropy than it could have

    Source
    ------
    Do and Tran 2020, eq. 10 and its normalisation

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


@register_score(family="information", default=False, answers="modularity")
def dcimig(latents: Any, factors: Any, *, bins: int = BINS) -> Score:
    """DCIMIG, or 3CharM (Sepliarskaia et al. 2019).

    ``sum_j max_i g_ij / sum_j H(v_j)``: for the factor j that latent i is most informative about,
    ``g_ij = I(z_i; v_j) - I(z_i; v_k)`` is its gap to the second, k; g is zero for other factors.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`. With a single factor, the second term is zero.

    Returns
    -------
    Score
        `per_factor` is ``max_i g_ij / H(v_j)``; `matrix` is g.

    Rewards
    -------
    For each factor a latent that knows it and no other factor.

    Cannot see
    ----------
    What the other latents know of the factor: copies cost nothing.

    Source
    ------
    Sepliarskaia, Kiseleva and de Rijke 2019, section 4 (3CharM)

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


@register_score(
    family="information", rows={"med": "", "med_top": "top"}, default=False, answers="modularity"
)
def med(latents: Any, factors: Any, *, bins: int = BINS, top: int = 1) -> Score:
    """Mutual-information based entropy disentanglement (Cao et al. 2022).

    `disentanglement_of` R with ``R_ij = I(z_i; v_j) / sum_i I(z_i; v_j)``: the formula of `dci`
    without training trees, for thousands of latents. The top-k form uses, for each factor, the k
    most disentangled latents among those that are most informative about it.

    Parameters
    ----------
    latents, factors, bins
        As in `mig`.
    top : int
        k of the top-k form.

    Returns
    -------
    Score
        Has `per_latent`; `matrix` is R; `details` has "top" (the top-k form), "chosen" (its
        latents) and "completeness".

    Rewards
    -------
    Latents that know one factor each. med_top: some latents among many that do.

    Cannot see
    ----------
    What only several latents together know. Chance information of counts lowers it with few rows.

    By chance
    ---------
    near 0; med_top picks the best and is a little higher

    Source
    ------
    Cao et al. 2022, section 3

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
    """Return the k most disentangled latents of every factor."""
    factor = shares.argmax(axis=1)
    order = np.argsort(-parts, kind="stable")
    return np.sort(
        np.concatenate([order[factor[order] == j][:top] for j in range(shares.shape[1])])
    )
