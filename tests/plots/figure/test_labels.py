import html

import numpy as np
import pytest

from geodis.plots.figure.labels import LONGEST_LABEL, label, name_labels, short


def test_numbers_are_short_and_holes_are_null():
    assert short(np.array([np.nan, 1 / 3, np.inf, 2.0])) == [None, 0.3333, None, 2]


@pytest.mark.parametrize("text", ["<a href='x'>", "&lt;", "%{y}", "$x$", "a\nb", "x" * 100, "@ink"])
def test_labels_hold_no_markup_and_are_short(text):
    shown = label(text)
    assert not set("<>{$@\n") & set(shown)
    assert len(html.unescape(shown)) <= LONGEST_LABEL


def test_names_that_were_cut_alike_stay_apart():
    names = name_labels([f"{'x' * 30}{i}" for i in range(3)])
    assert len(set(names)) == 3
