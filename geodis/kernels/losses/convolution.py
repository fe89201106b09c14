"""Images * kernels: true convolution of tensors, through the Fourier transform or directly."""

from __future__ import annotations

from typing import Literal, get_args

from scipy.fft import next_fast_len

from geodis.base.check import InputError, check_choice
from geodis.kernels.torch_extra import torch

Support = Literal["same", "full"]
Method = Literal["auto", "fft", "direct"]

# Direct convolution does s^2 products a pixel, where the transforms do some tens whatever s.
DIRECT_MAX_SIZE = 7


def convolve(
    images: torch.Tensor,
    kernels: torch.Tensor,
    support: Support = "same",
    method: Method = "auto",
) -> torch.Tensor:
    """Convolve the last two axes, with zeros beyond the edges.

        result[i] = sum over j of kernels[j] images[i + r - j]   (i in both dimensions)

    Parameters
    ----------
    images : tensor of shape (..., h, w)
    kernels : tensor of shape (..., s, t)
        s = 2 r + 1 and t are odd. Leading axes broadcast against those of the images.
    support : {"same", "full"}
        Keep the size of the images, or every place that the kernel reaches: (h + s - 1, w + t - 1).
    method : {"auto", "fft", "direct"}
        Both are exact; "auto" is direct up to 7 x 7.

    Returns
    -------
    tensor of shape (..., h, w) or (..., h + s - 1, w + t - 1)

    Examples
    --------
    >>> step = torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> convolve(step, torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0., 1., 2., 3., 0.]])
    """
    check_choice(support, "support", get_args(Support))
    check_choice(method, "method", get_args(Method))
    for tensor, name in ((images, "images"), (kernels, "kernels")):
        usable = isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
        if not usable or tensor.ndim < 2:
            raise InputError(f"{name} must be a tensor of floats (..., height, width).")
    s, t = kernels.shape[-2:]
    if s % 2 == 0 or t % 2 == 0:
        raise InputError(f"Kernels must have an odd size, with a middle; got {s} x {t}.")
    direct = method == "direct" or (method == "auto" and max(s, t) <= DIRECT_MAX_SIZE)
    return (_direct if direct else _fft)(images, kernels, (s // 2, t // 2), support == "full")


def transform_size(length: int, radius: int, full: bool) -> int:
    """The least quick length of a cyclic convolution that leaves what is kept unharmed.

    The whole result has length + 2 radius entries. What wraps around falls on the entries that
    "same" cuts off as long as the period is at least length + radius.
    """
    return int(next_fast_len(length + (2 if full else 1) * radius, real=True))


def _fft(
    images: torch.Tensor, kernels: torch.Tensor, radii: tuple[int, int], full: bool
) -> torch.Tensor:
    (h, w), (r, q) = images.shape[-2:], radii
    shape = (transform_size(h, r, full), transform_size(w, q, full))
    spectrum = torch.fft.rfft2(images, s=shape) * torch.fft.rfft2(kernels, s=shape)
    whole = torch.fft.irfft2(spectrum, s=shape)
    return whole[..., : h + 2 * r, : w + 2 * q] if full else whole[..., r : r + h, q : q + w]


def _direct(
    images: torch.Tensor, kernels: torch.Tensor, radii: tuple[int, int], full: bool
) -> torch.Tensor:
    lead = torch.broadcast_shapes(images.shape[:-2], kernels.shape[:-2])
    images = images.expand(*lead, *images.shape[-2:])
    pad = (2 * radii[0], 2 * radii[1]) if full else radii
    if kernels.shape[:-2].numel() == 1:  # one kernel for all: planes are the batch
        flipped = kernels.reshape(1, 1, *kernels.shape[-2:]).flip(-1, -2)
        planes = images.reshape(-1, 1, *images.shape[-2:])
        maps = torch.nn.functional.conv2d(planes, flipped, padding=pad)
    else:  # a kernel for each plane: planes are channels of one image, each a group of its own
        flipped = kernels.expand(*lead, *kernels.shape[-2:]).flip(-1, -2)
        flipped = flipped.reshape(-1, 1, *kernels.shape[-2:])
        planes = images.reshape(1, -1, *images.shape[-2:])
        maps = torch.nn.functional.conv2d(planes, flipped, padding=pad, groups=len(flipped))
    return maps.reshape(*lead, *maps.shape[-2:])
