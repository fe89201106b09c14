"""The total correlation of an autoencoder's latents: true, by its discriminator, from batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from geodis import FactorGrid, models, scores
from geodis.models.terms import gaussian_log_density
from geodis.models.training.during import mixture_log_densities

TRUE, ESTIMATE, LOG_Q = "true TC", "discriminator's TC", "log q(z)"
NORMAL, INFORMATION = "TC of a normal fit", "information"


def total_correlations(
    model: models.Model,
    grid: FactorGrid,
    drawn: int = 1000,
    sizes: Sequence[int] = (),
    random_state: int = 0,
) -> dict[str, float]:
    """Total correlation KL(q(z) || prod_j q(z_j)), as a mean over latents drawn from q(z).

    The truth: q(z) is the mean of q(z | x) over all images of the grid, computed as such. Images
    left out would bias it, for a random part of a product of factors is no product. Where the
    information E log q(z | x) / q(z) is near to log N of N images, their posteriors hardly overlap,
    and the gaps between them count, too; a normal distribution fitted to q(z) has none, and sees
    linear dependence alone. The discriminator's estimate is its mean log-ratio at the same latents.
    From a batch B of other images (seed 003, equation 6), q(z) is the mean over those.

    Parameters
    ----------
    model : Model
        An autoencoder with noise.
    grid : FactorGrid
    drawn : int
        Latents, each of an image of its own.
    sizes : sequence of int
        Images of the batches B, none of which latents are of; those that there are not enough
        images for are left out.
    random_state : int
        Of the images and of the noise.

    Returns
    -------
    dict of str to float
        `TRUE`, `LOG_Q`, `INFORMATION` and `NORMAL`, with a discriminator `ESTIMATE`, and for every
        size "log q(z), B of 64", "TC, B of 64", and "TC, B of 64 itself", whose latents are of the
        batch.

    Examples
    --------
    >>> grid = FactorGrid.from_arrays(np.random.default_rng(0).random((90, 4, 4)), np.arange(90))
    >>> found = total_correlations(models.VAE(grid, 2, network="vector"), grid, drawn=20)
    >>> list(found), abs(found[TRUE]) < 0.1
    (['true TC', 'log q(z)', 'information', 'TC of a normal fit'], True)
    """
    random = np.random.default_rng(random_state)
    order = random.permutation(len(grid))
    codes, spreads = models.encode(model, grid.images(order, "auto"), log_variances=True)
    # Single precision, as they were computed: half the work, and the truth the same to 1e-4.
    mean, log_variance = torch.from_numpy(codes), torch.from_numpy(spreads)
    count = min(drawn, len(grid))
    noise = torch.from_numpy(random.standard_normal((count, mean.shape[1]), dtype=np.float32))
    z = mean[:count] + (0.5 * log_variance[:count]).exp() * noise

    def densities(latents: slice, images: slice) -> tuple[float, float]:
        """Mean log q(z), and the total correlation, with q of these images."""
        joint, product = mixture_log_densities(z[latents], mean[images], log_variance[images])
        return float(joint.mean()), float((joint - product).mean())

    every = slice(None)
    log_q, truth = densities(every, every)
    own = gaussian_log_density(z, mean[:count], log_variance[:count]).sum(dim=1)
    found = {
        TRUE: truth,
        LOG_Q: log_q,
        INFORMATION: float(own.mean()) - log_q,
        NORMAL: float(scores.gaussian_total_correlation(codes, log_variances=spreads)),
    }
    if model.discriminator is not None:
        with torch.no_grad():
            logits = model.discriminator(z).float()
        found[ESTIMATE] = float((logits[:, 0] - logits[:, 1]).mean())
    for size in sizes:
        if count + size > len(grid):
            continue
        log_q, apart = densities(every, slice(count, count + size))
        _, within = densities(slice(size), slice(size))
        found |= {
            f"{LOG_Q}, B of {size}": log_q,
            f"TC, B of {size}": apart,
            f"TC, B of {size} itself": within,
        }
    return found
