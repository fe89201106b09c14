"""Autoencoders that learn from pairs of images, of which some factors differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from geodis.models.families.unsupervised import AE, VAE
from geodis.models.terms.sharing import average_shared

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from geodis.models.families.settings import PairSettings


class AdaGVAE(VAE):
    """Ada-GVAE: pairs, whose shared latents are averaged (seed 001, equations 2.10 to 2.16)."""

    groups = 2
    defaults = {"beta": 1.0, "deltas": "symmetric_kl", "strength": 0.5, "average": "gvae"}

    if TYPE_CHECKING:

        def __init__(
            self, shape: Any, latents: int = 10, **options: Unpack[PairSettings]
        ) -> None: ...

    def couple(self, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
        """Average the posteriors of shared latents."""
        return average_shared(
            mean,
            log_variance,
            kind=self.settings.deltas,
            average=self.settings.average,
            strength=self.settings.strength,
        )


class AdaMLVAE(AdaGVAE):
    """Ada-ML-VAE: as Ada-GVAE, averaging precisions (seed 001, 2.3.3; see `average_shared`)."""

    defaults = {**AdaGVAE.defaults, "average": "ml-vae"}


class AdaAE(AE):
    """Ada-AE: pairs without noise, whose shared codes are averaged (seed 001, 2.10 to 2.14).

    A code is shared where the two members differ least, by their absolute difference.
    """

    groups = 2
    defaults = {"strength": 0.5}

    def couple(self, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
        """Average the shared codes."""
        strength = self.settings.strength
        coupled, _ = average_shared(
            mean, log_variance, kind="absolute", average="gvae", strength=strength
        )
        return coupled, log_variance
