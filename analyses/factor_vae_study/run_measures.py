"""What is measured of a trained model: both scores of the paper, reconstruction, correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from analyses.factor_vae_study.batch_estimates import SIZES
from analyses.factor_vae_study.study_presets import CATEGORIES, CONTINUOUS
from analyses.factor_vae_study.total_correlation import total_correlations
from analyses.unsupervised_study.narrow_models import Narrow
from geodis import FactorGrid, models, scores
from geodis.models.model_inputs import to_input
from geodis.models.objectives import reconstruction_rows

SCORE, OLDER, ERROR = "FactorVAE score", "BetaVAE score", "reconstruction error"
# Columns that hold the probabilities of the categorical latent.
CATEGORY = [list(range(CONTINUOUS, CONTINUOUS + CATEGORIES))]


def measure(model: models.Model, grid: FactorGrid, drawn: int) -> dict[str, float]:
    """Measure a model on all images.

    Parameters
    ----------
    model : Model
    grid : FactorGrid
    drawn : int
        Latents at which the total correlation is computed.

    Returns
    -------
    dict of str to float
        `SCORE` and `OLDER`; of autoencoders `ERROR` too, and what `total_correlations` finds, of
        those without a discriminator with batches.
    """
    everything = np.arange(len(grid))
    images, factors = grid.images(everything, "auto"), grid.factors(everything)
    codes, spreads = models.encode(model, images, log_variances=True)
    plain = isinstance(model, models.Autoencoder)
    # Collapsed latents are pruned, and a category has Gini's variance: appendix B.
    kind: dict[str, Any] = {"log_variances": spreads} if plain else {"discrete": CATEGORY}
    found = {
        SCORE: float(scores.factor_vae(codes, factors, random_state=0, **kind)),
        OLDER: float(scores.beta_vae(codes, factors, random_state=0)),
    }
    if plain:
        sizes = SIZES if model.discriminator is None else ()
        found[ERROR] = reconstruction_error(model, images, codes, spreads)
        found |= total_correlations(model, grid, drawn, sizes)
    return found


def reconstruction_error(
    model: models.Model, images: np.ndarray, codes: np.ndarray, spreads: np.ndarray
) -> float:
    """-E log p(x | z), nats an image of the published size: a pixel of ours counts sixteen times.

    Parameters
    ----------
    model : Model
    images : ndarray of shape (n, h, w, c)
    codes, spreads : ndarray of shape (n, z)
        Means and log-variances of q(z | x), from which one z an image is drawn.
    """
    noise = np.random.default_rng(0).standard_normal(codes.shape, dtype=np.float32)
    z = torch.from_numpy(codes + np.exp(0.5 * spreads) * noise)
    with torch.no_grad():
        each = reconstruction_rows(to_input(images, model.shape), model.decode(z), "bernoulli")
    return Narrow.pixels_in_one * float(each.mean())
