"""Checkpoints of learning: one sentence about altered ones."""

import pytest

from geodis import XYSquares
from geodis.base.check import InputError
from geodis.base.safetensors_files import read_tensors, write_tensors
from geodis.kernels import FeatureOptions, learn_features, learn_kernel

GRID = XYSquares(spacing=4, square_size=4, image_size=16, grid_size=4, n_squares=2)


def kernel(path, steps=2, seed=None):
    return learn_kernel(
        GRID, 3, pairs=60, held_out=30, steps=steps, checkpoint=path, random_state=seed, verbose=0
    )


def features(path, steps=2, seed=None):
    few = FeatureOptions(images=12)
    return learn_features(
        GRID,
        (2, 2),
        pairs=40,
        held_out=30,
        steps=steps,
        options=few,
        checkpoint=path,
        random_state=seed,
        verbose=0,
    )


@pytest.fixture(params=[kernel, features])
def learnt(request, tmp_path):
    """A checkpoint, and the function that goes on from it."""
    path = tmp_path / "state.safetensors"
    request.param(path, seed=0)
    return path, request.param


def test_learning_goes_on_with_the_seed_of_the_checkpoint(learnt):
    path, go_on = learnt
    assert go_on(path, steps=3).made["steps"] == 3


@pytest.mark.parametrize(
    ("keys", "to", "message"),
    [
        (["rounds"], None, "is not a checkpoint of geodis"),
        (["settings"], None, "must say a whole number of at least 0 as 'seed'; got nothing"),
        (["settings", "seed"], "x", "as 'seed'; got 'x'"),
        (["settings", "alpha"], 2.0, "must have the checksum that it was written with"),
        (["rounds", "steps"], -1, "must have the checksum that it was written with"),
    ],
)
def test_an_altered_note_gets_one_sentence(keys, to, message, learnt):
    path, go_on = learnt
    tensors, note = read_tensors(path)
    entry = note
    for key in keys[:-1]:
        entry = entry[key]
    if to is None:
        del entry[keys[-1]]
    else:
        entry[keys[-1]] = to
    write_tensors(path, tensors, note)
    with pytest.raises(InputError, match=message):
        go_on(path, steps=3)


def test_altered_tensors_get_one_sentence(learnt):
    path, go_on = learnt
    tensors, note = read_tensors(path)
    name = next(iter(tensors))
    write_tensors(path, {**tensors, name: tensors[name] + 1}, note)
    with pytest.raises(InputError, match="must have the checksum that it was written with"):
        go_on(path, steps=3)
