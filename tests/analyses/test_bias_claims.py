"""Statements of appendix B of seed 002, on rows that are built from their answers."""

from analyses.variational_bias.bias_claims import bias_lines

STEP = 0.01


def rows_of(seeds, pruned=1, best=0.0):
    exact = [
        {"case": {"part": part, "beta": beta}, "best": best, "range": 1 / beta, "gap": 0.0}
        for part in ("rotation", "third")
        for beta in (1.0, 5.0)
    ]
    fits = [
        {
            "case": {"part": "components", "freedom": freedom, "beta": beta, "seed": seed},
            "coupling": 0.1, "coupling_true": 0.5, "pruned": pruned, "angle": 88.0,
        }
        for freedom in (3.5, 2.2)
        for beta in (1.0, 5.0)
        for seed in range(seeds)
    ]  # fmt: skip
    return exact + fits


def verdicts(rows):
    lines = [line.strip("| ").split(" | ") for line in bias_lines(rows, 3.5, STEP) if "| " in line]
    return [cells[-1] for cells in lines[1:]]


def test_statements_that_hold_on_all_seeds_are_reproduced():
    assert verdicts(rows_of(10)) == [
        *["reproduced"] * 5, "reproduced", "not reproduced", *["reproduced"] * 2, *["none"] * 4
    ]  # fmt: skip


def test_few_seeds_cannot_tell_and_a_turned_optimum_is_not_as_published():
    few = verdicts(rows_of(3))
    assert few[5:9] == ["cannot tell (power 0.00)"] * 4
    turned = verdicts(rows_of(3, best=0.2))
    assert turned[0] == turned[2] == turned[3] == "not reproduced" and turned[1] == "reproduced"
    assert bias_lines([], 3.5, STEP) == []
