"""Batches of Datasets: the same at random for the same seed, and one sentence on what is wrong."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from geodis.base.check import InputError
from geodis.models import AE, VAE, InfoGAN, InfoVAE, MetricEncoder, encode, train

ROWS = torch.rand(33, 4, generator=torch.Generator().manual_seed(0))


class Noisy(Dataset):
    """Rows with noise by a function."""

    def __init__(self, noise):
        self.noise = noise

    def __len__(self):
        return len(ROWS)

    def __getitem__(self, place):
        return ROWS[place] + self.noise()


NOISE = {
    "torch": lambda: torch.rand(4),
    "numpy": lambda: torch.from_numpy(np.random.rand(4)).float(),
    "python": random.random,
}


def trained(data, steps=5, **options):
    model = VAE((4,), 2)
    train(model, data, steps, batch_size=8, verbose=0, **options)
    return model


def same_weights(model, other):
    return all(map(torch.equal, model.state_dict().values(), other.state_dict().values()))


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("loader", [False, True])
def test_what_is_made_at_random_hangs_on_the_seed(kind, loader):
    rows = Noisy(NOISE[kind])
    data = DataLoader(rows, 8) if loader else rows
    first = trained(data)
    random.random(), np.random.rand(), torch.rand(1)  # the user's own
    assert same_weights(trained(data), first)
    assert not same_weights(trained(data, random_state=1), first)


@pytest.mark.parametrize("loader", [False, True])
def test_the_random_numbers_of_the_user_stay_as_they_were(loader):
    def states():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    before = states()
    rows = Noisy(lambda: sum(float(torch.as_tensor(make()).sum()) for make in NOISE.values()))
    trained(DataLoader(rows, 8, shuffle=True) if loader else rows)
    assert states() == before


class Named(Noisy):
    def __getitem__(self, place):
        return {"image": ROWS[place], "label": 1}


class Endless(Dataset):
    def __getitem__(self, place):
        return ROWS[0]


@pytest.mark.parametrize("loader", [False, True])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            Named(None),
            r"must be rows, or tuples that begin with a row, .*; got dicts of image, lab",
        ),
        (Endless(), "must say by __len__ how many items it has, .*; got Endless"),
    ],
)
def test_items_of_another_kind_get_one_sentence(data, message, loader):
    data = DataLoader(data, batch_size=8) if loader else data
    for ask in (lambda: trained(data), lambda: encode(VAE((4,), 2), data)):
        with pytest.raises(InputError, match=message):
            ask()
    with pytest.raises(InputError, match=message):
        train(MetricEncoder((4,), 2), data, 2, verbose=0)


def test_a_loader_with_places_of_its_own_needs_no_length():
    assert trained(DataLoader(Endless(), batch_sampler=[[0, 5], [7, 7]])) is not None


def normed():
    encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
    return VAE((4,), 2, encoder=encoder)


@pytest.mark.parametrize("make", [lambda: InfoVAE((4,), 2), normed])
def test_a_batch_of_one_row_is_refused_where_two_are_needed(make):
    left_over = DataLoader(TensorDataset(ROWS), batch_size=8)  # the last one has a row
    with pytest.raises(InputError, match=r"at least 2 rows .*; got 1 in batch 4: .*drop_last=True"):
        train(make(), left_over, 6, verbose=0)
    train(make(), DataLoader(TensorDataset(ROWS), batch_size=8, drop_last=True), 6, verbose=0)


def test_a_batch_of_one_image_is_refused_by_a_network_with_norms():
    images = TensorDataset(torch.rand(5, 1, 32, 32))
    with pytest.raises(InputError, match="InfoGAN must have at least 2 rows in a batch"):
        train(InfoGAN((1, 32, 32)), DataLoader(images, batch_size=4), 3, verbose=0)


@pytest.mark.parametrize("kind", [AE, VAE])
def test_a_batch_of_one_row_is_taken_where_one_is_enough(kind):
    left_over = DataLoader(TensorDataset(ROWS), batch_size=8)
    assert train(kind((4,), 2), left_over, 7, verbose=0).steps == 7
