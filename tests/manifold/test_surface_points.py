import numpy as np
import pytest

from geodis import GeoManCER, product_manifold
from geodis.manifold import surface_points


def off_surface(points, clean):
    """Root mean square distance across the true tangent spaces from the clean points."""
    frames = np.concatenate(clean.tangents, axis=1)
    away = points - clean.points
    along = np.einsum("nkd,nd->nk", frames, away)
    return np.sqrt(((away**2).sum(axis=1) - (along**2).sum(axis=1)).mean())


@pytest.mark.filterwarnings("ignore:Tangents err by 0.2")  # of the torus with most noise
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.15])
@pytest.mark.parametrize("spec", ["S^1", "S^2 x S^1", "torus(2, .7)", "SO(3)"])
def test_noise_across_the_surface_goes(spec, noise, seed):
    drawn = {"n": 1500, "pad": 4, "rotate": True, "random_state": seed}
    clean = product_manifold(spec, **drawn)
    noisy = product_manifold(spec, noise=noise, **drawn)
    est = GeoManCER(dim=clean.dim, flat="keep", verbose=0).fit(noisy.points)
    before, after = off_surface(noisy.points, clean), off_surface(est.denoised_, clean)
    assert after < 0.7 * before
    assert est.denoising_.noise == pytest.approx(noise, rel=0.35)


@pytest.mark.parametrize("spec", ["S^1", "S^2", "torus(2, .7)", "ellipsoid(1, 1, 2) x S^1"])
def test_clean_points_are_left_alone(spec):
    clean = product_manifold(spec, 1500, random_state=0)
    est = GeoManCER(flat="keep", verbose=0).fit(clean.points)
    np.testing.assert_allclose(est.denoised_, clean.points, atol=1e-12)
    assert est.denoising_.noise == 0 and "left alone" in est.denoising_.how


def test_points_without_axes_and_filled_spaces_stay():
    circle = product_manifold("S^1", 400, noise=0.05, random_state=0)
    frames = circle.tangents[0].copy()
    frames[7] = np.nan
    moved = surface_points(circle.points, frames, 40).points
    assert (moved[7] == circle.points[7]).all() and (moved[8] != circle.points[8]).any()
    whole = np.broadcast_to(np.eye(2), (400, 2, 2))
    assert surface_points(circle.points, whole, 40).points is circle.points
