import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geodis import sample_population
from geodis.base.check import InputError
from geodis.data.population import SPACES, mean_slope, read_states

EVERY = ["ring", "grid", "track", "arena", "sphere", "ring x grid", "sphere x track"]


def literal_rates(sample, peak, joint):
    """Rates state by state and cell by cell, from distances written out."""
    blocks = []
    for name, states, preferred in zip(sample.names, sample.states, sample.preferred, strict=True):
        if name == "ring":
            squared = 2 - 2 * np.cos(states - preferred.T)
        elif name == "grid":
            apart = (states[:, None] - preferred) @ np.array(
                [[1, -0.5, -0.5], [0, 0.75**0.5, -(0.75**0.5)]]
            )
            squared = 2 * (1 - np.cos(apart)).sum(axis=2)
        else:
            squared = ((states[:, None] - preferred) ** 2).sum(axis=2)
        blocks.append(-squared / (2 * SPACES[name].width ** 2))
    return peak * np.exp(sum(blocks) if joint else np.hstack(blocks))


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("spec", EVERY)
def test_rates_are_those_of_tuning_curves(spec, joint):
    sample = sample_population(spec, 40, cells=14, peak=7.0, joint=joint, random_state=1)
    assert_allclose(sample.rates, literal_rates(sample, 7.0, joint), rtol=1e-9)


@pytest.mark.parametrize("function", [None, np.sqrt])
@pytest.mark.parametrize("spec", EVERY)
def test_a_short_walk_stays_in_the_tangents(spec, function):
    sample = sample_population(spec, 30, cells=40, step=1e-5, random_state=2)
    dims = [sum(space.dim for space in read_states(name)) for name in sample.names]
    frames = np.concatenate(sample.tangents(function), axis=1)
    assert frames.shape == (30, sum(dims), 40) and sample.dim == sum(dims)
    steps = np.diff(sample.rates, axis=0)
    if function is not None:
        steps = steps * mean_slope(function, sample.rates)[:-1]
    along = np.einsum("nkc,nc->nk", np.linalg.svd(frames, full_matrices=False)[2][:-1], steps)
    assert_allclose(np.linalg.norm(along, axis=1), np.linalg.norm(steps, axis=1), rtol=1e-4)
    for own in sample.tangents(function):
        gram = own @ own.swapaxes(1, 2)
        assert_allclose(gram, np.broadcast_to(np.eye(own.shape[1]), gram.shape), atol=1e-9)


def test_mean_slopes_are_slopes_of_means():
    rates = np.array([0.3, 2.0, 30.0])
    draws = np.random.default_rng(0).poisson
    means = [np.sqrt(draws(rates + shift, (1_000_000, 3))).mean(axis=0) for shift in (-0.15, 0.15)]
    assert_allclose(mean_slope(np.sqrt, rates), (means[1] - means[0]) / 0.3, atol=0.02)


def test_counts_have_the_mean_and_the_spread_of_poisson():
    sample = sample_population("ring", 4000, cells=50, peak=20.0, random_state=3)
    left = (sample.counts - sample.rates) / np.sqrt(sample.rates)
    assert abs(left.mean()) < 0.02 and abs((left**2).mean() - 1) < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_walks_have_the_steps_that_are_asked_for(seed):
    for name, space in SPACES.items():
        sample = sample_population(name, 3000, cells=5, step=0.03, random_state=seed)
        points = space.place(sample.states[0])[0]
        unit = np.sqrt((space.place(sample.states[0])[1][0, 0] ** 2).sum())
        length = np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1) / space.dim) / unit
        assert_allclose(np.sqrt((length**2).mean()), 0.03, rtol=0.06)


def test_the_same_seed_gives_the_same_states_whatever_the_cells():
    few, many = (sample_population("sphere", 20, cells=c, random_state=4) for c in (5, 9))
    assert_array_equal(few.states[0], many.states[0])
    assert not np.array_equal(
        few.states[0], sample_population("sphere", 20, random_state=5).states[0]
    )


@pytest.mark.parametrize("spec", ["cube", "", "ring x cube", []])
def test_unknown_states_are_named(spec):
    with pytest.raises(
        InputError, match="must be one or several of ring, grid, track, arena, sphere"
    ):
        sample_population(spec, 10)


def test_every_factor_needs_a_cell():
    with pytest.raises(InputError, match="cells must be"):
        sample_population("ring x ring", 10, cells=1)
