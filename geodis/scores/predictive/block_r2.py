"""R^2 between groups of latents and factors of any kind, in both directions."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from geodis.base.check import InputError, check_choice, check_random_state
from geodis.scores.card import BLOCKS, Cost, Question, Score
from geodis.scores.groups import read_latent_groups, varying_blocks
from geodis.scores.importance import compactness_of
from geodis.scores.predictive.cross_validation import (
    TRAIN_SHARE,
    HeldOut,
    held_out_r2,
    kernel_features,
    split_rows,
    standardise,
)
from geodis.scores.registry import register_score

RegressBy = Literal["linear", "kernel"]

# Row of the table -> key of its number, and the question that it answers.
ROWS: dict[str, tuple[str, Question]] = {
    "block_r2": ("", "completeness"),
    "block_r2_back": ("back", "modularity"),
    "grouped_modularity": ("modularity", "modularity"),
    "grouped_completeness": ("completeness", "completeness"),
    "grouped_explicitness": ("explicitness", "information"),
}


@register_score(
    "block_r2_kernel",
    family="identifiability",
    options={"method": "kernel"},
    rows={f"{row}_kernel": key for row, (key, _) in ROWS.items()},
    takes_continuous=True,
    halves=True,
    default=False,
    cost=Cost("0.5 s, in proportion to n (z + f)"),
    answers={f"{row}_kernel": asked for row, (_, asked) in ROWS.items()},
    shapes=BLOCKS,
)
@register_score(
    family="identifiability",
    rows={row: key for row, (key, _) in ROWS.items()},
    takes_continuous=True,
    halves=True,
    cost=Cost("10 ms", intervals="often", many_latents=True),
    answers={row: asked for row, (_, asked) in ROWS.items()},
    shapes=BLOCKS,
)
def block_r2(
    latents: Any,
    factors: Any,
    *,
    groups: Any = None,
    method: RegressBy = "linear",
    train_share: float = TRAIN_SHARE,
    shuffle: bool = True,
    random_state: Any = None,
) -> Score:
    """R^2 between groups of latents and factors of any kind, on test rows.

    ``R_gj = 1 - sum |v_j - f(z_g)|^2 / sum |v_j - mean|^2`` measures how well group g of latents
    predicts factor j, all its columns together, by ridge regression; at least zero. Groups and
    factors are matched one to one with the largest sum of R. With R above its null level (see
    `held_out_r2`), G groups and F factors,

    - modularity of a group: ``(max_j R_gj / sum_j R_gj - 1/F) / (1 - 1/F)``, the mean weighted by
      the sums;
    - completeness of a factor: ``(max_g R_gj / sum_g R_gj - 1/G) / (1 - 1/G)``, the mean likewise;
    - explicitness of a factor: its R^2 from all latents.

    Constant groups are not matched and not counted.

    Scores of single latents give a circle encoded in two latents at most about half (`mig`) or two
    thirds (`dci`), because each latent alone is ambiguous and both encode the factor. As a group
    they score one.

    Parameters
    ----------
    latents : array-like of shape (n, z)
    factors : array-like of shape (n, f), or Factors
        Of any kind: the columns of each of `Factors.groups` form one factor; cyclic numbers are
        replaced by their cosine and sine, and labels are one-hot encoded.
    groups : sequence of sequences of int or str, or GeoManCER, optional
        Groups of latents, or a fit to these rows: see `read_latent_groups`. By default every
        latent is its own group.
    method : {"linear", "kernel"}
        Ridge regression or kernel ridge regression.
    train_share, shuffle, random_state
        As in `sap`.

    Returns
    -------
    Score
        `per_factor` is R of every factor and its matched group, zero without one, and `value` its
        mean; `matrix` is R (G, F). `details` has "backward", the R^2 of groups predicted from
        factors, and "back", its mean over matched pairs; "modularity", "completeness" and
        "explicitness" as above; "matched", the group of every factor (-1 for none); and
        "group_names".

    Rewards
    -------
    A group of latents from which a factor can be predicted, and nothing else: a circle as (cos,
    sin) in two latents that are one group scores 1.

    Cannot see
    ----------
    How groups were chosen: one group of all latents holds everything, and only the way back and the
    modularity fall. The linear form misses curved encodings; factors that depend on each other look
    entangled in the ratios, which forget noise.

    By chance
    ---------
    near 0: of R, only what chance could not give counts in the ratios

    Source
    ------
    von Kügelgen et al. 2021 (block R^2); ratios as Hsu et al. 2023, eqs. 3 and 5

    Examples
    --------
    >>> from geodis.data.factors import as_factors
    >>> angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    >>> size = np.tile([0.0, 1.0, 2.0, 3.0], 100)
    >>> known = as_factors({"angle": angle, "size": size}, periods={"angle": 2 * np.pi})
    >>> code = np.column_stack([np.cos(angle), np.sin(angle), size])
    >>> score = block_r2(code, known, groups=[[0, 1], [2]], random_state=0)
    >>> round(float(score), 3), round(score.details["completeness"], 2)
    (1.0, 1.0)
    """
    check_choice(method, "method", get_args(RegressBy))
    sets = read_latent_groups(latents, groups)
    blocks, varying = varying_blocks(factors, len(sets.blocks[0]))
    usable = sets.complete
    if usable.sum() < 4:
        raise InputError(f"block_r2 needs at least 4 rows with values; got {int(usable.sum())}.")
    codes = [_of_order_one_together(block[usable]) for block in sets.blocks]
    known = [blocks[j].values[usable] for j in varying.kept]
    split = split_rows(len(codes[0]), train_share, shuffle, check_random_state(random_state))
    forward, chance = _r2(codes, known, split, method)
    backward = _r2(known, codes, split, method)[0].T
    explicit = _r2([np.column_stack(codes)], known, split, method)[0][0]
    alive = np.array([bool(np.ptp(code, axis=0).any()) for code in codes])
    significant = np.where(forward > chance, forward, 0.0)[alive]
    matched, pairs = _matched(forward, np.flatnonzero(alive))
    parts = [forward[g, j] if g >= 0 else 0.0 for j, g in enumerate(matched)]
    left = int((~usable).sum())
    still = int((~alive).sum())
    return varying.score(
        "block_r2",
        varying.spread(parts),
        matrix=varying.spread_columns(forward),
        details={
            "back": float(np.mean([backward[g, j] for g, j in pairs])) if pairs else 0.0,
            "modularity": _weighted_compactness(significant.T),
            "completeness": _weighted_compactness(significant),
            "explicitness": float(explicit.mean()),
            "explicitness_per_factor": explicit,
            "backward": varying.spread_columns(backward),
            "matched": varying.spread(matched, -1),
            "group_names": list(sets.names),
            "method": method,
        },
        notes=[
            sets.note,
            f"left out, outliers of the fit: {left} rows" if left else "",
            f"constant groups left out: {still}" if still else "",
        ],
    )


def _r2(
    inputs: list[np.ndarray], outputs: list[np.ndarray], split: HeldOut, method: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return R^2 of every output from every input, and its null level, (inputs, outputs)."""
    matrix = np.zeros((2, len(inputs), len(outputs)))
    for i, block in enumerate(inputs):
        columns = block if method == "linear" else kernel_features(block, split)
        train, test = standardise(columns, split)
        for j, target in enumerate(outputs):
            matrix[:, i, j] = held_out_r2(train, target[split.train], test, target[split.test])
    return matrix[0], matrix[1]


def _of_order_one_together(code: np.ndarray) -> np.ndarray:
    """Centre a group of latents and divide it by its largest value."""
    within = code / (np.abs(code).max() or 1.0)
    return within - within.mean(axis=0)


def _matched(forward: np.ndarray, alive: np.ndarray) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Match groups that vary to factors; return the group of each factor, and the pairs."""
    from scipy.optimize import linear_sum_assignment

    rows, factors = linear_sum_assignment(-forward[alive])
    groups = alive[rows]
    matched = np.full(forward.shape[1], -1)
    matched[factors] = groups
    return matched, list(zip(groups.tolist(), factors.tolist(), strict=True))


def _weighted_compactness(shares: np.ndarray) -> float:
    """Return the mean compactness of the columns, weighted by their sums."""
    weights = shares.sum(axis=0)
    if not shares.size or weights.sum() <= 0:
        return 0.0
    return float(compactness_of(shares).parts @ weights / weights.sum())
