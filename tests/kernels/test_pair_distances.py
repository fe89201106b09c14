from typing import get_args

import numpy as np
import pytest
import torch

from geodis.data.grids.grid import FactorGrid
from geodis.data.grids.squares import XYSquares
from geodis.distances import sample_pairs
from geodis.kernels import LossKernel
from geodis.kernels.learning_task import Symmetry
from geodis.kernels.pairs import CorrelationPairs, PlanePairs, different_planes


def noise_grid(rng, shape=(9, 12, 2)):
    images = rng.uniform(size=(12, *shape)).astype(np.float32)
    return FactorGrid.from_arrays(images, [[i, j] for i in range(3) for j in range(4)])


def kernels(rng, channels, radius, symmetry):
    w = torch.from_numpy(rng.normal(size=(2, channels, 2 * radius + 1, 2 * radius + 1))).float()
    if symmetry != "none":
        w = (w + w.flip(-1)) / 2
        w = (w + w.flip(-2)) / 2
    return (w + w.transpose(-1, -2)) / 2 if symmetry == "d4" else w


def sides(grid, pairs):
    return [grid.images(side, "float32") for side in pairs.T]


@pytest.mark.parametrize("radius", [0, 2, 8])
@pytest.mark.parametrize("per_channel", [False, True])
def test_correlations_give_the_distances_of_full_support(radius, per_channel, rng):
    for grid in (noise_grid(rng), noise_grid(rng, (9, 9, 2))):
        pairs = sample_pairs(grid, 30, random_state=0)
        for symmetry in get_args(Symmetry):
            weights = kernels(rng, 2 if per_channel else 1, radius, symmetry)
            held = CorrelationPairs(grid, pairs, symmetry, per_channel)
            literal = LossKernel(weights, support="full", method="direct")(*sides(grid, pairs))
            np.testing.assert_allclose(held.pixel + held.energies(weights), literal, rtol=1e-4)


@pytest.mark.parametrize("radius", [0, 2, 8])
@pytest.mark.parametrize("per_channel", [False, True])
def test_planes_give_the_distances_within_the_image(radius, per_channel, rng):
    grid = noise_grid(rng)
    pairs = sample_pairs(grid, 30, self_pairs=True, random_state=0)
    weights = kernels(rng, 2 if per_channel else 1, radius, "none")
    held = PlanePairs(grid, pairs, radius, per_channel)
    literal = LossKernel(weights, method="direct")(*sides(grid, pairs))
    np.testing.assert_allclose(held.pixel + held.energies(weights), literal, rtol=1e-4, atol=1e-4)


def test_planes_that_recur_are_held_once(rng):
    grid = XYSquares(spacing=4, square_size=4, grid_size=3, image_size=16)
    pairs = sample_pairs(grid, 900, random_state=0)
    assert PlanePairs(grid, pairs, 3).planes == 9
    assert PlanePairs(grid, pairs, 3, per_channel=True).planes == 27
    index = rng.permutation(len(grid))[:600]  # more than one batch
    planes, number = different_planes(grid, index)
    np.testing.assert_array_equal(
        planes[number], grid.images(index, "float32").transpose(0, 3, 1, 2)
    )


def test_the_gradient_is_that_of_blurring_both_images(rng):
    grid = XYSquares(spacing=4, square_size=4, grid_size=3, image_size=16)
    pairs = sample_pairs(grid, 40, random_state=0)
    x, y = (torch.from_numpy(side.transpose(0, 3, 1, 2)) for side in sides(grid, pairs))
    weights = kernels(rng, 1, 5, "none")[:1].requires_grad_()
    share = torch.from_numpy(rng.normal(size=40)).float()

    def full_blur(images):
        spectra = torch.fft.rfft2(images, s=(32, 32)) * torch.fft.rfft2(weights, s=(32, 32))
        return torch.fft.irfft2(spectra, s=(32, 32))

    literal = ((full_blur(x) - full_blur(y)) ** 2).sum((1, 2, 3)) / (3 * 256)
    (expected,) = torch.autograd.grad((share * literal).sum(), weights)
    held = CorrelationPairs(grid, pairs)
    (gradient,) = torch.autograd.grad((share * held.energies(weights)).sum(), weights)
    torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-4)
