import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist, squareform

from geodis.base.check import InputError
from geodis.manifold import scaled_distances


@pytest.mark.parametrize("n", [40, 1300])  # all eigenvalues, and the largest
def test_distances_of_points_come_back(n):
    rows = np.random.default_rng(n).standard_normal((n, 4)) * [3, 2, 1, 0.5]
    apart = squareform(pdist(rows))
    found = scaled_distances(apart)
    assert found.points.shape == (n, 4) and found.lost < 1e-5
    assert_allclose(squareform(pdist(found.points)), apart, atol=1e-6)
    assert_allclose(found.points.var(axis=0), found.variances, rtol=1e-8)


def test_a_product_of_any_distances_is_a_product_of_coordinates():
    # On a full grid the factors are sampled independently, so that this holds exactly.
    angle = np.linspace(0, 2 * np.pi, 17, endpoint=False)
    arc = np.abs(angle[:, None] - angle)
    arc = np.minimum(arc, 2 * np.pi - arc)
    line = np.abs(np.linspace(0, 9, 5)[:, None] - np.linspace(0, 9, 5))
    i, j = (axis.ravel() for axis in np.indices((17, 5)))
    together = scaled_distances(np.sqrt(arc[i][:, i] ** 2 + line[j][:, j] ** 2))
    for own, which in ((arc, i), (line, j)):
        alone = scaled_distances(own)
        # Every coordinate of a factor is one of the product, up to rotation in its eigenvalue.
        kept = alone.variances > together.variances.min() * (1 - 1e-6)
        assert kept.any()
        points = alone.points[which][:, kept]
        left = points - together.points @ np.linalg.lstsq(together.points, points, rcond=None)[0]
        assert np.abs(left).max() < 1e-8


def test_angles_between_points_of_a_sphere_lose_a_part():
    rows = np.random.default_rng(0).standard_normal((300, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    angles = np.arccos(np.clip(rows @ rows.T, -1, 1))
    np.fill_diagonal(angles, 0)
    assert 0.05 < scaled_distances(angles).lost < 0.5


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (np.zeros((3, 2)), "X must hold distances, shape"),
        ([[0, 1, 1], [2, 0, 1], [1, 1, 0]], "Distances must be symmetric"),
        ([[0, -1], [-1, 0]], "non-negative"),
        ([[1, 1], [1, 0]], "zero on the diagonal"),
        (np.zeros((4, 4)), "must not all be zero"),
    ],
)
def test_what_is_no_distance_is_refused(distances, message):
    with pytest.raises(InputError, match=message):
        scaled_distances(distances)
