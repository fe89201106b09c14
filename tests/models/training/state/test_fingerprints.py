"""Fingerprints: equal for what is equal, different for one bit, one name or one row."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from geodis import FactorGrid
from geodis.models.training.state import fingerprints
from geodis.models.training.state.fingerprints import (
    data_fingerprint,
    plan_fingerprint,
    weights_fingerprint,
)


def test_weights_differ_by_one_bit_by_a_name_and_by_a_shape():
    own = {"a": torch.zeros(2, 3), "b": torch.ones(2, dtype=torch.bfloat16), "c": torch.tensor(1)}
    print_of = weights_fingerprint(own)
    assert weights_fingerprint(dict(reversed(own.items()))) == print_of
    strided = {**own, "a": torch.zeros(3, 2).T}
    assert weights_fingerprint(strided) == print_of
    for other in (
        {**own, "a": torch.nextafter(torch.zeros(2, 3), torch.ones(1))},
        {**own, "a": torch.zeros(3, 2)},
        {"x": own["a"], "b": own["b"], "c": own["c"]},
        {**own, "c": torch.tensor(2)},
    ):
        assert weights_fingerprint(other) != print_of


def test_data_differ_by_one_entry_whatever_holds_them():
    rows = np.random.default_rng(0).random((20, 3))
    changed = rows.copy()
    changed[11, 2] += 1e-9
    for make in (np.asarray, torch.from_numpy, lambda x: (x, x[:, 0]), lambda x: x.tolist()):
        assert data_fingerprint(make(rows.copy())) == data_fingerprint(make(rows))
        assert data_fingerprint(make(changed)) != data_fingerprint(make(rows))
    words = np.array([["red"], ["blue"]], dtype=object)
    assert data_fingerprint((rows[:2], words)) != data_fingerprint((rows[:2], words[::-1]))


def test_large_data_are_looked_at_from_end_to_end(monkeypatch):
    monkeypatch.setattr(fingerprints, "MOST_BYTES", 4 * 8 * 10)
    rows = np.zeros((1000, 4))
    for row in (0, 999):
        changed = rows.copy()
        changed[row] = 1
        assert data_fingerprint(changed) != data_fingerprint(rows)
    assert data_fingerprint(rows[:999]) != data_fingerprint(rows)


def test_grids_differ_by_an_image_a_factor_and_a_size():
    images = np.random.default_rng(0).integers(0, 255, (6, 4, 4), dtype=np.uint8)
    factors = np.stack(np.unravel_index(np.arange(6), (2, 3)), axis=1)

    def grid(images=images, factors=factors, **more):
        return FactorGrid.from_arrays(images, factors, **more)

    own = data_fingerprint(grid())
    assert data_fingerprint(grid()) == own
    assert data_fingerprint(grid(images=images[::-1])) != own
    assert data_fingerprint(grid(factors=factors[:, ::-1])) != own
    assert data_fingerprint(grid(sizes=(2, 4))) != own


def test_a_loader_orders_itself_and_has_none():
    loader = DataLoader(TensorDataset(torch.zeros(4, 2)), batch_size=2)
    assert data_fingerprint(loader) is None


def test_schedules_are_told_by_their_course():
    def line(part):
        return 2 + 2 * part

    assert plan_fingerprint(line) == plan_fingerprint(lambda part: 4 * part + 2 * (1 - part))
    assert plan_fingerprint(line).startswith("2.0 to 4.0, ")
    bent = plan_fingerprint(lambda part: 2 + 2 * part**2)
    assert bent.startswith("2.0 to 4.0, ") and bent != plan_fingerprint(line)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_have_one_too(n):
    assert data_fingerprint(np.zeros((n, 2))) == data_fingerprint(np.zeros((n, 2)))
