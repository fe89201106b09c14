"""Variational autoencoders whose prior has independent subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from geodis.base.check import InputError, check_int
from geodis.models import objectives
from geodis.models.families.unsupervised import VAE
from geodis.models.lp_nested_prior import LearntExponents, LpNested

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
