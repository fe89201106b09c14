"""Fingerprints: equal for what is equal, different for one bit, one name or one row."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from geodis import FactorGrid, XYSquares
from geodis.data import NoisyVariant
from geodis.models.training import run_identity
from geodis.models.training.run_identity import (
    courses,
    data_fingerprint,
    described,
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
    short = torch.from_numpy(rows).bfloat16()  # numpy has no such numbers
    assert data_fingerprint(short) != data_fingerprint(short + 1)


def course(plan, horizon):
    return courses({"beta": plan}, horizon)["schedule of beta"]


def test_a_schedule_is_evaluated_at_the_steps_of_its_horizon():
    for horizon, part in ((300, 0.501), (10**6, 0.501)):
        of = [course(lambda done, p=p: done > p, horizon) for p in (part, part + 0.008)]
        assert of[0] != of[1]
    seen = []

    def plan(part):
        seen.append(part)
        return 1.0

    course(plan, 5)
    assert seen[:5] == [0, 0.25, 0.5, 0.75, 1]


class Emptied(IterableDataset):
    """Its own iterator, of which every item comes once."""

    def __init__(self, rows):
        self.left = list(rows)

    def __iter__(self):
        return self

    def __next__(self):
        return self.left.pop()


def test_a_stream_that_comes_once_is_not_read():
    emptied = Emptied(range(3))
    assert data_fingerprint(emptied) == data_fingerprint(Emptied([])) and len(emptied.left) == 3


def test_large_data_are_looked_at_from_end_to_end(monkeypatch):
    monkeypatch.setattr(run_identity, "MOST_BYTES", 4 * 8 * 10)
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
    monkeypatch.setattr(run_identity, "MOST_BYTES", 4 * 100)
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


class Own(Rows):
    """Rows with random numbers of its own, which no seed of torch, numpy or Python determines."""

    def __init__(self, rows):
        super().__init__(rows)
        self.rng = np.random.default_rng()

    def __getitem__(self, place):
        return self.rows[place] + self.rng.random(), place


class Stream(IterableDataset):
    """Rows without places, changed at random."""

    def __init__(self, rows):
        self.held = rows

    def __iter__(self):
        return (row + torch.rand(4) for row in self.held)


class Counted(Rows):
    """Counts how often it is asked, and keeps what it gave."""

    def __init__(self, rows):
        super().__init__(rows)
        self.asked, self.kept = 0, {}

    def __getitem__(self, place):
        self.asked += 1
        self.kept[place] = self.rows[place]
        return self.kept[place]


ROWS = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))


DATASETS = {
    "tensors": lambda rows: TensorDataset(rows, rows),
    "rows": Rows,
    "part": lambda rows: Subset(TensorDataset(rows), range(5, 25)),
    "shaken": Shaken,
    "random numbers of its own": Own,
    "stream": Stream,
    "counted": Counted,
}


@pytest.mark.parametrize("around", [lambda data: data, lambda data: DataLoader(data, 8)])
@pytest.mark.parametrize("kind", DATASETS)
def test_datasets_differ_by_what_is_in_them(kind, around):
    make = DATASETS[kind]
    data = around(make(ROWS))
    own = data_fingerprint(data)
    assert own == data_fingerprint(data) == data_fingerprint(around(make(ROWS.clone())))
    assert data_fingerprint(around(make(ROWS + 1e-3))) != own


def test_a_subset_differs_by_each_of_its_places():
    places = list(range(0, 40, 2))
    parts = [Subset(Rows(ROWS), [0, place, *places[2:]]) for place in (2, 3)]
    assert data_fingerprint(parts[0]) != data_fingerprint(parts[1])


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


def test_samplers_differ_by_what_they_were_given():
    data = TensorDataset(ROWS)
    samplers = [
        WeightedRandomSampler([1.0] * 40, 40),
        WeightedRandomSampler([2.0, *[1.0] * 39], 40),
        SubsetRandomSampler([0, 1]),
        SubsetRandomSampler([0, 2]),
        RandomSampler(data, generator=torch.Generator().manual_seed(0)),
        RandomSampler(data, generator=torch.Generator().manual_seed(1)),
    ]
    told = {data_fingerprint(DataLoader(data, 8, sampler=each)) for each in samplers}
    assert len(told) == len(samplers)


def test_objects_are_known_by_their_names_and_what_they_were_given():
    class Blur:
        def __init__(self, width):
            self.width, self.calls = width, 0

        def __call__(self):
            self.calls += 1

    blur = Blur(2)
    own = described(blur)
    blur()
    assert described(blur) == own == described(Blur(2)) != described(Blur(3))
    assert described(blur.__call__).endswith(f"Blur.__call__ of {own}")
    assert described({"folder": "/data/images"}) == described({"folder": "/elsewhere"})
    assert described({2, 1}) == described({1, 2}) != described({1, 3})
    assert described(np.float64(0.5)) == described(0.5)
    blur.width = [blur]  # which has no end
    assert described(blur).endswith("Blur({'width': [itself]})")
    tables = [pd.DataFrame({"x": [1, 2], "name": ["a", last]}) for last in "bc"]
    assert described(tables[0]) == described(tables[0].copy()) != described(tables[1])


def test_a_line_and_the_function_that_draws_it_are_one_schedule():
    def line(part):
        return 2 + 2 * part

    assert course(line, 101) == course(lambda part: 4 * part + 2 * (1 - part), 101)
    assert course(line, 101).startswith("2.0 to 4.0, ")
    bent = course(lambda part: 2 + 2 * part**2, 101)
    assert bent.startswith("2.0 to 4.0, ") and bent != course(line, 101)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_rows_have_one_too(n):
    assert data_fingerprint(np.zeros((n, 2))) == data_fingerprint(np.zeros((n, 2)))
