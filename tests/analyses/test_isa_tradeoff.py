"""Tests, verdicts and exponents of the study of independent subspaces."""

import numpy as np
import pandas as pd
import pytest

from analyses.isa_tradeoff.isa_claims import (
    ADDED,
    FIRST_STATED,
    ISA,
    ISA_SMALL,
    ISA_TC,
    LEARNT,
    LIKELIHOOD,
    MIG,
    NAMES,
    RESTATED,
    SAMPLED_SMALL,
    TC,
    VAE,
    VAE_SMALL,
)
from analyses.isa_tradeoff.isa_comparisons import (
    at_equal,
    compared,
    found_of,
    isa_tc_at_1,
    margin_words,
    span,
    tables_of_tests,
)
from analyses.isa_tradeoff.isa_exponents import exponent_lines
from analyses.isa_tradeoff.isa_figures import draw_tradeoff
from analyses.isa_tradeoff.isa_report import _earlier, named
from analyses.shared.studies.paired_comparisons import power_of_pairs


def cells_of(lines):
    """Cells of the rows of Markdown tables."""
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [row for row in rows if not row[0].startswith(("difference", "published"))]


@pytest.fixture
def runs(rng):
    """Of 20 seeds at 1 and 4: ISA-VAE is not above, and has learnt nothing in small batches."""
    level = {ISA: 0.1, VAE: 0.15, ISA_SMALL: 0.01, VAE_SMALL: 0.15, TC: 0.2, ISA_TC: 0.2}
    return pd.DataFrame(
        [
            {"name": name, "seed": seed, "beta": beta, MIG: mean + 0.05 * rng.normal(),
             LIKELIHOOD: -5.0 * beta + rng.normal(), "run": f"{name}{seed}{beta}"}
            for name, mean in level.items()
            for seed in range(20)
            for beta in ((1.0, 4.0) if "TC" not in name else (4.0,))
        ]
    )  # fmt: skip


def test_every_claim_is_stated_once_and_first_in_small_batches():
    tests = (*FIRST_STATED, *RESTATED)
    assert len({(test.first, test.second, test.beta) for test in tests}) == len(tests) == 8
    assert not any(test.claimed for test in tests if test.beta == 4) and len(FIRST_STATED) == 5
    assert all(test.first in NAMES for test in (*RESTATED, *ADDED))


def test_a_family_counts_tests_without_runs_and_has_the_power_of_its_first(runs):
    found = found_of(runs, FIRST_STATED, MIG)
    assert len(found) == 4  # of five: learnt exponents have no runs in small batches
    least = min(found, key=lambda each: each[1].p)
    assert least[2] == pytest.approx(5 * least[1].p)
    one = compared(runs, RESTATED[0], MIG, tests=3)
    spread = (one.high - one.mean) / 2.093 * np.sqrt(20)  # Student's t of 19 degrees
    assert one.power == pytest.approx(power_of_pairs(20, 0.05 / spread, 0.05 / 3), abs=0.01)


def test_only_what_the_paper_says_has_a_verdict_and_small_batches_cannot_tell(runs):
    small = cells_of(tables_of_tests(runs, FIRST_STATED, 64))[:4]
    assert [row[-1].split(" (")[0] for row in small] == ["cannot tell", "none", "none", "none"]
    assert "batches of 64, published 2,048; power" in small[0][-1]
    assert small[0][-2] == "beta-VAE, small is better"
    assert small[2][-2].startswith("not ordered (power ")
    large = cells_of(tables_of_tests(runs, RESTATED, 64))[:2]
    assert [row[-1] for row in large] == ["not reproduced", "none"]
    assert "<.001" in small[1] and not any("0.000" in cell for row in small for cell in row[5:7])


def test_verdicts_that_another_margin_would_change_are_named(runs, rng):
    assert "No verdict differs" in margin_words(runs)
    learnt = runs[(runs["name"] == VAE) & (runs["beta"] == 1) & (runs["seed"] < 10)]
    learnt = learnt.assign(**{"name": LEARNT, MIG: learnt[MIG] + rng.normal(0.02, 0.08, 10)})
    words = margin_words(pd.concat([runs, learnt]))
    assert "would be others: not reproduced (ISA-VAE, learnt - beta-VAE at 1)" in words


