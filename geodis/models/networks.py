"""Encoders, decoders and discriminators: the published pairs, and small ones for vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from geodis.base.check import InputError, check_choice, check_int

NetworkName = Literal["conv", "mlp", "vector"]
NetworkChoice = Literal["auto"] | NetworkName
# Four convolutions of stride 2 shrink an image by this factor.
SHRINK = 16
# Slope of leaky ReLU for negative input (seed 002, A.4).
LEAK = 0.2


class Gaussian(nn.Module):
    """Last layer of an encoder, from features to mean and log-variance of q(z|x)."""

    def __init__(self, features: int, latents: int) -> None:
        super().__init__()
        self.layer = nn.Linear(features, 2 * latents)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log-variance, each (n, z)."""
        mean, log_variance = self.layer(features).chunk(2, dim=1)
        return mean, log_variance


def encoder_decoder(
    network: NetworkName, shape: Sequence[int], latents: int
) -> tuple[nn.Module, Any, nn.Module]:
    """Build an encoder body, its Gaussian head and a decoder.

    Parameters
    ----------
    network : {"conv", "mlp", "vector"}
        "conv": the convolutional pair of Higgins et al. (2017), for images of at least 16 x 16
        (published for 64 x 64). "mlp": the 1200-unit pair of Chen et al. (2018), for images of any
        size. "vector": two hidden layers of 256 units, for vectors.
    shape : sequence of int
        (channels, height, width) of images, or (columns,) of vectors.
    latents : int

    Returns
    -------
    body, head, decoder : nn.Module
        `head(body(x))` is (mean, log-variance); `decoder(z)` has the shape of x.
    """
    check_choice(network, "network", get_args(NetworkName))
    check_int(latents, "latents", low=1)
    shape = tuple(shape)
    if network == "conv":
        check_image_shape(shape, ": use network='mlp' for other images, 'vector' for vectors")
        body, decoder = conv_encoder(shape), conv_decoder(shape, latents)
        return body, Gaussian(256, latents), decoder
    flat = math.prod(shape)
    units, depth, activation = (1200, 3, nn.Tanh) if network == "mlp" else (256, 2, nn.ReLU)
    body = nn.Sequential(nn.Flatten(), *perceptron([flat, units, units], nn.ReLU), nn.ReLU())
    layers = perceptron([latents, *[units] * depth, flat], activation)
    return body, Gaussian(units, latents), nn.Sequential(*layers, nn.Unflatten(1, shape))


def head_of(encoder: nn.Module, shape: Sequence[int], latents: int) -> Gaussian:
    """Make the Gaussian head for a user's encoder of rows of a shape."""
    features = _tried(encoder, torch.zeros(2, *shape), "encoder")
    if features.ndim != 2 or len(features) != 2:
        raise InputError(
            "encoder must turn rows (n, ...) into features (n, any number); of 2 rows it made "
            f"shape {tuple(features.shape)}."
        )
    if features.dtype != torch.float32:
        raise InputError(
            f"encoder must turn float32 rows into float32 features; got {features.dtype}: end it "
            "with .float()."
        )
    return Gaussian(features.shape[1], latents)


def checked_decoder(decoder: nn.Module, shape: Sequence[int], latents: int) -> nn.Module:
    """Return a user's decoder after checking that it maps latents to rows of the shape."""
    made = tuple(_tried(decoder, torch.zeros(2, latents), "decoder").shape)
    if made != (2, *shape):
        raise InputError(
            f"decoder must turn latents (n, {latents}) into rows (n, {', '.join(map(str, shape))})"
            f"; of 2 latents it made shape {made}."
        )
    return decoder


