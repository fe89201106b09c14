"""Autoencoders and their kin, whose latents geodis analyses (torch)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodis._lazy import lazy_names

if TYPE_CHECKING:  # for editors and type checkers; `_HOME` is what runs
    from geodis.models.autoencoders import (
        AAE,
        AE,
        DIPVAE,
        TAE,
        TVAE,
        VAE,
        AdaGVAE,
        AdaMLVAE,
        AdaTVAE,
        AnnealedVAE,
        Autoencoder,
        BetaTCVAE,
        BetaVAE,
        FactorVAE,
        InfoVAE,
    )
    from geodis.models.gan import InfoWGANGP
    from geodis.models.metric import MetricEncoder
    from geodis.models.model import Model
    from geodis.models.priors import LpNested, StandardNormal, UniformCodes
    from geodis.models.saving import load_model, save_model
    from geodis.models.subspaces import ISATCVAE, ISAVAE
    from geodis.models.training import Training, train
    from geodis.models.use import (
        channel_moments,
        decode,
        encode,
        iwae_bound,
        reconstruct,
        sample,
        traverse,
    )
    from geodis.models.watching import score_during

# Public names, and the file each lives in.
_HOME: dict[str, str] = {
    **dict.fromkeys(
        ("Autoencoder", "AE", "VAE", "BetaVAE", "AnnealedVAE", "BetaTCVAE", "FactorVAE", "AAE",
         "DIPVAE", "InfoVAE", "AdaGVAE", "AdaMLVAE", "TAE", "TVAE", "AdaTVAE"),
        "autoencoders",
    ),
    "ISAVAE": "subspaces",
    "ISATCVAE": "subspaces",
    "InfoWGANGP": "gan",
    "MetricEncoder": "metric",
    "Model": "model",
    "LpNested": "priors",
    "StandardNormal": "priors",
    "UniformCodes": "priors",
    "Training": "training",
    "train": "training",
    "encode": "use",
    "decode": "use",
    "reconstruct": "use",
    "sample": "use",
    "traverse": "use",
    "iwae_bound": "use",
    "channel_moments": "use",
    "score_during": "watching",
    "save_model": "saving",
    "load_model": "saving",
    **{
        name: name
        for name in ("autoencoders", "networks", "objectives", "priors", "saving", "training",
                     "triplets", "use")
    },
}  # fmt: skip

__all__ = list(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME)
