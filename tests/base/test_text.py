import numpy as np
import pytest

from geodis.base.text import first_sentence, fixed, listed, number_text


@pytest.mark.parametrize(
    ("words", "text"), [(["a"], "a"), ([1, 2], "1 and 2"), ("abc", "a, b and c")]
)
def test_words_are_listed_as_in_a_sentence(words, text):
    assert listed(words) == text


def test_numbers_are_short_and_nothing_stands_where_there_is_none():
    assert [number_text(x) for x in (0.5, -0.12349, 1234.5, np.nan)] == [
        "0.500",
        "-0.123",
        "1.23e+03",
        "",
    ]


def test_a_reason_is_cut_after_its_first_sentence():
    assert first_sentence("A file is missing. Bring it.") == "A file is missing."
    assert first_sentence("") == "it did not run."


def test_zero_has_no_sign_and_what_is_below_keeps_it():
    assert [fixed(x) for x in (-0.001, 0.001, -0.01, -0.0, 2.345)] == [
        *("0.00", "0.00", "-0.01", "0.00", "2.35" if round(2.345, 2) == 2.35 else "2.34")
    ]
