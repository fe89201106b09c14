"""Autoencoders that learn from images alone, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import gumbel_softmax

from geodis.base.check import InputError, check_int
from geodis.models import networks, objectives
from geodis.models.autoencoder import Autoencoder, with_categories
from geodis.models.model import Weighted
from geodis.models.objectives import Batch
from geodis.models.priors import LearntExponents, LpNested, NormalCodes, drawn_for
from geodis.models.terms import discriminator_loss, permuted_latents

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from geodis.models.autoencoder import DIPSettings


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

    objectives = ((objectives.reconstruction, 1.0), (objectives.kl, "beta"), (objectives.dip, 1.0))
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


# Variational autoencoders whose prior has independent subspaces.

# Published layout and exponents (seed 002, section 4): fixed ones, and where learnt ones begin.
ROOT, FIXED, BEGINNING = 2.1, 2.2, 2.0
SUBSPACES, SIZE = 5, 4


class ISAVAE(VAE):
    """ISA-VAE (seed 002, equation 12): a VAE whose prior has independent subspaces.

    Parameters
    ----------
    shape : as for `Autoencoder`
    latents : int, optional
        Follows from the layout; without a layout, a multiple of four, for subspaces of four.
    p0 : float
        Exponent of the root.
    subspaces : sequence of (exponent, size), optional
        Layout of the prior. As published for dSprites by default: five subspaces of four, of
        exponent 2.2, or from 2.0 on where exponents are learnt.
    learn : {"none", "subspaces", "all"}
        Which exponents are learnt.
    scale : float
        Of the prior: variance scale / 2 at exponents of 2, so that 1, as in the published code,
        is not the standard normal, and 2 is.
    prior : LpNested, optional
        Any tree, instead of the layout.
    **options
        As for `Autoencoder`.

    Examples
    --------
    >>> model = ISAVAE((5,), p0=2.1, subspaces=[(1.5, 3), (2.5, 2)])
    >>> model.latents
    5
    """

    defaults = {"beta": 1.0}

    def __init__(
        self,
        shape: Any,
        latents: int | None = None,
        *,
        p0: float = ROOT,
        subspaces: Sequence[tuple[float, int]] | None = None,
        learn: LearntExponents = "none",
        scale: float = 1.0,
        prior: nn.Module | None = None,
        **options: Any,
    ) -> None:
        if prior is None:
            if subspaces is None:
                exponent = FIXED if learn == "none" else BEGINNING
                subspaces = [(exponent, SIZE)] * _count(latents)
            prior = LpNested.isa(p0, subspaces, scale=scale, learn=learn)
        size: Any = getattr(prior, "size", latents)
        if latents is not None and latents != size:
            raise InputError(
                f"The subspaces must have as many dimensions as there are latents; got {size} and "
                f"{latents}."
            )
        super().__init__(shape, size, prior=prior, **options)


def _count(latents: int | None) -> int:
    """How many subspaces of the published size there are."""
    if latents is None:
        return SUBSPACES
    if check_int(latents, "latents", low=1) % SIZE:
        raise InputError(
            f"latents must be a multiple of {SIZE} without a layout of subspaces; got {latents}: "
            "pass subspaces=[(exponent, size), ...]."
        )
    return latents // SIZE


class ISATCVAE(ISAVAE):
    """ISA-TCVAE: the prior of ISA-VAE with the divergence of beta-TCVAE."""

    objectives = ((objectives.reconstruction, 1.0), (objectives.decomposed_kl, 1.0))
    defaults = {"beta": 6.0, "alpha": 1.0, "gamma": 1.0}


# Autoencoders with a categorical latent beside normal ones.


class ConcreteVAE(Autoencoder):
    """beta-VAE with a categorical latent, drawn from the Concrete distribution.

    Reconstruction, ``beta`` times the divergence of the normal latents, and ``category_beta`` times
    that of the categorical one from equal chances, ``sum_j q_j log q_j + log J``. While it trains
    the category is drawn softly, ``softmax((log q + g) / temperature)`` with g from the standard
    Gumbel distribution (Maddison et al. 2017; Jang et al. 2017), which approaches a choice as the
    temperature falls. Seed 003 asks for such latents where factors are discrete (section 7).

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
    latents : int
        Normal latents. These and the categories are the latents that `encode` gives: means, and
        after them the probabilities of the categories.
    categories : int
        Of the categorical latent.
    **options
        As for `Autoencoder`, without a prior; settings ``beta``, ``category_beta`` and
        ``temperature``, which `TrainOptions(schedules={"temperature": (1.0, 0.5)})` lets fall.

    Examples
    --------
    >>> model = ConcreteVAE((5,), 2, categories=3)
    >>> mean, _ = model.posterior(torch.zeros(4, 5))
    >>> mean.shape, [round(total, 4) for total in mean[:, 2:].sum(dim=1).tolist()]
    (torch.Size([4, 5]), [1.0, 1.0, 1.0, 1.0])
    """

    objectives: ClassVar[Weighted] = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.category_kl, "category_beta"),
    )
    defaults = {"beta": 1.0, "category_beta": 1.0, "temperature": 0.67}

    def __init__(
        self, shape: Any, latents: int = 10, *, categories: int = 3, **options: Any
    ) -> None:
        self.continuous = check_int(latents, "latents", low=1)
        self.categories = check_int(categories, "categories", low=2)
        prior = NormalCodes(self.continuous, self.categories)
        given = options.pop("prior", None)
        if given is not None and repr(given) != repr(prior):  # as it is loaded it brings its own
            raise InputError(f"ConcreteVAE has the prior {prior!r}; got {given!r}.")
        super().__init__(shape, prior.size, prior=prior, **options)
        if not self.settings.temperature > 0:
            raise InputError(f"temperature must be positive; got {self.settings.temperature}.")

    def read_codes(self, prepared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and log-variance of the normal latents, and logits of the categories."""
        mean, log_variance = self._posterior(prepared)
        return (
            mean[:, : self.continuous],
            log_variance[:, : self.continuous],
            mean[:, self.continuous :],
        )

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of every latent; a category has its probability and no spread."""
        return with_categories(*self.read_codes(self.prepare(x)))

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the model."""
        x = self.prepare(x)
        mean, log_variance, logits = self.read_codes(x)
        drawn = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        chosen = gumbel_softmax(logits, tau=self.settings.temperature, dim=1)
        z = torch.cat([drawn, chosen], dim=1)
        return Batch(
            x,
            mean,
            log_variance,
            z,
            self.decode(z.detach() if self.cut_decoder else z),
            self.prior,
            self.settings,
            self.groups,
            dataset_size,
            logits=logits,
        )

    def config(self) -> dict[str, Any]:
        """Everything needed to build the model again, as plain values."""
        said = super().config()
        options = {**said["options"], "categories": self.categories}
        return {**said, "latents": self.continuous, "options": options}
