"""Unsupervised autoencoders: they learn from single rows without labels."""

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
from geodis.models.terms import discriminator_loss, gaussian_sample, permuted_latents

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from geodis.models.autoencoder import DIPSettings


class AE(Autoencoder):
    """Plain autoencoder: reconstruction only, without noise."""

    deterministic = True


class VAE(Autoencoder):
    """Variational autoencoder (seed 001, equation 2.1): reconstruction + beta KL, beta = 1."""

    objectives: ClassVar[Weighted] = ((objectives.reconstruction, 1.0), (objectives.kl, "beta"))
    defaults = {"beta": 1.0}


class BetaVAE(VAE):
    """beta-VAE (seed 001, equation 2.7): a VAE with a larger weight of the divergence."""

    defaults = {"beta": 4.0}


class AnnealedVAE(Autoencoder):
    """AnnealedVAE: reconstruction + gamma |KL - C|, C growing from 0 to `capacity` nats (000).

    Defaults are those of seed 000 for dSprites, A.2: gamma 1000 and a capacity of 25 nats
    (50 for CelebA). C grows during the whole training; in seed 000, over 100,000 steps.
    """

    objectives = ((objectives.reconstruction, 1.0), (objectives.capacity_gap, "gamma"))
    defaults = {"gamma": 1000.0, "capacity": 25.0}
    schedules = {"capacity": (0.0, None)}


class BetaTCVAE(Autoencoder):
    """beta-TCVAE: the divergence in three parts, total correlation times beta (seed 002, 3).

    ``alpha`` weighs the index-code information and ``gamma`` the dimension-wise divergence.
    """

    objectives = ((objectives.reconstruction, 1.0), (objectives.decomposed_kl, 1.0))
    defaults = {"beta": 6.0, "alpha": 1.0, "gamma": 1.0}


class InformationDropout(Autoencoder):
    """Information Dropout (seed 003, equation 8): reconstruction + beta KL(q(z|x) || q(z)).

    The divergence from the aggregate q(z), which is the information that codes have about their
    rows, replaces the divergence from a prior. With ``gamma`` the total correlation is minimised as
    well (equation 9). Both are estimated from batches as in beta-TCVAE; the original paper called
    the second intractable. No term keeps codes near a prior, so that `generate`, which samples a
    standard normal, may not match them.
    """

    objectives = ((objectives.reconstruction, 1.0), (objectives.coding_cost, 1.0))
    defaults = {"beta": 1.0, "gamma": 0.0}


# Number of hidden layers of the published discriminator, and their width (seed 003, A).
DISCRIMINATOR = {"discriminator_depth": 6, "discriminator_width": 1000}


class _Adversarial(Autoencoder):
    """An autoencoder with a discriminator of latents, whose size is in the settings."""

    def _build(self, latents: int) -> None:
        super()._build(latents)
        given = {name: getattr(self.settings, name) for name in DISCRIMINATOR}
        depth, width = (check_int(value, name, low=1) for name, value in given.items())
        self.discriminator = networks.discriminator(latents, hidden=width, depth=depth)


class FactorVAE(_Adversarial):
    """FactorVAE (seed 003, algorithm 2): a discriminator estimates the total correlation.

    The second batch B' of the algorithm is B itself, as in the software of seed 000: the
    discriminator gets m latents and the same m shuffled. With the published discriminator a step
    costs as much as twenty to thirty steps of a small VAE; with ``discriminator_width=200``, three.
    """

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, 1.0),
        (objectives.density_ratio_correlation, "gamma"),
    )
    defaults = {"gamma": 35.0, **DISCRIMINATOR}

    # Revision 0 compared one half of a batch with the other half shuffled. With a fast
    # discriminator this was so noisy that strong penalties increased the total correlation.
    revision = 1

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Compute the error of classifying latents of the batch against the same ones shuffled."""
        z = batch.z.detach()
        return discriminator_loss(self.discriminator, z, permuted_latents(z))


class AAE(_Adversarial):
    """Adversarial autoencoder (seed 003, equation 7): a discriminator brings q(z) to p(z).

    With ``beta=1`` the divergence is minimised too: the variant of FactorVAE in equation 12.
    """

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.density_ratio_prior, "gamma"),
    )
    defaults = {"gamma": 10.0, "beta": 0.0, **DISCRIMINATOR}

    def adversary_loss(self, batch: Batch) -> Tensor:
        """Compute the error of classifying latents of the batch against latents of the prior."""
        drawn = drawn_for(self.prior, batch.z.detach())
        return discriminator_loss(self.discriminator, batch.z.detach(), drawn)


class DIPVAE(Autoencoder):
    """DIP-VAE I and II: penalties on the covariance of the latents (seed 003, 10 and 11).

    The seeds give no weights. Defaults follow the software of the study in seed 000
    (disentanglement_lib, unsupervised_study_v1): ``off_diagonal`` is one of 1, 2, 5, 10, 20 and
    50, here 10. ``diagonal`` is ten times as large for kind "I", and equal to it for kind "II".
    """

    objectives = ((objectives.reconstruction, 1.0), (objectives.kl, "beta"), (objectives.dip, 1.0))
    defaults = {"beta": 1.0, "kind": "I", "off_diagonal": 10.0, "diagonal": 100.0}

    if TYPE_CHECKING:

        def __init__(
            self, shape: Any, latents: int = 10, **options: Unpack[DIPSettings]
        ) -> None: ...

    @classmethod
    def with_defaults(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the settings; a missing `diagonal` follows from the published ratio."""
        chosen = super().with_defaults(settings)
        weight = chosen["off_diagonal"]
        if "diagonal" not in settings and isinstance(weight, int | float):
            chosen["diagonal"] = weight if chosen["kind"] == "II" else 10 * weight
        return chosen


