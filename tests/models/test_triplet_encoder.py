"""Triplets without a decoder, and without noise."""

import numpy as np
import pytest
import torch

from geodis import XYSquares
from geodis.base.check import InputError
from geodis.models import AdaTAE, TrainOptions, TripletEncoder, decode, encode, objectives, train
from geodis.models.terms import adaptive_triplet_loss, triplet_loss


def test_the_triplet_loss_is_all_there_is():
    model = TripletEncoder((6,), 3, p=2, hard=False)
    x = torch.rand(9, 6)
    terms = model.terms(model(x))
    assert list(terms) == ["triplet"]
    torch.testing.assert_close(terms["triplet"], triplet_loss(*model.body(x).chunk(3), p=2).mean())
    with pytest.raises(InputError, match="TripletEncoder has no decoder"):
        decode(model, np.zeros((1, 3)))


def test_distances_follow_the_factors():
    grid = XYSquares(n_squares=1, grid_size=6, spacing=2, square_size=4, image_size=16, rgb=False)
    factors, agree = grid.factors(range(len(grid))), []
    for seed in range(4):
        model = TripletEncoder(grid, 4, network="vector", random_state=seed)
        train(model, grid, 150, batch_size=64, verbose=0, random_state=seed)
        codes = encode(model, grid)
        pairs = np.random.default_rng(seed).integers(len(grid), size=(2, 2000))
        apart = [np.abs(each[pairs[0]] - each[pairs[1]]).sum(axis=1) for each in (codes, factors)]
        agree.append(np.corrcoef(*apart)[0, 1])
    assert np.median(agree) > 0.95  # some runs stop at one of the two factors


def test_perceived_triplets_need_no_factors():
    done = train(
        TripletEncoder((5,), 2),
        torch.rand(60, 5),
        5,
        batch_size=20,
        options=TrainOptions(supervision="perceived"),
        verbose=0,
    )
    assert done.steps == 5


def test_ada_tae_shares_codes_by_their_differences():
    model = AdaTAE((6,), 5, shared_weight=0.2, scale=2.0)
    x = torch.rand(9, 6)
    batch = model(x)
    assert torch.equal(batch.z, batch.mean)
    terms = model.terms(batch)
    assert list(terms) == ["reconstruction", "adaptive_triplet"]
    expected = adaptive_triplet_loss(*batch.mean.chunk(3), margin=10.0, shared_weight=0.2).mean()
    torch.testing.assert_close(terms["adaptive_triplet"], 2 * expected)
    torch.testing.assert_close(objectives.adaptive_triplet(batch), expected)
