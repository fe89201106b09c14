"""Weakly supervised autoencoders: they learn from pairs or triplets of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from geodis.models import objectives
from geodis.models.autoencoder import Autoencoder
from geodis.models.terms import average_shared
from geodis.models.unsupervised import AE, VAE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from geodis.models.autoencoder import PairSettings, TripletSettings


class AdaGVAE(VAE):
    """Ada-GVAE: shared latents of pairs are averaged (seed 001, equations 2.10 to 2.16)."""

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
    """Ada-ML-VAE: Ada-GVAE with averaged precisions (seed 001, 2.3.3; see `average_shared`)."""

    defaults = {**AdaGVAE.defaults, "average": "ml-vae"}


class AdaAE(AE):
    """Ada-AE: shared codes of pairs are averaged, without noise (seed 001, 2.10 to 2.14).

    The absolute difference between the members decides which codes are shared.
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


# Triplets: an anchor, a similar row (positive) and a less similar row (negative)

TRIPLET_DEFAULTS = {"scale": 1.0, "p": 1, "hard": True, "margin": 10.0}


class TAE(Autoencoder):
    """Triplet autoencoder: reconstruction and triplet loss, without noise."""

    groups = 3
    deterministic = True
    objectives = ((objectives.reconstruction, 1.0), (objectives.triplet, "scale"))
    defaults = TRIPLET_DEFAULTS

    if TYPE_CHECKING:

        def __init__(
            self, shape: Any, latents: int = 10, **options: Unpack[TripletSettings]
        ) -> None: ...


class AdaTAE(TAE):
    """Ada-TAE (seed 001, table 5.1 and equation 5.22): Ada-TVAE without noise and divergence.

    The absolute difference between anchor and negative decides which codes are shared. Published
    schedule "weight (weak)": `shared_weight` falls from 1 to the setting during training.
    """

    objectives = ((objectives.reconstruction, 1.0), (objectives.adaptive_triplet, "scale"))
    defaults = {**TRIPLET_DEFAULTS, "strength": 0.5, "shared_weight": 0.5}
    schedules = {"shared_weight": (1.0, None)}


class TVAE(Autoencoder):
    """beta-TVAE (seed 001, equation 5.12): a beta-VAE with a triplet loss of its means."""

    groups = 3
    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.triplet, "scale"),
    )
    defaults = {"beta": 1.0, **TRIPLET_DEFAULTS}

    if TYPE_CHECKING:

        def __init__(
            self, shape: Any, latents: int = 10, **options: Unpack[TripletSettings]
        ) -> None: ...


class AdaTVAE(TVAE):
    """Ada-TVAE (seed 001, equation 5.22): a triplet loss that prefers to separate few latents.

    Published schedule "weight (weak)": `shared_weight` falls from 1 to the setting during training.
    """

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.adaptive_triplet, "scale"),
    )
    defaults = {**TVAE.defaults, "deltas": "absolute", "strength": 0.5, "shared_weight": 0.5}
    schedules = AdaTAE.schedules
