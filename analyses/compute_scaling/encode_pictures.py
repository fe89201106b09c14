"""Embeddings of the images of a grid by any torch encoder, in the order of the factors' rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

import geodis as gd


def encode_pictures(
    encode: Callable[[Tensor], Tensor],
    grid: gd.FactorGrid,
    rows: Any,
    prepare: Callable[[Image.Image], Tensor] | None = None,
    *,
    device: Any = "cpu",
    batch_size: int = 64,
) -> np.ndarray:
    """Embed images of a grid, a batch at a time and without gradients.

    Put a module into evaluation mode before; its weights must be on `device`.

    Parameters
    ----------
    encode : callable (b, c, h, w) -> (b, z)
        An encoder, such as a torch module or `encode_image` of CLIP.
    grid : FactorGrid
        With images of one, three or four channels.
    rows : array-like of int, shape (n,)
    prepare : callable, optional
        Picture in RGB -> tensor (c, h, w), such as the preprocessing that comes with CLIP. Unless
        given, pictures become tensors (3, h, w) in [0, 1].
    device : torch device
    batch_size : int

    Returns
    -------
    ndarray of float32, shape (n, z)

    Examples
    --------
    >>> squares = gd.XYSquares(n_squares=1, square_size=4, spacing=4, image_size=32)
    >>> encode_pictures(lambda x: x.flatten(1)[:, :5], squares, range(7)).shape
    (7, 5)
    """
    rows = np.asarray(rows)
    parts = []
    with torch.no_grad():
        for start in range(0, len(rows), batch_size):
            images = grid.images(rows[start : start + batch_size])
            pictures = [as_picture(image) for image in images]
            x = torch.stack([(prepare or as_tensor)(picture) for picture in pictures])
            parts.append(encode(x.to(device)).float().cpu().numpy())
    return np.concatenate(parts)


def as_picture(image: np.ndarray) -> Image.Image:
    """An image (h, w, c) of bytes, or of floats in [0, 1], as a picture in RGB.

    Examples
    --------
    >>> as_picture(np.ones((4, 6, 1))).getpixel((0, 0))
    (255, 255, 255)
    """
    if image.dtype != np.uint8:
        image = np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8)
    plain = image[..., 0] if image.shape[-1] == 1 else image
    return Image.fromarray(np.ascontiguousarray(plain)).convert("RGB")


def as_tensor(picture: Image.Image) -> Tensor:
    """A picture as a tensor (3, h, w) in [0, 1]."""
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
