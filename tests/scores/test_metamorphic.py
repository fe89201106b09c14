"""Changes that must not change a score; `benchmarks` holds them against more samples."""

import pytest

from benchmarks.metamorphic import hold
from benchmarks.score_laws import LAWS, NO_LAW, NOT_HELD
from geodis.scores.registry import entries

SLOW = ("downstream_trees", "beta_vae")
QUICK = [entry for entry in entries() if entry.name not in (*SLOW, *NOT_HELD)]


@pytest.mark.parametrize("entry", QUICK, ids=lambda entry: entry.name)
def test_the_laws_hold(entry):
    held = hold(entry, range(100, 102))
    assert not held.broken
    assert held.calls > 2 and held.refused < 2  # some need two factors


def test_what_is_no_law_is_said_of_laws_and_scores_that_there_are():
    known = {entry.name for entry in entries()}
    assert set(NO_LAW) <= set(LAWS)
    for names in (NOT_HELD, *NO_LAW.values()):
        assert set(names) <= known and all(names.values())
