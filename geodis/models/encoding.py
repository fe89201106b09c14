"""Images -> latents and back: what a trained model is used for."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError, check_int, to_numpy
from geodis.base.progress import Stages
from geodis.models.model import Model
from geodis.models.model_inputs import BATCH, batches_of, device_of
from geodis.models.randomness import seeded


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
        for x in batches_of(model, images):
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
            f"latents must have shape (n, {model.latents}); got shape {tuple(z.shape)}."
        )
    parts = []
    with torch.no_grad(), evaluating(model):
        for rows in z.split(BATCH):
            decoded = model.to_data(model.decode(rows.to(device_of(model)))).float()
            parts.append((decoded.clamp(0, 1) if decoded.ndim == 4 else decoded).cpu())
    return _channels_last(torch.cat(parts))


def reconstruct(model: Model, images: Any) -> np.ndarray:
    """Decode the means of the posteriors of images; the shape of `decode`."""
    return decode(model, encode(model, images))


def generate(model: Model, n: int, random_state: Any = None) -> np.ndarray:
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


class evaluating:  # noqa: N801 - read as a verb: with evaluating(model): ...
    """Run a block with a model in evaluation mode, and put it back."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model, self._was = model, model.training

    def __enter__(self) -> None:
        self._model.eval()

    def __exit__(self, *exception: object) -> None:
        self._model.train(self._was)


def _channels_last(decoded: Tensor) -> np.ndarray:
    return (decoded.permute(0, 2, 3, 1) if decoded.ndim == 4 else decoded).contiguous().numpy()
