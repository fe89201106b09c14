"""Columns with evenly spaced values are reported, and others are not."""

import numpy as np
import pytest

import geodis as gd
from geodis.report.sections.inspection import counting_columns


@pytest.mark.parametrize("seed", range(3))
def test_times_and_identifiers_are_found_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    n = 200
    columns = [np.arange(n) * 0.01, rng.integers(40, size=n), rng.standard_normal(n)]
    columns += [rng.integers(5, size=n), rng.uniform(size=n).round(2), np.zeros(n)]
    # Numbers rounded to two decimals leave gaps, few classes are labels, a constant is none.
    assert counting_columns(np.column_stack(columns))[:1] == [0]
    assert set(counting_columns(np.column_stack(columns))) <= {0, 1}
    grid = np.stack(np.meshgrid(range(20), range(20)), -1).reshape(-1, 2)
    assert counting_columns(grid) == []


def test_a_report_says_what_to_do():
    rng = np.random.default_rng(0)
    points = np.column_stack([np.arange(120), rng.standard_normal((120, 2))])
    made = gd.report(points, dim=2, out=None, verbose=0)
    assert any("Column 0 has evenly spaced values" in text for text in made.warnings)
