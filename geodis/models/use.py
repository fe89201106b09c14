"""What a trained model is used for: latents, images, samples, traversals, its likelihood."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError, check_int, check_random_state, to_numpy
from geodis.base.progress import Stages
from geodis.models.model import Model, seeded
from geodis.models.objectives import reconstruction_rows
from geodis.models.terms.gaussians import gaussian_log_density

BATCH = 512


def to_input(images: Any, shape: tuple[int, ...], device: Any = "cpu") -> Tensor:
    """Turn images or vectors into what a model takes: float32, channels first, on its device.

    Parameters
    ----------
    images : array-like of shape (n, h, w, c) or (n, h, w), Tensor (n, c, h, w), or (n, columns)
        uint8 images are divided by 255.
    shape : tuple of int
        The model's.
    """
    if not isinstance(images, Tensor):
        array = to_numpy(images, "images")
        if array.dtype.kind not in "fiub":
            raise InputError(f"images must hold numbers; dtype {array.dtype} came.")
        array = np.ascontiguousarray(array)
        # Files may be mapped read-only, and torch warns of tensors that it could write to.
        images = torch.from_numpy(array if array.flags.writeable else array.copy())
        if len(shape) == 3 and images.ndim == 3:
            images = images[..., None]
        if len(shape) == 3 and images.ndim == 4:
            images = images.permute(0, 3, 1, 2)
    if images.ndim != len(shape) + 1 or tuple(images.shape[1:]) != tuple(shape):
        wanted = "(n, h, w, c)" if len(shape) == 3 else "(n, columns)"
        raise InputError(
            f"The model takes rows of shape {tuple(shape)} (arrays as {wanted}); rows of shape "
            f"{tuple(images.shape[1:])} came."
        )
    scale = 1 / 255 if images.dtype == torch.uint8 else 1.0
    images = images.to(device, torch.float32)
    return images if scale == 1.0 else images * scale


def encode(
    model: Model,
    images: Any,
    *,
    sample: bool = False,
    log_variances: bool = False,
    random_state: Any = 0,
    verbose: bool | int = False,
) -> Any:
    """Latents of images or vectors.

    Parameters
    ----------
    model : Model
    images : array-like as for `to_input`, or FactorGrid
        All images of a grid, in the order of its index.
    sample : bool
        Draw from q(z|x) instead of taking its mean.
    log_variances : bool
        Return those of q(z|x) too.
    random_state : None, int or Generator
        Of the draw.
    verbose : bool or int
        Show progress.

    Returns
    -------
    latents : ndarray of float32, shape (n, z)
    log_variances : ndarray of float32, shape (n, z)
        Only if asked for.

    Examples
    --------
    >>> from geodis.models import VAE
    >>> encode(VAE((5,), latents=2), np.zeros((3, 5))).shape
    (3, 2)
    """
    parts: list[Tensor] = []
    spreads: list[Tensor] = []
    stages = Stages("encode", verbose)
    with torch.no_grad(), seeded(random_state), evaluating(model), stages, stages.stage("images"):
        for x in _batches(model, images):
            mean, log_variance = model.posterior(x)
            if sample and not model.deterministic:
                mean = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
            parts.append(mean.float().cpu())
            spreads.append(log_variance.float().cpu())
            stages.advance(sum(map(len, parts)) / len(images))
    latents = torch.cat(parts).numpy()
    return (latents, torch.cat(spreads).numpy()) if log_variances else latents


def decode(model: Model, latents: Any) -> np.ndarray:
    """Images (n, h, w, c) in [0, 1], or vectors (n, columns), of latents (n, z)."""
    z = torch.as_tensor(to_numpy(latents, "latents"), dtype=torch.float32)
    if z.ndim != 2 or z.shape[1] != model.latents:
        raise InputError(
            f"latents must have shape (n, {model.latents}); shape {tuple(z.shape)} came."
        )
    parts = []
    with torch.no_grad(), evaluating(model):
        for rows in z.split(BATCH):
            decoded = model.to_data(model.decode(rows.to(_device(model)))).float()
            parts.append((decoded.clamp(0, 1) if decoded.ndim == 4 else decoded).cpu())
    return _channels_last(torch.cat(parts))


def reconstruct(model: Model, images: Any) -> np.ndarray:
    """Decode the means of the posteriors of images; the shape of `decode`."""
    return decode(model, encode(model, images))


def sample(model: Model, n: int, random_state: Any = None) -> np.ndarray:
    """Decode n latents drawn from the prior."""
    if model.prior is None:
        raise InputError(f"{type(model).__name__} has no prior to draw from.")
    return decode(model, model.prior.sample(n, random_state=random_state).cpu())


def traverse(
    model: Model,
    image: Any,
    *,
    steps: int = 9,
    reach: float | np.ndarray = 2.0,
    centre: Any = 0.0,
) -> np.ndarray:
    """Decode latents that vary one at a time around those of one image.

    Parameters
    ----------
    model : Model
    image : array-like of one row of the model's input
    steps : int
    reach : float or array of shape (z,)
    centre : float or array of shape (z,)
        A latent goes from centre - reach to centre + reach, while the others are those of the
        image.

    Returns
    -------
    ndarray of shape (z, steps, ...)
        Images (h, w, c) or vectors; row i varies latent i.
    """
    check_int(steps, "steps", low=2)
    own = encode(model, image[None] if isinstance(image, Tensor) else to_numpy(image)[None])
    low, high = (
        np.broadcast_to(np.asarray(centre + side * np.asarray(reach), np.float32), model.latents)
        for side in (-1, 1)
    )
    latents = np.repeat(np.repeat(own[None], model.latents, axis=0), steps, axis=1)
    for i in range(model.latents):
        latents[i, :, i] = np.linspace(low[i], high[i], steps)
    decoded = decode(model, latents.reshape(-1, model.latents))
    return decoded.reshape(model.latents, steps, *decoded.shape[1:])


def iwae_bound(
    model: Model, images: Any, *, particles: int = 100, random_state: Any = 0
) -> np.ndarray:
    """Importance-weighted lower bound on log p(x), in nats, of every row (seed 003, appendix E).

    log 1/K sum_k p(x | z_k) p(z_k) / q(z_k | x), z_k from q(z|x). One particle gives the evidence
    lower bound; more particles tighten it. The likelihood is the Bernoulli one, or for "mse" the
    normal one of variance one half (of standardised data, where the model standardises).

    Returns
    -------
    ndarray of shape (n,)
    """
    check_int(particles, "particles", low=1)
    loss = getattr(model.settings, "loss", None)
    if model.deterministic or not hasattr(model, "prepare"):
        raise InputError(f"{type(model).__name__} has no q(z|x) to draw from; use a VAE.")
    if loss not in ("mse", "bernoulli"):
        raise InputError("A bound needs a likelihood: loss='mse' or 'bernoulli'; a callable came.")
    bounds = []
    with torch.no_grad(), seeded(random_state), evaluating(model):
        for x in _batches(model, images, max(1, BATCH // 8)):
            mean, log_variance = model.posterior(x)
            target = model.prepare(x)  # type: ignore[operator]
            weights = []
            for _ in range(particles):
                z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
                log_x = -reconstruction_rows(target, model.decode(z), loss)
                if loss == "mse":
                    log_x = log_x - 0.5 * math.log(math.pi) * x[0].numel()
                own = gaussian_log_density(z, mean, log_variance).sum(dim=1)
                weights.append(log_x + model.prior.log_prob(z) - own)
            bound = torch.logsumexp(torch.stack(weights), dim=0) - math.log(particles)
            bounds.append(bound.cpu())
    return torch.cat(bounds).numpy()


class evaluating:  # noqa: N801 - read as a verb: with evaluating(model): ...
    """Run a block with a model in evaluation mode, and put it back."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model, self._was = model, model.training

    def __enter__(self) -> None:
        self._model.eval()

    def __exit__(self, *exception: object) -> None:
        self._model.train(self._was)


def _device(model: torch.nn.Module) -> torch.device:
    return next(model.parameters()).device


def _batches(model: Model, images: Any, size: int = BATCH) -> Iterator[Tensor]:
    device = _device(model)
    grid = images if hasattr(images, "images") and hasattr(images, "sizes") else None
    n = len(images)
    if n == 0:
        raise InputError("images must have at least one row; none came.")
    for start in range(0, n, size):
        stop = min(start + size, n)
        rows = images[start:stop] if grid is None else grid.images(range(start, stop), "auto")
        yield to_input(rows, model.shape, device)


def _channels_last(decoded: Tensor) -> np.ndarray:
    return (decoded.permute(0, 2, 3, 1) if decoded.ndim == 4 else decoded).contiguous().numpy()


def channel_moments(data: Any, n: int = 10_000, random_state: Any = 0) -> tuple[Any, Any]:
    """Mean and standard deviation of every channel or column, for ``standardise`` of models.

    Parameters
    ----------
    data : FactorGrid or array-like of images (n, h, w, c) or vectors (n, columns)
    n : int
        Images of a grid to measure.

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
    # A channel that never changes has nothing to be divided by.
    deviation[deviation == 0] = 1.0
    return tuple(mean.tolist()), tuple(deviation.tolist())