def _tried(module: Any, rows: Tensor, name: str) -> Tensor:
    """Apply a module to a few rows in evaluation mode, then restore its modes."""
    if not isinstance(module, nn.Module):
        raise InputError(f"{name} must be a torch module; got {type(module).__name__}.")
    was = {each: each.training for each in module.modules()}
    where = next((each.device for each in module.parameters()), rows.device)
    try:
        with torch.no_grad():
            made = module.eval()(rows.to(where))
    except Exception as error:  # whatever the user's code raises
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise InputError(
            f"{name} must take rows of shape {tuple(rows.shape)}: {reason}."
        ) from error
    finally:
        for each, training in was.items():
            each.training = training
    if not isinstance(made, Tensor):
        raise InputError(f"{name} must return one tensor; got {type(made).__name__}.")
    return made


def check_image_shape(shape: Sequence[int], otherwise: str = "") -> None:
    """Require images that can be halved four times; `otherwise` ends the error message."""
    if len(shape) != 3 or any(side < SHRINK for side in shape[1:]):
        raise InputError(
            "the convolutional network takes images (channels, height, width) from "
            f"{SHRINK} x {SHRINK} on, such as (3, 64, 64); got {tuple(shape)}{otherwise}."
        )


def suits_convolutions(shape: Sequence[int]) -> bool:
    """Whether images suit the published convolutional pair: sides of 32, 48, 64, ..."""
    return len(shape) == 3 and all(side >= 2 * SHRINK and side % SHRINK == 0 for side in shape[1:])


def doubling(shape: Sequence[int]) -> list[tuple[int, int]]:
    """Compute the output padding (rows, columns) of the four transposed convolutions.

    The encoder halves sides and rounds down; where it dropped a row or column the decoder adds it.

    Examples
    --------
    >>> doubling((1, 28, 32))  # 1, 3, 7, 14, 28 and 2, 4, 8, 16, 32
    [(1, 0), (1, 0), (0, 0), (0, 0)]
    """
    height, width = shape[1:]
    halved = [(height >> times, width >> times) for times in range(4)]
    return [(rows % 2, columns % 2) for rows, columns in reversed(halved)]


