from typing import Any

import numpy as np
import pytest
import torch

from geodis.base.check import InputError
from geodis.kernels import convolve
from tests import GOLDEN
from tests.reference import kernels as literal

EXPECTED = np.load(GOLDEN / "kernels/conv_small_s.npz")


@pytest.mark.parametrize("method", ["fft", "direct"])
def test_both_methods_are_the_true_convolution_of_the_reference(method):
    # The reference's own direct routine correlates instead, which differs for this kernel.
    signal, kernel = torch.from_numpy(EXPECTED["signal"]), torch.from_numpy(EXPECTED["kernel"])
    result = convolve(signal, kernel, method=method).numpy()
    np.testing.assert_allclose(result, EXPECTED["fft"], atol=1e-5)
    turned = convolve(signal, kernel.flip(0, 1), method=method).numpy()
    np.testing.assert_allclose(turned, EXPECTED["direct"], atol=1e-5)
    assert np.abs(EXPECTED["fft"] - EXPECTED["direct"]).max() > 0.1


@pytest.mark.parametrize("method", ["fft", "direct", "auto"])
@pytest.mark.parametrize("support", ["same", "full"])
@pytest.mark.parametrize("size", [(3, 5), (11, 7), (1, 1)])
def test_convolution_is_the_literal_one(size, support, method, rng):
    image, kernel = rng.normal(size=(6, 7)), rng.normal(size=size)
    result = convolve(torch.from_numpy(image), torch.from_numpy(kernel), support, method)
    np.testing.assert_allclose(
        result, literal.convolve(image, kernel, support == "full"), atol=1e-9
    )


@pytest.mark.parametrize("support", ["same", "full"])
def test_leading_axes_broadcast(support, rng):
    images = torch.from_numpy(rng.normal(size=(4, 1, 3, 9, 8)))
    kernels = torch.from_numpy(rng.normal(size=(1, 2, 3, 5, 5)))
    fft, direct = (convolve(images, kernels, support, method) for method in ("fft", "direct"))
    assert fft.shape[:3] == (4, 2, 3)
    torch.testing.assert_close(fft, direct)
    torch.testing.assert_close(fft[1, 1, 2], convolve(images[1, 0, 2], kernels[0, 1, 2], support))


def test_bad_input_gets_one_sentence():
    image = torch.zeros(5, 5)
    with pytest.raises(InputError, match="odd size, with a middle; got 4 x 4"):
        convolve(image, torch.zeros(4, 4))
    wrong: Any
    for wrong in (np.zeros((5, 5)), torch.zeros(5), torch.zeros(5, 5, dtype=torch.int64)):
        with pytest.raises(InputError, match="images must be a tensor of floats"):
            convolve(wrong, torch.zeros(3, 3))
        with pytest.raises(InputError, match="kernels must be a tensor of floats"):
            convolve(image, wrong)
    with pytest.raises(InputError, match="support must be one of 'same', 'full'"):
        convolve(image, torch.zeros(3, 3), support="valid")
    with pytest.raises(InputError, match="method must be one of"):
        convolve(image, torch.zeros(3, 3), method="winograd")
