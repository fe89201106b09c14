"""Changes that must not change a score; `benchmarks` holds them against more samples."""

import json

import pytest

from benchmarks._measure import RESULTS
from benchmarks.metamorphic import hold
from benchmarks.score_laws import DRAWS_ROWS, LAWS, NO_LAW, NOT_HELD
from geodis.scores.card import BLOCKS, CLASSES, CLASSES_OF_ALL, VALUES
from geodis.scores.registry import entries

# Which laws a new score obeys is known once `python -m benchmarks.metamorphic` has measured it.
RECORDS = json.loads((RESULTS / "metamorphic.json").read_text(encoding="utf-8"))
MEASURED = [entry for entry in entries() if entry.name in {row["score"] for row in RECORDS}]
SLOW = ("downstream_trees", "beta_vae")
QUICK = [entry for entry in MEASURED if entry.name not in SLOW]


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


def test_what_a_card_says_of_kinds_is_what_the_laws_hold():
    order, labels = NO_LAW["values in another order"], NO_LAW["labels instead of codes"]
    for entry in MEASURED:
        shapes = entry.card.shapes
        assert bool(shapes) is entry.needs_factors, entry.name
        # Where values are classes, it does not matter which is which, nor what they are called.
        free = order.get(entry.name, DRAWS_ROWS) == DRAWS_ROWS and entry.name not in labels
        assert (shapes in ("", CLASSES, CLASSES_OF_ALL, VALUES)) is free, entry.name
        assert (shapes == BLOCKS) <= entry.takes_groups, entry.name
