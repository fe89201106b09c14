"""Convert images and vectors into the tensors that models take: shape, scale, batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError, check_random_state, to_numpy

if TYPE_CHECKING:
    from geodis.models.model import Model

BATCH = 512
COLORS = (1, 3, 4)  # usual numbers of channels of an image


def input_shape(shape: Any) -> tuple[int, ...]:
    """Return (channels, height, width) or (columns,) for a shape or a grid; refuse (h, w, colours).

    Examples
    --------
    >>> input_shape([3, 64, 64])
    (3, 64, 64)
    """
    if hasattr(shape, "image_shape"):
        if shape.image_shape is None:
            raise InputError("A model needs a grid that has images; this one has factors only.")
        height, width, channels = shape.image_shape
        return channels, height, width
    try:
        sides = tuple(int(side) for side in shape)
    except (TypeError, ValueError):
        raise InputError(
            "shape must be (channels, height, width), (columns,) or a grid of images; "
            f"got {shape!r}."
        ) from None
    if len(sides) not in (1, 3) or min(sides) < 1:
        raise InputError(
            f"shape must be (channels, height, width) or (columns,), all positive; got {sides}."
        )
    # Probably channels last, as in arrays, rather than many channels and a width of 1, 3 or 4.
    if len(sides) == 3 and sides[2] in COLORS and min(sides[:2]) > max(COLORS):
        height, width, channels = sides
        raise InputError(
            "shape must be (channels, height, width), channels first although arrays of images "
            f"have them last: {(channels, height, width)}; got {sides}."
        )
    return sides


def check_moments(
    moments: tuple[Sequence[float], Sequence[float]] | None, shape: tuple[int, ...]
) -> tuple[Tensor, Tensor] | None:
    """Check means and standard deviations of the channels; shape them to broadcast over rows."""
    if moments is None:
        return None
    try:
        mean, deviation = (torch.as_tensor(part, dtype=torch.float32) for part in moments)
    except (TypeError, ValueError):
        raise InputError(
            f"standardise must be (means, standard deviations); got {moments!r}."
        ) from None
    size = (shape[0],)
    if mean.shape != size or deviation.shape != size or not (deviation > 0).all():
        raise InputError(
            f"standardise must be {shape[0]} means and as many positive standard deviations, one a "
            f"channel or column; got shapes {tuple(mean.shape)} and {tuple(deviation.shape)}."
        )
    ones = (1,) * (len(shape) - 1)
    return mean.reshape(-1, *ones), deviation.reshape(-1, *ones)


def to_input(
    images: Any, shape: tuple[int, ...], device: Any = "cpu", dtype: torch.dtype = torch.float32
) -> Tensor:
    """Convert images or vectors into model input: floats, channels first, on the device.

    Parameters
    ----------
    images : array-like of shape (n, h, w, c) or (n, h, w), Tensor (n, c, h, w), or (n, columns)
        uint8 images are divided by 255.
    shape : tuple of int
        Shape of one row of the model's input.
    """
    return scaled(sent(as_rows(images, shape), torch.device(device), dtype), dtype)


def as_rows(images: Any, shape: tuple[int, ...]) -> Tensor:
    """Convert images or vectors into a tensor with channels first, without changing the dtype."""
    refuse_named_parts(images)
    if not isinstance(images, Tensor):
        array = to_numpy(images, "images")
        if array.dtype.kind not in "fiub":
            raise InputError(f"images must hold numbers; got dtype {array.dtype}.")
        array = np.ascontiguousarray(array)
        # torch warns about arrays that are read-only, such as memory maps.
        images = torch.from_numpy(array if array.flags.writeable else array.copy())
        if len(shape) == 3 and images.ndim == 3:
            images = images[..., None]
        if len(shape) == 3 and images.ndim == 4:
            images = images.permute(0, 3, 1, 2)
    if images.ndim != len(shape) + 1 or tuple(images.shape[1:]) != tuple(shape):
        wanted = "(n, h, w, c)" if len(shape) == 3 else "(n, columns)"
        raise InputError(
            f"The model takes rows of shape {tuple(shape)} (arrays as {wanted}); got rows of shape "
            f"{tuple(images.shape[1:])}."
        )
    return images


def refuse_named_parts(batch: Any) -> None:
    """Refuse the dicts that some Datasets return, and say what is needed."""
    if isinstance(batch, Mapping):
        names = ", ".join(map(str, batch))
        raise InputError(
            "Items of a Dataset must be rows, or tuples that begin with a row, such as (image, "
            f"label); got dicts of {names}: give their parts so in a Dataset around it."
        )


def check_length(data: Any) -> None:
    """Require `__len__` of a torch Dataset whose items are read by index, in order."""
    dataset, in_order = data, True
    if isinstance(data, torch.utils.data.DataLoader):
        dataset = data.dataset
        by = data if data.batch_sampler is None else data.batch_sampler
        in_order = isinstance(getattr(by, "sampler", None), torch.utils.data.SequentialSampler)
    iterated = isinstance(dataset, torch.utils.data.IterableDataset)
    if in_order and not iterated and not hasattr(dataset, "__len__"):
        raise InputError(
            "A Dataset must say by __len__ how many items it has, or be an IterableDataset; got "
            f"{type(dataset).__name__}."
        )


def scaled(rows: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Convert rows to floats; bytes are divided by 255."""
    return rows.to(dtype) * (1 / 255) if rows.dtype == torch.uint8 else rows.to(dtype)


