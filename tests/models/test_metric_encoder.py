"""The metric encoder: distances from labels, from neighbours, and the roll that keeps them."""

import math

import numpy as np
import pytest
import torch

from geodis import FactorGrid
from geodis.distances import correlation
from geodis.models import MetricEncoder, encode, train
from geodis.models.gans_and_encoders import one_cycle, rolled


@pytest.fixture(scope="module")
def bumps():
    """Smooth bumps on a circle of 48 columns, from the place of their middle."""
    rng = np.random.default_rng(0)
    place = rng.uniform(0, 2 * np.pi, (1500, 2))
    columns = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    x = [np.exp(3 * np.cos(columns - place[:, k, None])) for k in range(2)]
    labels = np.concatenate([np.cos(place), np.sin(place)], axis=1)
    return (np.hstack(x) / np.exp(3)).astype(np.float32), labels.astype(np.float32), place


def agreement(codes, labels):
    """Spearman correlation of distances among neighbours, which is where they are learnt."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(len(codes), size=(2, 40_000))
    true = ((labels[a] - labels[b]) ** 2).sum(axis=1)
    near = (true < 1) & (true > 0)
    learnt = ((codes[a] - codes[b]) ** 2).sum(axis=1)
    return correlation(true[near], learnt[near]).spearman


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_distances_are_learnt_from_labels(bumps, seed):
    x, labels, _ = bumps
    model = MetricEncoder((48,), 6, random_state=seed)
    before = agreement(encode(model, x), labels)
    train(model, (x[:1000], labels[:1000]), 80, batch_size=100, verbose=0, random_state=seed)
    after = agreement(encode(model, x[1000:]), labels[1000:])
    assert after > 0.95 and after > before


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_distances_are_learnt_from_neighbours_alone(bumps, seed):
    x, labels, place = bumps
    moved = place + 0.3 * np.random.default_rng(seed).standard_normal(place.shape)
    columns = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    y = [np.exp(3 * np.cos(columns - moved[:, k, None])) / np.exp(3) for k in range(2)]
    model = MetricEncoder((48,), 6, learn_from="neighbours", kappa=1 / 0.09, random_state=seed)
    pairs = x, np.hstack(y).astype(np.float32)
    train(model, pairs, 80, batch_size=100, verbose=0, random_state=seed)
    assert agreement(encode(model, x), labels) > 0.9


def test_a_grid_of_images_teaches_both(blobs):
    images = np.kron(blobs.images(range(40))[..., 0], np.ones((1, 2, 2), dtype=np.uint8))
    grid = FactorGrid.from_arrays(images, blobs.factors(range(40)))
    for settings in ({}, {"learn_from": "neighbours", "kappa": 2.0}):
        model = MetricEncoder(grid, 5, **settings)
        done = train(model, grid, 31, batch_size=32, verbose=0)
        (term,) = set(done.history[0]) - {"step"}
        assert done.history[-1][term] < done.history[0][term]


def test_a_quarter_turn_is_exact_and_a_full_one_changes_nothing():
    images = torch.rand(2, 3, 8, 8)
    torch.testing.assert_close(rolled(images, 2 * math.pi), images, atol=1e-5, rtol=1e-5)
    turned = rolled(images, math.pi / 2)
    expected = torch.rot90(images, -1, dims=(2, 3))
    other = torch.rot90(images, 1, dims=(2, 3))
    near = [float((turned - side).abs().max()) for side in (expected, other)]
    assert min(near) < 1e-5 < max(near)


def test_a_disc_stays_itself_also_where_the_image_is_not_square():
    rows, columns = torch.meshgrid(torch.arange(32.0), torch.arange(48.0), indexing="ij")
    disc = (-((rows - 15.5) ** 2 + (columns - 23.5) ** 2) / 30).exp()[None, None]
    assert float((rolled(disc, 0.7) - disc).abs().max()) < 0.02


def test_all_images_of_a_batch_are_turned_alike(generator):
    model = MetricEncoder((1, 16, 16), 3, roll=True)
    x = torch.rand(1, 1, 16, 16).expand(4, -1, -1, -1)
    batch = model(x, labels=torch.zeros(4, 1))
    assert torch.equal(batch.x[0], batch.x[3]) and not torch.equal(batch.x[0], x[0])
    assert not torch.equal(model(x, labels=torch.zeros(4, 1)).x[0], batch.x[0])
    still = MetricEncoder((1, 16, 16), 3)
    assert torch.equal(still(x, labels=torch.zeros(4, 1)).x, x)


def test_the_learning_rate_rises_for_a_tenth_and_falls_to_nothing():
    rates = [one_cycle(part) for part in np.linspace(0, 1, 101)]
    assert np.argmax(rates) == 10 and max(rates) == pytest.approx(2e-3)
    assert (np.diff(rates[:11]) > 0).all() and (np.diff(rates[10:]) < 0).all()
    assert rates[0] == pytest.approx(8e-5) and rates[-1] < 1e-7
