"""Encode, decode, reconstruct and generate with a trained model; likelihood bounds; export."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError, check_int, to_numpy
from geodis.base.progress import Stages
from geodis.base.write import whole_file
from geodis.models.model import Model
from geodis.models.model_inputs import (
    BATCH,
    at_least_float32,
    batches_of,
    device_of,
    dtype_of,
    row_count,
)
from geodis.models.objectives import reconstruction_rows
from geodis.models.randomness import seeded
from geodis.models.terms import gaussian_log_density, gaussian_sample


def encode(
    model: Model,
    images: Any,
    *,
    sample: bool = False,
    log_variances: bool = False,
    random_state: Any = 0,
    verbose: bool | int = False,
) -> Any:
    """Encode images or vectors as latents.

    Parameters
    ----------
    model : Model
    images : array-like as for `to_input`, FactorGrid, torch Dataset or DataLoader
        All images of a grid in the order of its index, or the batches of a DataLoader in its order.
        Of items with labels, the first part is used.
    sample : bool
        Draw from q(z|x) instead of taking its mean.
    log_variances : bool
        Also return the log-variances of q(z|x).
    random_state : None, int or Generator
        Seed of the draw.
    verbose : bool or int
        Show progress.

    Returns
    -------
    latents : ndarray of shape (n, z), float32, or float64 for a model in float64
    log_variances : ndarray of the same dtype, shape (n, z)
        Only with ``log_variances=True``.

    Examples
    --------
    >>> from geodis.models import VAE
    >>> encode(VAE((5,), latents=2), np.zeros((3, 5))).shape
    (3, 2)
    """
    parts: list[Tensor] = []
    spreads: list[Tensor] = []
    stages, done, rows = Stages("encode", verbose), 0, row_count(images)
    with torch.no_grad(), seeded(random_state), evaluating(model), stages, stages.stage("images"):
        for x in batches_of(model, images):
            mean, log_variance = model.posterior(x)
            if sample and not model.deterministic:
                mean = gaussian_sample(mean, log_variance)
            parts.append(at_least_float32(mean).cpu())
            spreads.append(at_least_float32(log_variance).cpu())
            done += len(x)
            stages.advance(done / rows if rows else 0.0)
    latents = torch.cat(parts).numpy()
    return (latents, torch.cat(spreads).numpy()) if log_variances else latents


def decode(model: Model, latents: Any) -> np.ndarray:
    """Decode latents (n, z) into images (n, h, w, c) in [0, 1], or vectors (n, columns)."""
    z = torch.as_tensor(to_numpy(latents, "latents"), dtype=dtype_of(model))
    if z.ndim != 2 or z.shape[1] != model.latents:
        raise InputError(
            f"latents must have shape (n, {model.latents}); got shape {tuple(z.shape)}."
        )
    parts = []
    with torch.no_grad(), evaluating(model):
        for rows in z.split(BATCH):
            decoded = at_least_float32(model.to_data(model.decode(rows.to(device_of(model)))))
            parts.append((decoded.clamp(0, 1) if decoded.ndim == 4 else decoded).cpu())
    return _channels_last(torch.cat(parts))


def reconstruct(model: Model, images: Any) -> np.ndarray:
    """Encode images and decode the means of their posteriors; the output is as of `decode`."""
    return decode(model, encode(model, images))


def generate(model: Model, n: int, random_state: Any = None) -> np.ndarray:
    """Decode n latents drawn from the prior."""
    if model.prior is None:
        raise InputError(f"{type(model).__name__} has no prior to draw from.")
    return decode(model, model.prior.sample(n, random_state=random_state).cpu())


def traverse(
    model: Model, image: Any, *, steps: int = 9, reach: float | np.ndarray = 2.0, centre: Any = 0.0
) -> np.ndarray:
    """Decode a traversal of every latent, starting from the code of one image.

    Parameters
    ----------
    model : Model
    image : array-like of one row of the model's input
    steps : int
    reach : float or array of shape (z,)
    centre : float or array of shape (z,)
        A latent varies from centre - reach to centre + reach; the others keep the values of the
        image.

    Returns
    -------
    ndarray of shape (z, steps, ...)
        Images (h, w, c) or vectors; row i varies latent i.
    """
    check_int(steps, "steps", low=2)
    code = encode(model, image[None] if isinstance(image, Tensor) else to_numpy(image)[None])
    low, high = (
        np.broadcast_to(np.asarray(centre + side * np.asarray(reach), code.dtype), model.latents)
        for side in (-1, 1)
    )
    latents = np.repeat(np.repeat(code[None], model.latents, axis=0), steps, axis=1)
    for i in range(model.latents):
        latents[i, :, i] = np.linspace(low[i], high[i], steps)
    decoded = decode(model, latents.reshape(-1, model.latents))
    return decoded.reshape(model.latents, steps, *decoded.shape[1:])


class _Posterior(torch.nn.Module):
    """The encoder of a model as a separate module."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.model.posterior(x)


