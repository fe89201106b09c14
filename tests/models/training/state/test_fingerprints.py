"""Fingerprints: equal for what is equal, different for one bit, one name or one row."""

import numpy as np
import pytest
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
)

from geodis import FactorGrid, XYSquares
from geodis.data import NoisyVariant
from geodis.models.training.state import fingerprints
from geodis.models.training.state.fingerprints import (
    course_fingerprint,
    data_fingerprint,
    former_data_fingerprint,
    items_fingerprint,
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


def test_tensors_are_told_as_arrays_of_their_values():
    rows = np.random.default_rng(0).random((20, 3), dtype=np.float32)
    images = np.random.default_rng(0).random((5, 4, 4, 3), dtype=np.float32)
    channels_first = torch.from_numpy(images).movedim(-1, 1)
    assert data_fingerprint(torch.from_numpy(rows)) == data_fingerprint(rows)
    assert data_fingerprint(channels_first) == data_fingerprint(images)
    assert data_fingerprint(channels_first) != data_fingerprint(channels_first.movedim(-1, 1))
    assert former_data_fingerprint(torch.from_numpy(rows)) != data_fingerprint(rows)
    assert former_data_fingerprint(rows) == data_fingerprint(rows)
    short = torch.from_numpy(rows).bfloat16()  # numpy has no such numbers
    assert data_fingerprint(short) != data_fingerprint(short + 1)


def test_a_schedule_is_looked_at_at_the_steps_of_its_horizon():
    for horizon, part in ((300, 0.501), (10**6, 0.501)):
        of = [course_fingerprint(lambda done, p=p: done > p, horizon) for p in (part, part + 0.008)]
        assert of[0] != of[1]
    looked = []

    def plan(part):
        looked.append(part)
        return 1.0

    course_fingerprint(plan, 5)
    assert looked == [0, 0.25, 0.5, 0.75, 1]
    assert course_fingerprint(lambda part: part, 1) == course_fingerprint(lambda part: 0.0, 1)


class Streamed(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        yield from (float(row) + float(torch.rand(())) for row in self.rows)


class Emptied(Streamed):
    """Its own iterator, of which every item comes once."""

    def __init__(self, rows):
        self.left = list(rows)

    def __iter__(self):
        return self

    def __next__(self):
        return self.left.pop()


def test_items_are_told_under_a_seed_and_a_stream_by_its_first():
    own = items_fingerprint(Streamed(range(30)))
    assert own == items_fingerprint(DataLoader(Streamed(range(30)), 4)) != ""
    assert own == items_fingerprint(Streamed(range(16))) != items_fingerprint(Streamed(range(15)))
    emptied = Emptied(range(3))
    assert items_fingerprint(emptied) == items_fingerprint(Emptied([])) and len(emptied.left) == 3
    for other in (
        np.ones(3),
        TensorDataset(torch.ones(3)),
        DataLoader(TensorDataset(torch.ones(3))),
    ):
        assert items_fingerprint(other) == ""


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


def test_grids_that_hold_their_images_are_looked_at_as_arrays_are(monkeypatch):
    images = np.random.default_rng(0).integers(0, 255, (1000, 2, 2), dtype=np.uint8)
    factors = np.stack(np.unravel_index(np.arange(1000), (10, 100)), axis=1)
    own = data_fingerprint(FactorGrid.from_arrays(images, factors))
    for row in (0, 1, 500, 998, 999):
        changed = images.copy()
        changed[row, 1, 1] += 1
        assert data_fingerprint(FactorGrid.from_arrays(changed, factors)) != own
    monkeypatch.setattr(fingerprints, "MOST_BYTES", 4 * 100)
    own = data_fingerprint(FactorGrid.from_arrays(images, factors))
    changed = images.copy()
    changed[999] += 1
    assert data_fingerprint(FactorGrid.from_arrays(changed, factors)) != own


def test_incomplete_grids_differ_by_any_factor():
    factors = np.stack(np.unravel_index(np.arange(2000), (20, 100)), axis=1)[:-1]
    changed = factors.copy()
    changed[3] = changed[4]
    grids = [FactorGrid.from_arrays(None, each, sizes=(20, 100)) for each in (factors, changed)]
    assert data_fingerprint(grids[0]) != data_fingerprint(grids[1])


class Lit(FactorGrid):
    """Draws images of a level of light, of which only one differs."""

    def __init__(self, level, n=2000):
        super().__init__((n,), image_shape=(2, 2, 1))
        self.level, self.drawn = level, 0

    def _draw(self, index):
        self.drawn += len(index)
        images = np.zeros((len(index), 2, 2, 1), np.uint8)
        images[index == 1] = self.level
        return images


class Dimmed(Lit):
    """Another class that draws the same."""


def test_grids_that_draw_differ_by_their_settings_and_their_class():
    grid = Lit(3)
    own = data_fingerprint(grid)
    assert grid.drawn == 256
    assert data_fingerprint(grid) == data_fingerprint(Lit(3)) == own  # what it counts is no setting
    assert len({own, *map(data_fingerprint, (Lit(4), Dimmed(3), Lit(3, 2001)))}) == 4
    assert data_fingerprint(NoisyVariant(XYSquares(n_squares=1), 0)) == data_fingerprint(
        NoisyVariant(XYSquares(n_squares=1), 0)
    )
    # The grid whose images it takes counts as well, as a whole.
    images = np.full((1000, 2, 2), 9, np.uint8)
    changed = images.copy()
    changed[1] = 0
    below = [FactorGrid.from_arrays(each, np.arange(1000)[:, None]) for each in (images, changed)]
    noisy = [data_fingerprint(NoisyVariant(each, 0)) for each in below]
    assert noisy[0] != noisy[1]


class Rows(Dataset):
    """Rows of an array, as a Dataset that says nothing of how it holds them."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place], place


class Shaken(Rows):
    """Rows that are changed at random whenever they are asked for, and what they are called."""

    def __getitem__(self, place):
        return self.rows[place] + torch.rand(4), place


class Stream(IterableDataset):
    """Rows without places."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


class OtherStream(Stream):
    """As the other."""


ROWS = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("around", [lambda data: data, lambda data: DataLoader(data, 8)])
def test_datasets_differ_by_what_is_in_them(around):
    own = {
        "tensors": TensorDataset(ROWS, ROWS),
        "rows": Rows(ROWS),
        "part": Subset(TensorDataset(ROWS), range(5, 25)),
        "shaken": Shaken(ROWS),
        "stream": Stream(ROWS),
    }
    others = {
        "tensors": TensorDataset(ROWS, ROWS + 1e-6 * (torch.arange(40) == 17)[:, None]),
        "rows": Rows(ROWS + 1e-6),
        "part": Subset(TensorDataset(ROWS), range(6, 26)),
        "shaken": Shaken(ROWS[:39]),
        "stream": OtherStream(ROWS),
    }
    told = {name: data_fingerprint(around(data)) for name, data in own.items()}
    assert {name: data_fingerprint(around(data)) for name, data in own.items()} == told
    differing = {data_fingerprint(around(data)) for data in others.values()}
    assert len({*told.values(), *differing}) == 10
    # Of these no more can be known.
    assert data_fingerprint(around(Shaken(ROWS + 1))) == told["shaken"]
    assert data_fingerprint(around(Stream(ROWS + 1))) == told["stream"]


def first_of(rows):
    return torch.stack([row[0] for row in rows])


def last_of(rows):
    return torch.stack([row[-1] for row in rows])


def test_loaders_differ_by_how_they_make_batches():
    data = TensorDataset(ROWS)
    loaders = [
        DataLoader(data, 8),
        DataLoader(data, 7),
        DataLoader(data, 8, shuffle=True),
        DataLoader(data, 8, drop_last=True),
        DataLoader(data, 8, collate_fn=first_of),
        DataLoader(data, 8, collate_fn=last_of),
        DataLoader(ROWS.tolist(), 8),
        DataLoader(XYSquares(n_squares=1), 8),
    ]
    told = [data_fingerprint(loader) for loader in loaders]
    assert len(set(told)) == len(loaders)
    assert data_fingerprint(DataLoader(data, 8, num_workers=2)) == told[0]
    assert data_fingerprint(DataLoader(data, 8, sampler=SequentialSampler(data))) == told[0]


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