def sent(rows: Tensor, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """Copy rows to a device; to a GPU asynchronously, from pinned memory."""
    if rows.dtype == torch.float64:  # half the data to copy, and some devices have no float64
        rows = rows.to(dtype)
    if device.type == "cuda" and rows.device.type == "cpu":
        return rows.pin_memory().to(device, non_blocking=True)
    return rows.to(device)


def batches_of(model: Model, images: Any, size: int | None = None) -> Iterator[Tensor]:
    """Yield all rows in batches, as input of the model on its device."""
    device, dtype = device_of(model), dtype_of(model)
    if isinstance(images, torch.utils.data.Dataset | torch.utils.data.DataLoader):
        check_length(images)
    if isinstance(images, torch.utils.data.Dataset):
        images = torch.utils.data.DataLoader(images, batch_size=size or BATCH, collate_fn=collated)
    if isinstance(images, torch.utils.data.DataLoader):
        empty = True
        for batch in images:
            empty = False
            # Labels and other parts are ignored.
            rows = batch[0] if isinstance(batch, tuple | list) else batch
            yield to_input(rows, model.shape, device, dtype)
        if empty:
            raise InputError("images must have at least one row; got none.")
        return
    grid = images if hasattr(images, "images") and hasattr(images, "sizes") else None
    n, size = len(images), BATCH if size is None else size
    if n == 0:
        raise InputError("images must have at least one row; got none.")
    for start in range(0, n, size):
        stop = min(start + size, n)
        rows = images[start:stop] if grid is None else grid.images(range(start, stop), "auto")
        yield to_input(rows, model.shape, device, dtype)


def row_count(images: Any) -> int | None:
    """Count the rows; None for a stream of unknown length."""
    source = images.dataset if isinstance(images, torch.utils.data.DataLoader) else images
    return len(source) if hasattr(source, "__len__") else None


def collated(rows: Sequence[Any]) -> Any:
    """Collate items of a torch Dataset into one batch."""
    try:
        return torch.utils.data.default_collate(list(rows))
    except (TypeError, RuntimeError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise InputError(f"Items of a Dataset must be alike, and tensors: {reason}.") from error


def device_of(model: torch.nn.Module) -> torch.device:
    """Return the device of the parameters of a module."""
    return next(model.parameters()).device


def dtype_of(model: torch.nn.Module) -> torch.dtype:
    """Return the dtype of the results of a module: float64 if its parameters are, else float32."""
    double = next(model.parameters()).dtype == torch.float64
    return torch.float64 if double else torch.float32


def at_least_float32(x: Tensor) -> Tensor:
    """Convert half precision to float32; leave float64 unchanged."""
    return x if x.dtype == torch.float64 else x.float()


def channel_moments(data: Any, n: int = 10_000, random_state: Any = 0) -> tuple[Any, Any]:
    """Measure mean and standard deviation of every channel or column, for ``standardise``.

    Parameters
    ----------
    data : FactorGrid or array-like of images (n, h, w, c) or vectors (n, columns)
    n : int
        Number of images of a grid to measure.

    Returns
    -------
    means, deviations : tuple of float

    Examples
    --------
    >>> channel_moments(np.array([[0.0, 1.0], [2.0, 1.5]]))
    ((1.0, 1.25), (1.0, 0.25))
    """
    if hasattr(data, "image_shape"):
        n = min(n, len(data))
        index = np.sort(check_random_state(random_state).choice(len(data), n, replace=False))
        data = data.images(index, "auto")
    array = to_numpy(data, "data")
    scale = 255.0 if array.dtype == np.uint8 else 1.0
    rows = array.reshape(-1, array.shape[-1]).astype(np.float64) / scale
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    # A constant channel is only centred.
    deviation[deviation == 0] = 1.0
    return tuple(mean.tolist()), tuple(deviation.tolist())
