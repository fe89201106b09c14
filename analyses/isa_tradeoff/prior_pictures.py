"""Priors of independent subspaces as pictures: iso-contours, orientations, trees (seed 002)."""

from __future__ import annotations

from pathlib import Path

from geodis import plots

EXPONENTS = (1.0, 2.0, 9.0)
WORDS = (
    "`prior_contours.png` (Fig. 2): where the norm of equation 6 is 1. `prior_orientation.png` "
    "(Fig. 3): places of a sprite, coloured by the horizontal latent, turn by 45 degrees under "
    "independent latents of exponent 1 and lie along the axes under those of exponent 9. "
    "`prior_trees.png` (Fig. 4): equation 6, and independent subspaces, equation 9."
)


def draw_priors(path: Path) -> None:
    """Figures 2 to 4: equation 6 for nine pairs of exponents, two orientations, two trees."""
    norms = {
        f"p0 = {p0:g}, p1 = {p1:g}": (p0, [1, (p1, [2])]) for p0 in EXPONENTS for p1 in EXPONENTS
    }
    plots.save_figure(plots.plot_prior_contours(norms)[0, 0], path / "prior_contours.png")
    plots.save_figure(plots.plot_prior_orientation()[0, 0], path / "prior_orientation.png")
    axes = plots.new_axes(1, 2, 9.6, 2.8)[0]
    plots.plot_prior_tree((2.1, [1, (2.2, [2])]), axes[0]).set_title("equation 6", fontsize=10)
    subspaces = [(1.95, [2]), (1.98, [2]), (2.17, [2])]
    plots.plot_prior_tree((2.1, subspaces), axes[1]).set_title("equation 9", fontsize=10)
    plots.save_figure(axes[0], path / "prior_trees.png")
