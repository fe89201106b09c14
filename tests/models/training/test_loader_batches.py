"""A run on a DataLoader that goes on equals one of that length, or says why it does not."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    TensorDataset,
    WeightedRandomSampler,
)

from geodis.models import VAE, train

ROWS = torch.rand(44, 4, generator=torch.Generator().manual_seed(0))  # six batches, the last short
LOADED = TensorDataset(ROWS)


class Noisy(Dataset):
    def __len__(self):
        return len(ROWS)

    def __getitem__(self, place):
        noise = torch.rand(4) + random.random() + np.random.rand()
        return (ROWS[place] + noise).float()


class Shuffled(Sampler):
    """An order by numpy."""

    def __len__(self):
        return len(ROWS)

    def __iter__(self):
        yield from np.random.permutation(len(ROWS)).tolist()


class Streamed(IterableDataset):
    def __iter__(self):
        yield from ROWS


class Counted(Streamed):
    def __len__(self):
        return len(ROWS)


LOADERS = {
    "in order": lambda: DataLoader(LOADED, 8),
    "shuffled": lambda: DataLoader(LOADED, 8, shuffle=True),
    "drop_last": lambda: DataLoader(LOADED, 8, shuffle=True, drop_last=True),
    "noisy": lambda: DataLoader(Noisy(), 8, shuffle=True),
    "weighted": lambda: DataLoader(LOADED, 8, sampler=WeightedRandomSampler(ROWS[:, 0], 40)),
    "by numpy": lambda: DataLoader(LOADED, 8, sampler=Shuffled()),
    "batches of one's own": lambda: DataLoader(
        LOADED, batch_sampler=BatchSampler(RandomSampler(LOADED), 9, drop_last=False)
    ),
    "workers": lambda: DataLoader(Noisy(), 8, shuffle=True, num_workers=1),
    "counted stream": lambda: DataLoader(Counted(), 8),
    "counted Dataset": Counted,
}


def run(data, steps, folder=None):
    model = VAE((4,), 2)
    return model, train(model, data, steps, batch_size=8, checkpoint=folder, verbose=0)


def same_weights(model, other):
    return all(map(torch.equal, model.state_dict().values(), other.state_dict().values()))


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind == "workers")) for kind in LOADERS]
)
def test_a_run_that_goes_on_equals_one_of_that_length(kind, tmp_path):
    whole, wanted = run(LOADERS[kind](), 20)
    for steps in (3, 8, 12, 20):  # within an epoch, and at its end
        model, done = run(LOADERS[kind](), steps, tmp_path)
    assert same_weights(model, whole) and not done.note
    assert done.history == wanted.history


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Streamed(), "they are of no known number"),
        (lambda: DataLoader(Streamed(), 8), "they are of no known number"),
        (
            lambda: DataLoader(LOADED, 8, shuffle=True, generator=torch.Generator()),
            "the DataLoader has a generator of its own",
        ),
        (
            lambda: DataLoader(
                LOADED,
                batch_sampler=BatchSampler(
                    RandomSampler(LOADED, generator=torch.Generator()), 8, drop_last=True
                ),
            ),
            "the DataLoader has a generator of its own",
        ),
        (
            lambda: DataLoader(LOADED, 8, num_workers=1, persistent_workers=True),
            "workers of the DataLoader stay from epoch to epoch",
        ),
    ],
)
def test_batches_that_begin_anew_are_said(make, why, tmp_path):
    assert not run(make(), 3, tmp_path)[1].note
    assert run(make(), 8, tmp_path)[1].note == f"batches begin anew at step 3: {why}"
    assert not run(make(), 8, tmp_path)[1].note  # nothing was left to do