class InfoVAE(Autoencoder):
    """InfoVAE: a maximum mean discrepancy of q(z) and p(z) replaces (part of) the divergence."""

    objectives = (
        (objectives.reconstruction, 1.0),
        (objectives.kl, "beta"),
        (objectives.mmd, "mmd"),
    )
    defaults = {"beta": 0.0, "mmd": 100.0}


# Published exponents (seed 002, section 4): of the root, fixed ones, initial learnt ones; layout.
ROOT, FIXED, INITIAL = 2.1, 2.2, 2.0
SUBSPACES, SIZE = 5, 4


class ISAVAE(VAE):
    """ISA-VAE (seed 002, equation 12): a VAE whose prior has independent subspaces.

    Parameters
    ----------
    shape : as for `Autoencoder`
    latents : int, optional
        Determined by the layout; without one, a multiple of four, for subspaces of four.
    p0 : float
        Exponent of the root.
    subspaces : sequence of (exponent, size), optional
        Layout of the prior. The default is published for dSprites: five subspaces of four with
        exponent 2.2, or initially 2.0 if exponents are learnt.
    learn : {"none", "subspaces", "all"}
        Which exponents are learnt.
    scale : float
        Scale of the prior, which has variance scale / 2 if all exponents are 2: the standard normal
        for a scale of 2, but not for 1, the value in the published code.
    prior : LpNested, optional
        A prior with any tree, instead of the layout.
    **options
        As for `Autoencoder`.

    Examples
    --------
    >>> model = ISAVAE((5,), p0=2.1, subspaces=[(1.5, 3), (2.5, 2)])
    >>> model.latents
    5
    """

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
                exponent = FIXED if learn == "none" else INITIAL
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
    """Compute the number of subspaces of the published size."""
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

    objectives, defaults = BetaTCVAE.objectives, BetaTCVAE.defaults


class ConcreteVAE(Autoencoder):
    """beta-VAE with an additional categorical latent from the Concrete distribution.

    The loss is the reconstruction, plus ``beta`` times the divergence of the normal latents, plus
    ``category_beta`` times the divergence of the categorical latent from equal probabilities,
    ``sum_j q_j log q_j + log J``. During training the category is a soft sample,
    ``softmax((log q + g) / temperature)`` with g from the standard Gumbel distribution (Maddison et
    al. 2017; Jang et al. 2017), which becomes one-hot as the temperature falls. Seed 003 suggests
    such latents for discrete factors (section 7).

    Parameters
    ----------
    shape : (channels, height, width), (columns,), or FactorGrid
    latents : int
        Number of normal latents. `encode` returns their means, followed by the probabilities of
        the categories.
    categories : int
        Number of categories.
    **options
        As for `Autoencoder`, without a prior; settings ``beta``, ``category_beta`` and
        ``temperature``, which `TrainOptions(schedules={"temperature": (1.0, 0.5)})` lowers.

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
        if given is not None and repr(given) != repr(prior):  # loading passes the saved one
            raise InputError(f"ConcreteVAE has the prior {prior!r}; got {given!r}.")
        super().__init__(shape, prior.size, prior=prior, **options)
        if not self.settings.temperature > 0:
            raise InputError(f"temperature must be positive; got {self.settings.temperature}.")

    def read_codes(self, prepared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute mean and log-variance of the normal latents, and logits of the categories."""
        mean, log_variance = self._posterior(prepared)
        return (
            mean[:, : self.continuous],
            log_variance[:, : self.continuous],
            mean[:, self.continuous :],
        )

    def posterior(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute mean and log-variance of every latent; categories have the smallest variance."""
        return with_categories(*self.read_codes(self.prepare(x)))

    def forward(self, x: Tensor, dataset_size: int = 1, labels: Tensor | None = None) -> Batch:
        """Pass a batch through the model."""
        x = self.prepare(x)
        mean, log_variance, logits = self.read_codes(x)
        normal = gaussian_sample(mean, log_variance)
        category = gumbel_softmax(logits, tau=self.settings.temperature, dim=1)
        z = torch.cat([normal, category], dim=1)
        decoded = self.decode(z.detach() if self.cut_decoder else z)
        return self.batch(x, mean, log_variance, z, decoded, dataset_size, logits=logits)

    def config(self) -> dict[str, Any]:
        """Return everything needed to rebuild the model, as plain values."""
        config = super().config()
        options = {**config["options"], "categories": self.categories}
        return {**config, "latents": self.continuous, "options": options}
