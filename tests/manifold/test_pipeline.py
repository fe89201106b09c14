"""How many fields are computed for the factors that are wanted."""

from types import SimpleNamespace

import pytest

from geodis.manifold import pipeline
from geodis.manifold.split_result import Task


@pytest.mark.parametrize("n_factors", [2, 8, 12])
def test_beside_the_wanted_fields_another_is_there_to_compare_with(n_factors, monkeypatch):
    calls = []

    def none_is_parallel(laplacian, **options):
        calls.append(options)
        return SimpleNamespace(n_parallel=0, top=2.0)

    monkeypatch.setattr(pipeline, "bottom_eigenfields", none_is_parallel)
    laplacian = SimpleNamespace(k=15, graph=SimpleNamespace(n_points=1000))
    pipeline._enough_fields(laplacian, None, None, Task(n_factors=n_factors))
    assert calls[-1]["n_wanted"] == n_factors - 1
    assert calls[-1]["n_fields"] >= n_factors
