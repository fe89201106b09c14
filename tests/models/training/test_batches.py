"""Batches: the same for the same seed and step, and grouped as the model needs."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from geodis import FactorGrid
from geodis.base.check import InputError
from geodis.distances import ground_truth
from geodis.models import (
    AE,
    TVAE,
    VAE,
    AdaGVAE,
    BetaTCVAE,
    MetricEncoder,
    TrainOptions,
    channel_moments,
    encode,
    train,
)
from geodis.models.training import batches
from geodis.models.training.dataset_rows import ordered_triplets
from tests.options import flat

stream_of = flat(batches.stream_of, TrainOptions)


@pytest.fixture(scope="module")
def numbered():
    """A 5 x 4 x 3 grid whose image says its index: batches can be read back."""
    factors = np.stack(np.unravel_index(np.arange(60), (5, 4, 3)), axis=1)
    images = np.repeat(np.arange(60, dtype=np.uint8), 4).reshape(60, 2, 2)
    return FactorGrid.from_arrays(images, factors)


def indices(drawn):
    return (255 * drawn.x[:, 0, 0, 0]).round().long().numpy()


def test_a_batch_depends_on_seed_and_step_alone(numbered):
    for model in (VAE(numbered, 2), AdaGVAE(numbered, 2), TVAE(numbered, 2)):
        draw, size = stream_of(model, numbered, batch_size=12)
        again, _ = stream_of(model, numbered, batch_size=12)
        assert size == 60
        again(3, 6)  # another order of calls
        assert torch.equal(draw(3, 7).x, again(3, 7).x)
        assert not torch.equal(draw(3, 7).x, draw(3, 8).x)
        assert not torch.equal(draw(3, 7).x, draw(4, 7).x)


def test_rows_are_drawn_evenly(numbered):
    draw, _ = stream_of(AE(numbered, 2), numbered, batch_size=6000)
    counts = np.bincount(indices(draw(0, 0)), minlength=60)
    assert counts.min() > 50 and counts.max() < 150


def test_pairs_differ_in_one_to_all_factors_alike(numbered):
    draw, _ = stream_of(AdaGVAE(numbered, 2), numbered, batch_size=3000)
    first, second = np.split(numbered.factors(indices(draw(0, 0))), 2)
    differing = np.bincount((first != second).sum(axis=1), minlength=4)
    assert differing[0] == 0
    np.testing.assert_allclose(differing[1:] / 3000, 1 / 3, atol=0.05)


@pytest.mark.parametrize(("supervision", "sizes"), [("scaled", (5, 4, 3)), ("factors", None)])
def test_positives_are_nearer_than_negatives(numbered, supervision, sizes):
    draw, _ = stream_of(TVAE(numbered, 2), numbered, batch_size=500, supervision=supervision)
    a, p, n = np.split(numbered.factors(indices(draw(0, 0))), 3)
    assert (ground_truth(a, p, sizes) < ground_truth(a, n, sizes)).all()


def test_triplets_by_the_number_of_differing_factors_and_by_a_category(numbered):
    draw, _ = stream_of(TVAE(numbered, 2), numbered, batch_size=200, supervision="differing")
    a, p, n = np.split(numbered.factors(indices(draw(0, 0))), 3)
    assert ((a != p).sum(axis=1) < (a != n).sum(axis=1)).all()
    options = {"batch_size": 200, "supervision": "category", "category": 1}
    draw, _ = stream_of(TVAE(numbered, 2), numbered, **options)
    a, p, n = np.split(numbered.factors(indices(draw(0, 0))), 3)
    assert (a[:, 1] == p[:, 1]).all() and (a[:, 1] != n[:, 1]).all()
    for choices in ({"supervision": "category"}, {"category": 1}):
        with pytest.raises(InputError, match="category must be given with supervision='category'"):
            TrainOptions(**choices)


def test_triplets_by_perceived_distance_need_no_factors(numbered):
    model = TVAE(numbered, 2)
    images = numbered.images(range(60))
    for data in (numbered, images, torch.from_numpy(images).permute(0, 3, 1, 2)):
        draw, _ = stream_of(model, data, batch_size=40, supervision="perceived")
        a, p, n = draw(0, 0).x.chunk(3)
        assert len(a) == 40
        near, far = ((a - other).square().mean(dim=(1, 2, 3)) for other in (p, n))
        assert (near <= far).all() and (near < far).any()


def test_triplets_by_perceived_distance_follow_the_loss():
    x = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    rng = np.random.default_rng(0)

    def first_column(a, b):
        return (a[:, 0] - b[:, 0]).abs()

    a, p, n = ordered_triplets(x, rng, first_column).chunk(3)
    assert p[a[:, 0].argmin()].tolist() in ([0.0, 1.0], [0.0, 0.0])
    assert (first_column(a, p) <= first_column(a, n)).all()


def test_neighbours_on_a_grid_are_a_step_of_one_factor_apart(numbered):
    model = MetricEncoder((4,), 2, learn_from="neighbours")
    model.shape = (1, 2, 2)
    draw, _ = stream_of(model, numbered, batch_size=300)
    first, second = np.split(numbered.factors(indices(draw(0, 0))), 2)
    assert (np.abs(first - second).sum(axis=1) == 1).all()
    moved = np.bincount(np.abs(first - second).argmax(axis=1))
    assert len(moved) == 3 and moved.min() > 60


def test_labels_of_a_grid_are_its_factors_from_minus_one_to_one(numbered):
    model = MetricEncoder((4,), 2)
    model.shape = (1, 2, 2)
    draw, _ = stream_of(model, numbered, batch_size=200)
    drawn = draw(0, 0)
    expected = 2 * numbered.factors(indices(drawn)) / np.array([4, 3, 2]) - 1
    np.testing.assert_allclose(drawn.labels, expected, rtol=1e-6)


def test_parts_of_a_tuple_keep_their_rows():
    x = torch.arange(20.0)[:, None]
    draw, size = stream_of(AdaGVAE((1,), 2), (x, 100 + x), batch_size=8)
    first, second = draw(0, 0).x.chunk(2)
    assert size == 20 and torch.equal(second, 100 + first)
    draw, _ = stream_of(TVAE((1,), 2), (x, 100 + x, 200 + x), batch_size=8)
    first, second, third = draw(0, 0).x.chunk(3)
    assert torch.equal(second, 100 + first) and torch.equal(third, 200 + first)
    draw, _ = stream_of(MetricEncoder((1,), 2), (x, -x.numpy()), batch_size=8)
    drawn = draw(0, 0)
    assert torch.equal(drawn.labels, -drawn.x)


def test_labels_are_factors_of_any_kind():
    x, size = torch.rand(6, 3), ["low", "high", "low", "high", "middle", "low"]
    ordered = pd.Categorical(size, categories=["low", "middle", "high"], ordered=True)
    model = MetricEncoder((3,), 2)
    for labels in (
        pd.DataFrame({"size": ordered, "y": range(6)}),
        np.array([*zip(ordered.codes, range(6), strict=True)], dtype=[("size", "i4"), ("y", "f8")]),
    ):
        draw, _ = stream_of(model, (x, labels), batch_size=50)
        drawn = draw(0, 0)
        rows = (drawn.x[:, None] == x).all(2).int().argmax(1)
        expected = np.column_stack([ordered.codes, range(6)])[rows]
        np.testing.assert_array_equal(drawn.labels, expected)
    with pytest.raises(InputError, match="labels without an order in size"):
        stream_of(model, (x, pd.DataFrame({"size": size})), batch_size=5)


def test_a_loader_gives_its_own_batches(numbered):
    loader = DataLoader(numbered, batch_size=7)  # in order, the last one short
    draw, size = stream_of(AE(numbered, 2), loader, batch_size=99)
    drawn = np.concatenate([indices(draw(0, step)) for step in range(9)])
    assert size == 60 and drawn.tolist() == list(range(60))
    assert len(draw(0, 9).x) == 7  # and from the beginning again


def test_a_loader_need_not_know_its_length():
    class Endless(IterableDataset):
        def __iter__(self):
            yield from torch.eye(3)

    draw, size = stream_of(BetaTCVAE((3,), 2), DataLoader(Endless(), batch_size=3), batch_size=1)
    assert size == 1 and torch.equal(draw(0, 0).x, torch.eye(3))


def test_images_of_floats_are_not_rounded_to_bytes():
    factors = [[a, b] for a in range(3) for b in range(2)]
    images = np.random.default_rng(0).random((6, 2, 2), dtype=np.float32)
    grid = FactorGrid.from_arrays(images, factors)
    draw, _ = stream_of(AE(grid, 2), grid, batch_size=30)
    gaps = np.abs(draw(0, 0).x.numpy() - images[:, None, None]).max(axis=(2, 3, 4))
    assert (gaps.min(axis=0) == 0).all()  # every row is one of the images
    model = AE(grid, 2)
    np.testing.assert_array_equal(encode(model, grid), encode(model, images))
    assert channel_moments(grid) == channel_moments(images[..., None])


def test_a_loader_may_give_pairs_and_labels():
    x = torch.arange(12.0)[:, None]
    draw, _ = stream_of(
        AdaGVAE((1,), 2), DataLoader(TensorDataset(x, -x), batch_size=4), batch_size=1
    )
    assert draw(0, 0).x[:, 0].tolist() == [0, 1, 2, 3, 0, -1, -2, -3]
    draw, _ = stream_of(
        MetricEncoder((1,), 2), DataLoader(TensorDataset(x, -x), batch_size=4), batch_size=1
    )
    assert torch.equal(draw(0, 0).labels, -x[:4])


X = torch.rand(6, 4)


@pytest.mark.parametrize(
    ("model", "data", "supervision", "message"),
    [
        (TVAE((4,), 2), X, "scaled", "Triplets need factors or members: .* got one array"),
        (TVAE((4,), 2), X, "scaled", "triplets by perceived distance need neither"),
        (AdaGVAE((4,), 2), X, "scaled", r"Pairs need factors .* FactorGrid.from_arrays\(images"),
        (AdaGVAE((4,), 2), (X, X, X), "scaled", "tuple of 2 arrays; got a tuple of 3 parts"),
        (AdaGVAE((4,), 2), (X, X[:3]), "scaled", r"as many rows in every part; got \[3, 6\]"),
        (VAE((4,), 2), (X, X), "scaled", "VAE takes one array of rows; got a tuple of 2 parts"),
        (MetricEncoder((4,), 2), X, "scaled", r"pass \(images, labels\) or a FactorGrid; got one"),
        (VAE((4,), 2), torch.rand(6, 5), "scaled", r"rows of shape \(4,\).*rows of shape \(5,\)"),
        (VAE((4,), 2), X[:0], "scaled", "at least one row; got none"),
        (VAE((4,), 2), np.full((5, 4), np.nan), "scaled", "data must be finite; got NaN in 20"),
        (VAE((4,), 2), np.full((5, 4), "a"), "scaled", "data must hold numbers; got dtype <U1"),
        (
            TVAE((4,), 2),
            DataLoader(TensorDataset(X), batch_size=3),
            "scaled",
            "Triplets need .* got a DataLoader of 1 parts",
        ),
        (
            MetricEncoder((4,), 2),
            DataLoader(TensorDataset(X), batch_size=3),
            "scaled",
            "the DataLoader must give both",
        ),
        (VAE((4,), 2), DataLoader(TensorDataset(X[:0])), "scaled", "it gave none"),
        (TVAE((4,), 2), X[:2], "perceived", "batches of at least 3 rows; got 2"),
    ],
)
def test_bad_data_is_said_in_one_sentence(model, data, supervision, message):
    with pytest.raises(InputError, match=message):
        stream_of(model, data, batch_size=2, supervision=supervision)[0](0, 0)


# Datasets of torch


class Numbers(torch.utils.data.Dataset):
    """Row i says i; with a label, as those of torchvision."""

    def __init__(self, n=30, labels=True):
        self.n, self.labels = n, labels

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        x = torch.full((4,), float(i))  # no IndexError: whoever iterates it never ends
        return (x, i % 3) if self.labels else x


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(torch.arange(40.0).reshape(10, 4))


@pytest.mark.parametrize("labels", [True, False])
def test_a_dataset_gives_rows_at_places_that_seed_and_step_say(labels):
    draw, size = stream_of(AE((4,), 2), Numbers(labels=labels), batch_size=50)
    first = draw(0, 7).x
    assert size == 30 and first.shape == (50, 4) and set(first[:, 0].tolist()) <= set(range(30))
    assert torch.equal(draw(0, 7).x, first) and not torch.equal(draw(0, 8).x, first)
    rows = torch.arange(30.0)[:, None].expand(30, 4)
    same, _ = stream_of(AE((4,), 2), rows, batch_size=50)
    assert torch.equal(same(0, 7).x, first)  # the batches of the same rows in an array


def test_a_dataset_trains_and_encodes_as_its_rows_do(tmp_path):
    rows = torch.rand(30, 4, generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(rows, torch.arange(30))
    models = [AE((4,), 2), AE((4,), 2)]
    for model, data in zip(models, (rows, dataset), strict=True):
        train(model, data, 5, batch_size=8, verbose=0)
    codes = encode(models[0], rows)
    loader = DataLoader(dataset, batch_size=7)
    for data in (rows, dataset, loader):
        np.testing.assert_allclose(encode(models[1], data), codes, rtol=1e-6, atol=1e-7)
    train(AE((4,), 2), dataset, 3, batch_size=8, checkpoint=tmp_path, verbose=0)
    longer = TensorDataset(torch.cat([rows, rows]), torch.arange(60))
    with pytest.raises(InputError, match="rows = 30; got 60"):
        train(AE((4,), 2), longer, 5, batch_size=8, checkpoint=tmp_path, verbose=0)


def test_datasets_of_pairs_and_of_labelled_rows():
    x = torch.arange(12.0)[:, None]
    draw, _ = stream_of(AdaGVAE((1,), 2), TensorDataset(x, -x), batch_size=5)
    first, second = draw(0, 0).x.chunk(2)
    assert torch.equal(first, -second)
    draw, _ = stream_of(MetricEncoder((1,), 2), TensorDataset(x, -x), batch_size=5)
    drawn = draw(0, 0)
    assert torch.equal(drawn.labels, -drawn.x)
    with pytest.raises(InputError, match=r"tuple of 3 arrays.*; got a Dataset of 2 parts"):
        stream_of(TVAE((1,), 2), TensorDataset(x, -x), batch_size=5)[0](0, 0)


def test_a_dataset_that_can_only_be_iterated_is_read_in_its_order():
    draw, size = stream_of(AE((4,), 2), Stream(), batch_size=4)
    assert size == 1 and draw(0, 0).x[:, 0].tolist() == [0, 4, 8, 12]
    assert encode(AE((4,), 2), Stream()).shape == (10, 2)


@pytest.mark.parametrize("labels", [True, False])
def test_no_dataset_is_iterated_for_ever(labels):
    assert encode(AE((4,), 2), Numbers(labels=labels)).shape == (30, 2)


def test_items_that_make_no_batch_get_one_sentence():
    class Odd(Numbers):
        def __getitem__(self, i):
            return torch.zeros(i)

    with pytest.raises(InputError, match="must be alike, and tensors: stack expects"):
        stream_of(AE((4,), 2), Odd(), batch_size=5)[0](0, 0)
    with pytest.raises(InputError, match="at least one row; got none"):
        stream_of(AE((4,), 2), Numbers(0), batch_size=5)
    with pytest.raises(InputError, match="at least one row; got none"):
        encode(AE((4,), 2), DataLoader(Numbers(0), batch_size=2))
