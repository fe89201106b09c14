"""Work on many items, in threads."""

import pytest

from geodis.base.check import InputError
from geodis.base.jobs import in_threads


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_threads_keep_order_and_raise(n_jobs):
    assert in_threads(lambda x: x**2, range(20), n_jobs) == [x**2 for x in range(20)]
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda x: 1 / x, [1, 0], n_jobs)


def test_bad_counts_of_threads_are_refused():
    with pytest.raises(InputError, match="n_jobs must be at least -1"):
        in_threads(abs, [1], -2)
