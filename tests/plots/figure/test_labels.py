"""Texts and numbers that are short enough."""

import numpy as np

from geodis.plots.figure.marks import LONGEST_LABEL, clip, short


def test_long_texts_are_cut_on_one_line():
    assert clip("a\nb  c") == "a b c"
    assert len(clip("x" * 100)) == LONGEST_LABEL and clip("x" * 100).endswith("…")


def test_numbers_keep_their_shape_and_few_digits():
    assert short(np.array([[1.23456, np.inf], [1e6, -0.5]])) == [[1.235, None], [1000000, -0.5]]
