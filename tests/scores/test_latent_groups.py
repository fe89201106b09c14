"""Groups of latents: given by number and name, or found."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.scores.groups import read_latent_groups

CODE = np.arange(12.0).reshape(3, 4)


def test_groups_given():
    alone = read_latent_groups(CODE)
    assert alone.names == ("0", "1", "2", "3") and [b.shape for b in alone.blocks] == [(3, 1)] * 4
    sets = read_latent_groups(pd.DataFrame(CODE, columns=list("abcd")), [["d", "a"], [1]])
    assert sets.names == ("d, a", "b", "c")
    assert np.array_equal(sets.blocks[0], CODE[:, [3, 0]])
    assert np.array_equal(sets.take(np.array([2, 0])).blocks[1], CODE[[2, 0], 1:2])
    assert read_latent_groups(None, sets) is sets


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (3, "groups must be lists of latents, or a fitted GeoManCER; got 3"),
        ([0, 1], "A group must be a list of latents; got 0"),
        ([[]], "A group must have a latent; got none"),
        ([[0, 4]], "must name latents, or number them from 0 to 3; got 4"),
        ([["x"]], "got 'x'"),
        ([[0], [1, 0]], "in one group, once; got 0 again"),
    ],
)
def test_groups_that_cannot_be(groups, message):
    with pytest.raises(InputError, match=message):
        read_latent_groups(CODE, groups)


@pytest.fixture(scope="module")
def fit():
    sample = gd.product_manifold("S^2 x S^2", n=800, random_state=0)
    return sample, gd.GeoManCER(verbose=0).fit(sample.points)


def test_groups_found(fit):
    sample, est = fit
    sets = read_latent_groups(sample.points, est)
    assert len(sets) == 2 and sets.found is not None
    assert sets.note == "groups found: 2, of dimensions 2, 2"
    # Each group says one of the two spheres, whole, and nothing of the other.
    told = np.zeros((2, 2))
    for g, block in enumerate(sets.blocks):
        seen = np.column_stack([np.ones(len(block)), block])
        for j, sphere in enumerate((sample.points[:, :3], sample.points[:, 3:])):
            left = sphere - seen @ np.linalg.lstsq(seen, sphere, rcond=None)[0]
            told[g, j] = 1 - (left**2).sum() / ((sphere - sphere.mean(axis=0)) ** 2).sum()
    assert (told.max(axis=1) > 0.97).all() and (told.min(axis=1) < 0.05).all()
    assert sorted(told.argmax(axis=1).tolist()) == [0, 1]
    half = sets.take(np.arange(400))
    assert half.found is not None and half.found.points.shape == (400, 6)
    with pytest.raises(InputError, match=r"fitted to these latents, of shape \(3, 4\); got a fit"):
        read_latent_groups(CODE, est)
    assert len(read_latent_groups(sample.points.astype(np.float32), est)) == 2
    with pytest.raises(InputError, match="a fit of points that differ in 800 of 800 rows"):
        read_latent_groups(sample.points[::-1], est)
    with pytest.raises(InputError, match="groups must be fitted"):
        read_latent_groups(CODE, gd.GeoManCER())
    older = SimpleNamespace(axes_=est.axes_, subspace=est.subspace)
    with pytest.raises(InputError, match="with coordinates of its factors; got one of an older"):
        read_latent_groups(sample.points, older)
