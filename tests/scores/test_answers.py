"""What the scores of a table say together."""

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis.scores.score_table import above_chance, answer_lines, answers_of


def frame():
    rows = {
        "mig": (0.5, 0.0, "higher", "completeness"),
        "mcc": (0.9, 0.2, "higher", "completeness"),
        "d_lsbd": (0.25, 1.0, "lower", "geometry"),
        "beta_vae": (1.0, 1.0, "higher", "modularity"),
        "irs": (-0.2, 0.0, "higher", "modularity"),
        "downstream_efficiency": (0.5, 0.9, "higher", "information"),
        "windin": (0.5, np.nan, "higher", ""),
    }
    columns = ["value", "chance", "better", "question"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def test_answers_are_medians_of_the_way_from_chance():
    by_question = {answer.question: answer for answer in answers_of(frame())}
    complete = by_question["Is each factor in one latent?"]
    assert complete.names == ("mig", "mcc")
    assert complete.median == pytest.approx((0.5 + 0.875) / 2)
    assert (complete.low, complete.high) == pytest.approx((0.5, 0.875))
    # Where chance is perfect a score says nothing, and none falls below chance.
    modular = by_question["Is each latent of one factor?"]
    assert modular.names == ("irs",) and modular.median == 0
    assert by_question["Is the geometry kept?"].median == pytest.approx(0.75)
    assert "Is the information there?" not in by_question  # an efficiency is no such answer
    assert above_chance(frame()).tolist() == [True, True, True, False, False, False, False]
    assert answer_lines(frame())[-1] == ("Is it above chance?", "3 of 5 scores")


def test_a_long_table_begins_with_them(everything):
    table = everything[2]
    text = str(table)
    assert text.index("Is the information there?") < text.index("information\n")
    assert len(table.answers) == 4 and "Is it above chance?" in text
    assert [answer["question"] for answer in table.to_dict()["answers"]] == [
        answer.question for answer in table.answers
    ]
    short = gd.score_latents(*everything[:2], ["mig", "irs"], verbose=False)
    assert "Is it" not in str(short)


def test_factors_of_several_columns_in_the_table():
    rng = np.random.default_rng(0)
    factors = gd.as_factors(
        rng.integers(4, size=(300, 3)), names=["x", "y", "s"], groups={"place": ["x", "y"]}
    )
    code = factors.values + 0.1 * rng.standard_normal((300, 3))
    table = gd.score_latents(
        code, factors, ["mig", "block_r2"], groups=[[0, 1], [2]], verbose=False
    )
    assert "300 rows, 3 latents, 3 columns of factors (place)" in str(table)
    assert "mig: columns one by one: place" in str(table)
    assert list(table.per_factor.columns) == ["x", "y", "s", "place"]
    assert table.per_factor.loc["block_r2", ["place", "s"]].min() > 0.9
    assert table.per_factor.loc["mig", ["x", "y", "s"]].notna().all()
