"""Priors of latents: the standard normal, uniform codes, and Lp-nested distributions."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from geodis.base.check import InputError, check_int
from geodis.models.lp_nested_prior import LpNested, require_latents
from geodis.models.randomness import torch_generator


class StandardNormal(nn.Module):
    """Independent standard normal latents.

    Parameters
    ----------
    size : int
        Number of latents.

    Examples
    --------
    >>> round(StandardNormal(2).log_prob(torch.zeros(1, 2)).item(), 4)  # -log 2 pi
    -1.8379
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = check_int(size, "size", low=1)

    def log_prob(self, z: Tensor) -> Tensor:
        """Log-density `-(|z|^2 + size log 2 pi) / 2` of the rows of z, shape (..., size)."""
        require_latents(z, self.size)
        return -0.5 * (z.square().sum(dim=-1) + self.size * math.log(2 * math.pi))

    def sample(self, n: int, random_state: Any = None) -> Tensor:
        """Draw n latents, shape (n, size)."""
        generator = torch_generator(random_state)
        return torch.randn(check_int(n, "n", low=1), self.size, generator=generator)

    def draw_for(self, z: Tensor) -> Tensor:
        """Draw as many latents as z has rows, on its device, from torch's own random numbers."""
        return torch.randn_like(z)

    def config(self) -> dict[str, Any]:
        """Everything needed to build the prior again, as plain values."""
        return {"prior": type(self).__name__, "size": self.size}

    def extra_repr(self) -> str:
        """Say the size when printed."""
        return f"size={self.size}"


class UniformCodes(nn.Module):
    """Codes of InfoWGAN-GP: uniform in [-1, 1], and one categorical code (seed 003, appendix H).

    Parameters
    ----------
    continuous : int
    categories : int
        Columns of the categorical code, one of which is 1 and the others 0; 0 for none.

    Examples
    --------
    >>> UniformCodes(2, 3).sample(4, random_state=0).shape
    torch.Size([4, 5])
    """

    def __init__(self, continuous: int, categories: int = 0) -> None:
        super().__init__()
        self.continuous = check_int(continuous, "continuous", low=0)
        self.categories = check_int(categories, "categories", low=0)
        self.size = self.continuous + self.categories
        if self.size == 0 or self.categories == 1:
            raise InputError(
                "Codes must be continuous, or of at least 2 categories; "
                f"got {continuous} continuous and {categories} categories."
            )

    def sample(self, n: int, random_state: Any = None) -> Tensor:
        """Draw n codes, shape (n, continuous + categories)."""
        return self._drawn(check_int(n, "n", low=1), generator=torch_generator(random_state))

    def draw_for(self, z: Tensor) -> Tensor:
        """Draw as many codes as z has rows, on its device, from torch's own random numbers."""
        return self._drawn(len(z), device=z.device).to(z.dtype)

    def _drawn(self, n: int, **source: Any) -> Tensor:
        codes = self._continuous(n, **source)
        if not self.categories:
            return codes
        drawn = torch.randint(self.categories, (n, 1), **source)
        chosen = torch.zeros(n, self.categories, device=drawn.device).scatter_(1, drawn, 1.0)
        return torch.cat([codes, chosen], dim=1)

    def _continuous(self, n: int, **source: Any) -> Tensor:
        return 2 * torch.rand(n, self.continuous, **source) - 1

    def config(self) -> dict[str, Any]:
        """Everything needed to build the prior again, as plain values."""
        return {
            "prior": type(self).__name__,
            "continuous": self.continuous,
            "categories": self.categories,
        }

    def extra_repr(self) -> str:
        """Say the sizes when printed."""
        return f"continuous={self.continuous}, categories={self.categories}"


class NormalCodes(UniformCodes):
    """Standard normal latents, and one categorical latent whose categories are equally likely.

    Parameters
    ----------
    continuous : int
    categories : int
        Columns of the categorical latent, one of which is 1 and the others 0; 0 for none.

    Examples
    --------
    >>> NormalCodes(2, 3).sample(4, random_state=0)[:, 2:].sum(dim=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def _continuous(self, n: int, **source: Any) -> Tensor:
        return torch.randn(n, self.continuous, **source)


def drawn_for(prior: Any, z: Tensor) -> Tensor:
    """As many latents of a prior as z has rows, where z is.

    A prior that can only `sample` does so on the CPU, from a seed that torch draws.
    """
    if hasattr(prior, "draw_for"):
        return prior.draw_for(z)
    drawn: Tensor = prior.sample(len(z), random_state=int(torch.randint(2**31, (1,))))
    return drawn.to(z)


def prior_from_config(config: Any, given: nn.Module | None = None) -> nn.Module:
    """Build a prior again; one of the user's own is code, and has to be given."""
    if given is not None:
        return given
    known = {kind.__name__: kind for kind in (StandardNormal, LpNested, UniformCodes, NormalCodes)}
    if not isinstance(config, dict) or config.get("prior") not in known:
        raise InputError(
            "This model was trained with a prior of the user's own, which is code and is not "
            "saved: pass it as prior=..."
        )
    options = dict(config)
    return known[options.pop("prior")](**options)
