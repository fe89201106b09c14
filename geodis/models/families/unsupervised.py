"""Autoencoders that learn from images alone, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor

from geodis.base.check import check_int
from geodis.models import networks, objectives
from geodis.models.families.autoencoder import Autoencoder
from geodis.models.model import Weighted
from geodis.models.objectives import Batch
from geodis.models.priors import drawn_for
from geodis.models.terms.adversaries import discriminator_loss, permuted_latents

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from geodis.models.families.settings import DIPSettings


class AE(Autoencoder):
    """Plain autoencoder: reconstruction alone, no noise."""

    deterministic = True


class VAE(Autoencoder):
    """Variational autoencoder (seed 001, equation 2.1): reconstruction + beta KL, beta = 1."""

    objectives: ClassVar[Weighted] = ((objectives.reconstruction, 1.0), (objectives.kl, "beta"))
    defaults = {"beta": 1.0}


class BetaVAE(VAE):
    """beta-VAE (seed 001, equation 2.7): a VAE with a heavier divergence."""

    defaults = {"beta": 4.0}


class AnnealedVAE(Autoencoder):
    """AnnealedVAE: reconstruction + gamma |KL - C|, C growing from 0 to `capacity` nats (000).

    Defaults are those of seed 000 for dSprites, A.2: gamma 1000 and a capacity of 25 nats
    (50 for CelebA). C grows over the whole training; there, over 100,000 steps.
    """

    objectives = ((objectives.reconstruction, 1.0), (objectives.capacity_gap, "gamma"))
    defaults = {"gamma": 1000.0, "capacity": 25.0}
    schedules = {"capacity": (0.0, None)}


class BetaTCVAE(Autoencoder):
    """beta-TCVAE: the divergence in three parts, beta on the total correlation (seed 002, 3).

    ``alpha`` weighs the index-code information and ``gamma`` the dimension-wise divergence.
    """

    objectives = ((objectives.reconstruction, 1.0), (objectives.decomposed_kl, 1.0))
    defaults = {"beta": 6.0, "alpha": 1.0, "gamma": 1.0}


class InformationDropout(Autoencoder):
    """Information Dropout (seed 003, equation 8): reconstruction + beta KL(q(z|x) || q(z)).

    The divergence from the aggregate q(z), the information that codes keep of their rows, takes
    the place of that from a prior. With ``gamma`` the total correlation is lowered as well, which
    is equation 9; both are estimated from batches as in beta-TCVAE, where the original called the
    second intractable. No term holds codes to a prior: `generate` draws from a standard normal
    all the same, and codes may leave it.
    """

    objectives = ((objectives.reconstruction, 1.0), (objectives.coding_cost, 1.0))
    defaults = {"beta": 1.0, "gamma": 0.0}


# Hidden layers of the published discriminator, and units of each (seed 003, A).
DISCRIMINATOR = {"discriminator_depth": 6, "discriminator_width": 1000}


class _Adversarial(Autoencoder):
    """An autoencoder with a discriminator of latents, of the size that its settings say."""

    def _build(self, latents: int) -> None:
        super()._build(latents)
        given = {name: getattr(self.settings, name) for name in DISCRIMINATOR}
        depth, width = (check_int(value, name, low=1) for name, value in given.items())
        self.discriminator = networks.discriminator(latents, hidden=width, depth=depth)


class FactorVAE(_Adversarial):
    """FactorVAE (seed 003, algorithm 2): total correlation by a discriminator of latents.

    The second batch B' of the algorithm is B itself, as in the software of seed 000: the
    discriminator is shown m latents and the same m shuffled. Of the published discriminator a step
    costs twenty to thirty of a small VAE; one of ``discriminator_width=200`` costs three.
    """

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, 1.0),
        (objectives.density_ratio_correlation, "gamma"),
    )
    defaults = {"gamma": 35.0, **DISCRIMINATOR}

    # It was shown half of a batch, and the other half shuffled: with a fast discriminator so loud
    # that strong penalties raised what they were to lower.
    revision = 1

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Tell latents of the batch from the same latents shuffled."""
        z = batch.z.detach()
        return discriminator_loss(self.discriminator, z, permuted_latents(z))


class AAE(_Adversarial):
    """Adversarial autoencoder (seed 003, equation 7): a discriminator brings q(z) to p(z).

    With ``beta=1`` the divergence is lowered too: the variant of FactorVAE of equation 12.
    """

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.density_ratio_prior, "gamma"),
    )
    defaults = {"gamma": 10.0, "beta": 0.0, **DISCRIMINATOR}

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Tell latents of the batch from latents of the prior."""
        drawn = drawn_for(self.prior, batch.z.detach())
        return discriminator_loss(self.discriminator, batch.z.detach(), drawn)


class DIPVAE(Autoencoder):
    """DIP-VAE I and II: penalties on the covariance of the latents (seed 003, 10 and 11).

    The seeds give no weights. Defaults are of the software of the study in seed 000
    (disentanglement_lib, unsupervised_study_v1): ``off_diagonal`` is one of 1, 2, 5, 10, 20 and
    50, here 10, and ``diagonal`` ten times as much for kind "I", and as much for kind "II".
    """

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.dip, 1.0),
    )
    defaults = {"beta": 1.0, "kind": "I", "off_diagonal": 10.0, "diagonal": 100.0}

    if TYPE_CHECKING:

        def __init__(
            self, shape: Any, latents: int = 10, **options: Unpack[DIPSettings]
        ) -> None: ...

    @classmethod
    def with_defaults(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings, with the published ratio of both weights where `diagonal` is not given."""
        chosen = super().with_defaults(settings)
        weight = chosen["off_diagonal"]
        if "diagonal" not in settings and isinstance(weight, int | float):
            chosen["diagonal"] = weight if chosen["kind"] == "II" else 10 * weight
        return chosen


class InfoVAE(Autoencoder):
    """InfoVAE: the divergence replaced, in part or whole, by a discrepancy of q(z) and p(z)."""

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.mmd, "mmd"),
    )
    defaults = {"beta": 0.0, "mmd": 100.0}