def export_encoder(model: Model, path: str | Path) -> Path:
    """Export the encoder as a program that runs without geodis.

    The program takes rows (n, channels, height, width) with values in [0, 1], or (n, columns), for
    any n, in float32 (float64 for a model in float64). It returns the means and log-variances of
    their latents, both (n, z).

    Parameters
    ----------
    model : Model
    path : path
        ``.pt2`` for `torch.export.load`, or ``.onnx``, which needs the packages onnx and
        onnxscript.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from geodis.models import VAE
    >>> path = export_encoder(VAE((5,), latents=2), tempfile.mkdtemp() + "/encoder.pt2")
    >>> mean, log_variance = torch.export.load(path).module()(torch.zeros(7, 5))
    >>> mean.shape
    torch.Size([7, 2])
    """
    path = Path(path)
    if path.suffix not in (".pt2", ".onnx"):
        raise InputError(f"path must end in .pt2 or .onnx; got {path.name}.")
    # Two rows: torch would specialise a program exported with one row to one row.
    rows = torch.zeros(2, *model.shape, device=device_of(model), dtype=dtype_of(model))
    shapes = {"x": {0: torch.export.Dim("n")}}
    with torch.no_grad(), evaluating(model):
        encoder = _Posterior(model).eval()
        if path.suffix == ".onnx":
            for module in ("onnx", "onnxscript"):
                if find_spec(module) is None:
                    raise InputError(f"A .onnx file needs {module}: pip install {module}.")
            with whole_file(path) as temporary, _exporting(model):
                torch.onnx.export(
                    encoder, (rows,), str(temporary), dynamo=True, dynamic_shapes=shapes
                )
            return path
        with _exporting(model):
            program = torch.export.export(encoder, (rows,), dynamic_shapes=shapes)
    with whole_file(path) as temporary:
        torch.export.save(program, temporary)
    return path


@contextmanager
def _exporting(model: Model) -> Iterator[None]:
    """Turn errors of torch into one sentence about encoders that cannot be exported."""
    try:
        yield
    except OSError:  # the disk is full, for example
        raise
    except Exception as error:  # torch raises many classes, few of them public
        reason = str(error).split("\n")[0].rstrip(".")
        raise InputError(
            "An encoder that is exported must compute alike for any number of rows, with no branch "
            f"on their values; got {type(model).__name__} ({reason})."
        ) from error


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Run a block with a model in evaluation mode, then restore its mode."""
    was = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was)


def _channels_last(decoded: Tensor) -> np.ndarray:
    return (decoded.permute(0, 2, 3, 1) if decoded.ndim == 4 else decoded).contiguous().numpy()


def iwae_bound(
    model: Model, images: Any, *, particles: int = 100, random_state: Any = 0
) -> np.ndarray:
    """Compute the importance-weighted lower bound on log p(x) of every row (seed 003, appendix E).

    log 1/K sum_k p(x | z_k) p(z_k) / q(z_k | x) in nats, with z_k drawn from q(z|x). One particle
    gives the evidence lower bound; more particles tighten it. The likelihood is Bernoulli, or for
    "mse" normal with variance one half (of standardised data if the model standardises).

    Returns
    -------
    ndarray of shape (n,)
    """
    check_int(particles, "particles", low=1)
    loss = getattr(model.settings, "loss", None)
    if model.deterministic or not hasattr(model, "prepare"):
        raise InputError(f"{type(model).__name__} has no q(z|x) to draw from; use a VAE.")
    if not hasattr(model.prior, "log_prob"):
        raise InputError("A bound needs a prior with a density, log_prob; got a model without.")
    if loss not in ("mse", "bernoulli"):
        raise InputError("A bound needs a likelihood: loss='mse' or 'bernoulli'; got a callable.")
    bounds = []
    with torch.no_grad(), seeded(random_state), evaluating(model):
        for x in batches_of(model, images, max(1, BATCH // 8)):
            mean, log_variance = model.posterior(x)
            target = model.prepare(x)  # type: ignore[operator]
            weights = []
            for _ in range(particles):
                z = gaussian_sample(mean, log_variance)
                log_x = -reconstruction_rows(target, model.decode(z), loss)
                if loss == "mse":
                    log_x = log_x - 0.5 * math.log(math.pi) * x[0].numel()
                own = gaussian_log_density(z, mean, log_variance).sum(dim=1)
                weights.append(log_x + model.prior.log_prob(z) - own)
            bound = torch.logsumexp(torch.stack(weights), dim=0) - math.log(particles)
            bounds.append(bound.cpu())
    return torch.cat(bounds).numpy()
