"""InfoGAN as it was first defined: a discriminator that gives probabilities."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import softplus

from geodis.models import networks, objectives
from geodis.models.families.info_wgan import InfoWGANGP
from geodis.models.model_inputs import at_least_float32
from geodis.models.objectives import Batch


class InfoGAN(InfoWGANGP):
    """InfoGAN (seed 003, equations 13 to 15, table 5), from which `InfoWGANGP` came.

    With D(x) the probability that x is real, the generator lowers
    ``-E log D(G(z)) - information E log Q(c | G(c, noise))``; the discriminator lowers
    ``-E log D(x) - E log(1 - D(G(z)))`` and, for the trunk that it shares with Q, the same
    information term. Its training is known to degenerate sooner or later: the discriminator calls
    all rows real (appendix H); stop early.

    Parameters
    ----------
    shape, latents, categories, noise, random_state
        As for `InfoWGANGP`.
    **settings
        information : weight of the information term.

    Examples
    --------
    >>> InfoGAN((1, 32, 32), 4, categories=3).latents
    7
    """

    objectives = ((objectives.unconvincing, 1.0), (objectives.code_error, "information"))
    defaults = {"information": 1.0}
    unit_range = "InfoGAN"

    def _critic(self) -> networks.Critic:
        return networks.Critic(self.shape, normalise_batches=True)

    def adversary_loss(self, batch: Batch) -> Tensor:
        """What the discriminator and the shared trunk lower."""
        fake = batch.decoded.detach()
        real, made = (at_least_float32(self.discriminator(x)) for x in (batch.x, fake))
        # -log sigmoid(s) and -log(1 - sigmoid(s)) of the score s
        told_apart = softplus(-real).mean() + softplus(made).mean()
        return told_apart + self.settings.information * self._information(batch.x, fake, batch.z)
