"""Figures of walks along one factor: a strip of images, or the columns of the points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError, to_numpy
from geodis.plots.figure.sprite_sheet import as_pictures
from geodis.plots.style import FACTOR_COLORS, FAINT, new_axis, tidy

if TYPE_CHECKING:
    from geodis.manifold.walks.walk_results import Walk

# Columns that are drawn, those first that move most.
MOST_COLUMNS = 7
# White between two images, as a share of their width; a place that is farther than so many
# spacings from all samples is marked.
GAP, FAR = 0.06, 3.0


def plot_walk(walk: Walk, images: Any = None, axis: Any = None) -> Any:
    """Draw what changes along a walk: a strip of images, or the columns that move most.

    Under every place stands how far it is from the start; a star marks a place so far from all
    samples that what is shown there is a guess.

    Parameters
    ----------
    walk : Walk
        Of `GeoManCER.walk`.
    images : array-like of shape (s, h, w[, c]) or (n, h, w[, c]), c 1 or 3, optional
        One for every place, such as `Walk.decode` gives, or one for every fitted point, of which
        the nearest are shown. Without them, the columns of the points are lines.
    axis : matplotlib axis, optional

    Returns
    -------
    matplotlib axis
    """
    if not hasattr(walk, "nearest_images"):
        raise InputError(f"walk must be what GeoManCER.walk returns; got {walk!r}.")
    if images is None:
        return _columns(walk, axis)
    pictures = to_numpy(images, "images")
    drawn = pictures.ndim == 3 or (pictures.ndim == 4 and pictures.shape[3] in (1, 3))
    if not drawn or len(pictures) not in (len(walk), walk.n_samples):
        raise InputError(
            f"images must be those of the {len(walk)} places or of the {walk.n_samples:,} fitted "
            f"points, of shape (h, w), (h, w, 1) or (h, w, 3) each; got shape {pictures.shape}."
        )
    if len(pictures) != len(walk):
        pictures = walk.nearest_images(pictures)
    pictures = as_pictures(pictures)
    s, height, width = pictures.shape[:3]
    axis = new_axis(0.9 * s + 0.4, 0.9 * height / width + 0.9) if axis is None else axis
    for place, picture in enumerate(pictures):
        left = place * (1 + GAP)
        axis.imshow(
            picture,
            extent=(left, left + 1, 0, height / width),
            interpolation="nearest",
        )
    axis.set_xlim(0, s * (1 + GAP) - GAP)
    axis.set_ylim(0, height / width)
    far = walk.gap > FAR * walk.spacing
    labels = [
        f"{length:.2g}{'*' if out else ''}" for length, out in zip(walk.lengths, far, strict=True)
    ]
    axis.set_xticks(np.arange(s) * (1 + GAP) + 0.5, labels)
    axis.set_yticks([])
    axis.tick_params(length=0, labelsize=8)
    axis.spines[:].set_visible(False)
    return _titled(walk, axis)


def _columns(walk: Walk, axis: Any) -> Any:
    """The columns that move most, as lines over the length."""
    axis = new_axis(6.4, 3.4) if axis is None else axis
    order = np.argsort(-np.ptp(walk.points, axis=0), kind="stable")[:MOST_COLUMNS]
    for color, column in zip(FACTOR_COLORS, sorted(order), strict=False):
        axis.plot(
            walk.lengths, walk.points[:, column], color=color, marker="o", ms=3, label=f"{column}"
        )
    if walk.stopped is not None:
        axis.axvline(walk.stopped, color=FAINT, lw=1, ls="--")
    axis.set_ylabel("column of the points")
    axis.legend(
        title="column", fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5)
    )
    return tidy(_titled(walk, axis))


def _titled(walk: Walk, axis: Any) -> Any:
    axis.set_xlabel(f"length along factor {walk.factor}")
    if walk.reason:
        axis.set_title(walk.reason, loc="left", fontsize=9)
    return axis