def conv_encoder(shape: Sequence[int]) -> nn.Sequential:
    """Encoder of seed table A.1 (Higgins et al. 2017): four convolutions, 256 features."""
    channels, height, width = shape
    flat = 64 * (height // SHRINK) * (width // SHRINK)
    layers: list[nn.Module] = []
    for inside, outside in [(channels, 32), (32, 32), (32, 64), (64, 64)]:
        layers += [nn.Conv2d(inside, outside, 4, 2, 1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(flat, 256), nn.ReLU())


def conv_decoder(shape: Sequence[int], latents: int) -> nn.Sequential:
    """Decoder of the same table: the layers of the encoder in reverse."""
    channels, height, width = shape
    small = (64, height // SHRINK, width // SHRINK)
    layers = [*perceptron([latents, 256, math.prod(small)], nn.ReLU), nn.ReLU()]
    layers.append(nn.Unflatten(1, small))
    sizes = [(64, 64), (64, 32), (32, 32), (32, channels)]
    for (inside, outside), odd in zip(sizes, doubling(shape), strict=True):
        layers += [nn.ConvTranspose2d(inside, outside, 4, 2, 1, odd), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def discriminator(size: int, outputs: int = 2, hidden: int = 1000, depth: int = 6) -> nn.Sequential:
    """Discriminator of latents of Kim and Mnih (2018): six hidden layers of 1,000, leaky ReLU."""
    return nn.Sequential(
        *perceptron([size, *[hidden] * depth, outputs], lambda: nn.LeakyReLU(LEAK))
    )


class Critic(nn.Module):
    """Critic D of InfoWGAN-GP; its trunk is shared with the code encoder Q.

    Seed 003, table 5. Layer normalisation after the convolutions replaces batch normalisation, as
    appendix H requires for the gradient penalty. With `normalise_batches` batch normalisation is
    used as printed, before the activations.
    """

    features = 128

    def __init__(self, shape: Sequence[int], normalise_batches: bool = False) -> None:
        super().__init__()
        check_image_shape(shape)
        channels, height, width = shape
        flat = 64 * (height // SHRINK) * (width // SHRINK)
        layers: list[nn.Module] = []
        for inside, outside in [(channels, 32), (32, 32), (32, 64), (64, 64)]:
            layers.append(nn.Conv2d(inside, outside, 4, 2, 1))
            if normalise_batches and len(layers) > 1:  # the first has none
                layers.append(nn.BatchNorm2d(outside))
            layers.append(nn.LeakyReLU(LEAK))
        layers += [nn.Flatten(), nn.Linear(flat, self.features)]
        if normalise_batches:
            # Before the activation: after it real and generated batches had the same mean score.
            layers += [nn.BatchNorm1d(self.features), nn.LeakyReLU(LEAK)]
        else:
            layers += [nn.LeakyReLU(LEAK), nn.LayerNorm(self.features)]
        self.trunk = nn.Sequential(*layers)
        self.score = nn.Linear(self.features, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Score every row, shape (n,)."""
        return self.score(self.trunk(x))[:, 0]


def code_head(features: int, outputs: int) -> nn.Sequential:
    """Code encoder Q of seed 003, table 5, which follows the trunk of the critic."""
    return nn.Sequential(
        nn.Linear(features, 128), nn.LeakyReLU(LEAK), nn.BatchNorm1d(128), nn.Linear(128, outputs)
    )


def generator(shape: Sequence[int], size: int) -> nn.Sequential:
    """Generator G of seed 003, table 5, from codes and noise to images in [0, 1]."""
    check_image_shape(shape)
    channels, height, width = shape
    small = (64, height // SHRINK, width // SHRINK)
    layers: list[nn.Module] = []
    for inside, outside in [(size, 128), (128, math.prod(small))]:
        layers += [nn.Linear(inside, outside), nn.ReLU(), nn.BatchNorm1d(outside)]
    layers.append(nn.Unflatten(1, small))
    padding = doubling(shape)
    for (inside, outside), odd in zip([(64, 64), (64, 32), (32, 32)], padding, strict=False):
        layers.append(nn.ConvTranspose2d(inside, outside, 4, 2, 1, odd))
        layers += [nn.LeakyReLU(LEAK), nn.BatchNorm2d(outside)]
    last = nn.ConvTranspose2d(32, channels, 4, 2, 1, padding[3])
    return nn.Sequential(*layers, last, nn.Sigmoid())


def metric_encoder(shape: Sequence[int], outputs: int) -> nn.Sequential:
    """Encoder of `MetricEncoder`: four convolutions with batch normalisation, 512 features.

    It takes images of at least 8 x 8 pixels; vectors pass through three layers of 512 units.
    """
    if len(shape) == 1:
        return nn.Sequential(*perceptron([shape[0], 512, 512, 512, outputs], nn.ReLU))
    if len(shape) != 3 or min(shape[1:]) < 8:
        raise InputError(
            "the metric encoder takes images (channels, height, width) from 8 x 8 on, or vectors; "
            f"got {tuple(shape)}."
        )
    channels = shape[0]
    sides = [-(-side // 8) for side in shape[1:]]  # three strides of 2, each rounded up
    layers: list[nn.Module] = []
    for inside, outside, size, stride in [
        (channels, 32, 5, 2),
        (32, 64, 3, 2),
        (64, 128, 3, 2),
        (128, 128, 3, 1),
    ]:
        layers += [
            nn.Conv2d(inside, outside, size, stride, size // 2, bias=False),
            nn.BatchNorm2d(outside),
            nn.ReLU(),
        ]
    features = 128 * math.prod(sides)
    layers += [nn.Flatten(), nn.Linear(features, 512, bias=False), nn.BatchNorm1d(512), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(512, outputs))


def perceptron(sizes: Sequence[int], activation: Callable[[], nn.Module]) -> list[nn.Module]:
    """Make linear layers of these sizes with activations between them, but none at the end."""
    layers: list[nn.Module] = []
    for inside, outside in pairwise(sizes):
        layers += [nn.Linear(inside, outside), activation()]
    return layers[:-1]


def parameter_count(module: nn.Module) -> int:
    """Count the learnable parameters of a network.

    Examples
    --------
    >>> parameter_count(nn.Linear(3, 2))
    8
    """
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
