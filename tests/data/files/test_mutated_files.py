"""Files with bytes changed are read or refused in one sentence; `benchmarks` has many more."""

import pytest

from benchmarks.mutated_files import WRITERS, examine_many


@pytest.mark.parametrize("name", WRITERS)
def test_changed_files_are_read_or_refused(tmp_path, name):
    found = examine_many(name, 6, tmp_path)
    assert not found.wrong
    assert sum(found.counts.values()) == 6
