"""The tool that changes lines: which changes it makes, and that it finds the lines again."""

import ast

import pytest

from benchmarks.mutations import Mutant, mutants_of

SOURCE = '''
"""Words with 3 numbers."""

MOST: int = 10


class Sum:
    def add(self, x, *, scale=1.0):
        """Not 5 changed."""
        if not x and self.total < MOST:
            raise ValueError(f"at least {1}")
        self.total += x[1:].sum(axis=1, initial=x.shape[0])
        return self.total - 2
'''


def changes():
    return {(one.function, one.becomes) for one in mutants_of("a.py", SOURCE)}


@pytest.mark.parametrize(
    ("function", "becomes"),
    [
        ("", "MOST: int = 11"),
        ("Sum.add", "def add(self, x, *, scale=0.5):"),
        ("Sum.add", "if (not x or self.total < MOST):"),
        ("Sum.add", "if x and self.total < MOST:"),
        ("Sum.add", "if not x and (self.total <= MOST):"),
        ("Sum.add", "pass"),
        ("Sum.add", "self.total += x[1 + 1:].sum(axis=1, initial=x.shape[0])"),
        ("Sum.add", "self.total += x[1:].sum(axis=1)"),
        ("Sum.add", "return (self.total + 2)"),
        ("Sum.add", "return -(self.total - 2)"),
        ("Sum.add", "return self.total - 3"),
    ],
)
def test_a_change_of_every_kind_is_among_them(function, becomes):
    assert (function, becomes) in changes()


def test_words_and_what_would_only_be_an_error_stay_as_they_are():
    for _, becomes in changes():
        assert "raise" not in becomes and '"' not in becomes
        assert "axis=2" not in becomes and "shape[1]" not in becomes


def test_every_change_can_be_read_and_changes_one_line():
    for one in mutants_of("a.py", SOURCE):
        changed, number = one.apply(SOURCE)
        ast.parse(changed)
        pairs = zip(SOURCE.split("\n"), changed.split("\n"), strict=True)
        assert [i for i, (a, b) in enumerate(pairs, 1) if a != b] == [number]


def test_a_line_is_found_where_it_went_and_is_gone_where_it_is_no_more():
    mutant = Mutant("", "a.py", "Sum.add", "return self.total - 2", "return self.total + 2")
    assert (
        mutant.apply("\n" * 7 + SOURCE)[1]
        == 7 + SOURCE.split("\n").index("        return self.total - 2") + 1
    )
    assert mutant.apply(SOURCE.replace("- 2", "- 3")) is None
    assert mutant.apply(SOURCE.replace("add", "sub")) is None
