"""Decimal commas and thousands separators: numbers where there is no doubt, or a sentence."""

import numpy as np
import pytest

from geodis import load_array, load_factors
from geodis.base.check import InputError


@pytest.fixture
def table(tmp_path):
    def write(text, suffix=".csv"):
        path = tmp_path / f"table{suffix}"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("text", "meaning", "values"),
    [
        ("x;y\n1,5;2\n3,25;4\n", "a decimal comma in x", [[1.5, 2], [3.25, 4]]),
        ("1,5;2\n3,25;4\n", "a decimal comma in factor 0", [[1.5, 2], [3.25, 4]]),
        ('x,y\n"1,5",2\n"-3,25",4\n', "a decimal comma in x", [[1.5, 2], [-3.25, 4]]),
        ("x\ty\n0,125\t2\n0,250\t4\n", "a decimal comma", [[0.125, 2], [0.25, 4]]),
        ("x;y\n1.234,5;2,5\n2.345,6;4\n", "a decimal comma", [[1234.5, 2.5], [2345.6, 4]]),
        # Points between thousands in a column of their own, which pandas took for decimals.
        ("x;y\n1,5;1.234\n3,25;2.345\n", "a decimal comma", [[1.5, 1234], [3.25, 2345]]),
        ('x,y\n"1,234.5",2\n"2,345.25",4\n', "thousands in x", [[1234.5, 2], [2345.25, 4]]),
        ('x,y\n"1,234,567",2\n"7,654,321",4\n', "thousands", [[1234567, 2], [7654321, 4]]),
        ('x,y\n"1,234",0.5\n"2,345",0.25\n', "thousands in x", [[1234, 0.5], [2345, 0.25]]),
        ("x;y\n1 234;2\n12 345 678;4\n", "thousands in x", [[1234, 2], [12345678, 4]]),
        ("x;y\n1'234.5;2\n2'345.5;4\n", "thousands in x", [[1234.5, 2], [2345.5, 4]]),
        ("x;y\n1\u00a0234,5;2\n2\u00a0345,5;4\n", "a decimal comma", [[1234.5, 2], [2345.5, 4]]),
        ("x;y\n1,5e3;2\n;4\n2,5E-1;6\n", "a decimal comma", [[1500, 2], [np.nan, 4], [0.25, 6]]),
    ],
)
def test_marks_that_leave_no_doubt(table, text, meaning, values):
    path = table(text, ".tsv" if "\t" in text else ".csv")
    with pytest.warns(UserWarning, match=rf"numbers are read with .*{meaning}"):
        np.testing.assert_array_equal(load_array(path), values)
    with pytest.warns(UserWarning, match=meaning):
        factors = load_factors(path)
    assert factors.kinds == ("numbers", "numbers")
    np.testing.assert_array_equal(factors.values, values)


@pytest.mark.parametrize(
    "text",
    [
        'x,y\n"1,234",2\n"2,345",4\n',  # either
        'x,y\n"1,5",2\n"2,345",4\n',  # one field is no margin
        'x,y\n"1,5",0.5\n"2,5",0.25\n',  # one column says this, the other that
        'x,y\n"1,5","1,234,567"\n"2,5","2,345,678"\n',
    ],
)
def test_marks_that_leave_doubt_are_refused(table, text):
    for load in (load_array, load_factors):
        with pytest.raises(InputError, match="must show whether its commas are"):
            load(table(text))


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (['"a,b"', '"c,d"'], ("a,b", "c,d")),
        (['"1,5"', "none of it"], ("1,5", "none of it")),
        (["1.2.3", "1.2.4"], ("1.2.3", "1.2.4")),
        (["2024-01-02", "2024-01-03"], ("2024-01-02", "2024-01-03")),
        (['"1,2,3"', '"4,5,6"'], ("1,2,3", "4,5,6")),
    ],
)
def test_labels_stay_labels(table, column, labels):
    factors = load_factors(table("x,y\n" + "".join(f"{c},{i}\n" for i, c in enumerate(column))))
    assert factors.categories["x"] == labels


def test_plain_numbers_warn_of_nothing(table):
    path = table("x,y\n1.5,1.234\n2.5,2.345\n")
    np.testing.assert_array_equal(load_array(path), [[1.5, 1.234], [2.5, 2.345]])


def test_thousands_without_fractions_are_integers(table):
    path = table("x;y\n1 234;2\n12 345;4\n")
    with pytest.warns(UserWarning, match="thousands"):
        assert load_array(path).dtype == np.int64