def test_seeds_of_all_strengths_are_not_mixed_with_seeds_of_two(rng):
    betas = (1.0, 2.0, 3.0, 4.0)
    rows = pd.DataFrame(
        [
            {"name": name, "seed": seed, "beta": beta, LIKELIHOOD: -2.0 * beta,
             MIG: 0.1 + (0.2 if name == ISA and seed < 3 else 0.0) + 0.001 * rng.normal()}
            for seed in range(9)
            for name in (ISA, VAE)
            for beta in (betas if seed < 3 else (1.0, 4.0))
        ]
    )  # fmt: skip
    whole, other, two = cells_of(at_equal(rows, betas, 64))
    assert whole[3:5] == ["3 of 3", "24, 0"] and whole[5].startswith("+0.2")
    assert whole[-1] == "reproduced" and other[-1] == "not finished"
    assert two[3:5] == ["6 of 6", "24, 0"] and two[-1] == "none"
    apart = rows.assign(**{LIKELIHOOD: -4.0 * rows["beta"] + (rows["name"] == ISA)})
    assert cells_of(at_equal(apart, betas, 64))[0][4] == "0, 24"  # gaps of four nats


def test_isa_tcvae_has_the_runs_that_it_is_at_beta_1(runs):
    begun = isa_tc_at_1(runs).set_index("seed")
    same = runs[(runs["name"] == ISA_SMALL) & (runs["beta"] == 1)].set_index("seed")
    assert len(begun) == 20 and set(begun["name"]) == {ISA_TC} and set(begun["beta"]) == {1}
    assert (begun[MIG] == same[MIG]).all()
    first = runs[runs["name"] == TC].assign(beta=1.0, **{LIKELIHOOD: -5.0})
    other = cells_of(at_equal(pd.concat([runs, first]), (1.0, 4.0), 64))[1]
    assert other[0] == "ISA-TCVAE - beta-TCVAE" and other[3].endswith(" of 20")


def test_published_exponents_are_compared_one_by_one():
    rows = pd.DataFrame({"run": [str(j) for j in range(10)], "beta": 1.0})
    moved = {
        str(j): [2.0 + 0.001 * (j % 2), 1.98, 1.95 + 0.001 * (j % 2), 2.1, 2.3] for j in range(10)
    }
    rows_of = cells_of(exponent_lines(rows, moved))
    assert [row[-1].split(" (")[0] for row in rows_of] == [
        "reproduced", "reproduced", "cannot tell", "cannot tell"
    ]  # fmt: skip
    kept = {name: [2.0, 2.0, 2.0, 2.0, 2.16 - 0.001 * int(name)] for name in moved}
    assert [row[-1] for row in cells_of(exponent_lines(rows, kept))] == ["not reproduced"] * 4
    assert "No run" in exponent_lines(rows, {})[2]


def test_the_figure_joins_isa_tcvae_to_what_it_is_at_beta_1(runs):
    axis = draw_tradeoff(runs, "a preset")
    own = axis.figure.axes[2]
    dotted = next(line for line in own.lines if line.get_linestyle() == ":")
    begun = runs[(runs["name"] == ISA_SMALL) & (runs["beta"] == 1)][[LIKELIHOOD, MIG]].mean()
    np.testing.assert_allclose(dotted.get_xydata()[0], begun)
    assert all(each.get_ylabel() == "MIG" for each in axis.figure.axes)


def test_small_batches_have_names_of_their_own():
    rows = pd.DataFrame(
        {
            "model": ["ISAVAE", "ISAVAE", "ISAVAE", "BetaVAE"],
            "learn": [None, None, "subspaces", None],
            "p0": [None, 2.0, None, None],
            "batch_size": [np.nan, 64, np.nan, 64],
            "term reconstruction": [1.0, 2.0, 3.0, 4.0],
        }
    )
    found = named(rows)
    assert list(found["name"]) == ["ISA-VAE", SAMPLED_SMALL, "ISA-VAE, learnt", VAE_SMALL]
    assert list(found["likelihood"]) == [-1, -2, -3, -4]


def test_differences_are_told_at_every_scored_step(runs):
    course = pd.concat([runs.assign(step=2), runs.assign(step=4)])
    lines = _earlier(course)
    assert len(cells_of(lines)) == 6  # of eight: learnt exponents have no runs here
    one = compared(runs, RESTATED[0], MIG)
    assert f"{span(one)} at 2; {span(one)} at 4" in lines[2]
