"""Latents of every size, constants, copies and few rows: a score in its range, or one sentence."""

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.scores.registry import choose_scores

NAMES = (
    *("infomec", "jemmig", "dcimig", "med", "edi", "minimality", "sufficiency", "t_mex", "dci_es"),
    *("z_max_variance", "mcc", "mcc_spearman", "weak_mcc_linear", "weak_mcc_cca", "snc"),
    *("block_r2", "block_r2_kernel", "equivariance", "d_lsbd"),
)
# Rows that may fall below zero: a model worse than none, and losses that fall late.
BELOW = {"infoe": -np.inf, "dci_es_explicitness": -1.0}


def drawn(rng):
    n, z, f = (int(rng.choice(sizes)) for sizes in ([2, 4, 5, 20, 100], [1, 2, 5], [1, 2, 3]))
    factors = rng.integers(rng.integers(1, 6), size=(n, f)).astype(float)
    latents = rng.standard_normal((n, z)) * 10.0 ** rng.choice([-300, -8, 0, 0, 150, 300])
    if rng.random() < 0.3:
        latents[:, 0] = 3.7
    if rng.random() < 0.3:
        k = min(z, f)
        latents[:, :k] = factors[:, :k]
    names = [f"c{j}" for j in range(f)]
    options = [{}, {"periods": {"c0": 5.0}}, {"groups": {"together": names}}]
    return latents, gd.as_factors(factors, names=names, **options[rng.integers(3)])


@pytest.mark.parametrize("name", NAMES)
def test_a_score_in_its_range_or_one_sentence(name):
    [entry] = choose_scores([name])
    scored = 0
    for seed in range(40):
        latents, factors = drawn(np.random.default_rng(seed))
        options = {"random_state": 0} if entry.random else {}
        if entry.takes_groups and latents.shape[1] > 1:
            options["groups"] = [[0, 1]]
        try:
            rows = entry.rows_of(entry.compute(latents, factors, **options))
        except InputError:
            continue
        scored += 1
        for row, value in rows.items():
            assert BELOW.get(row, 0.0) - 1e-9 <= value <= 1 + 1e-9, (row, seed)
    assert scored > 1
