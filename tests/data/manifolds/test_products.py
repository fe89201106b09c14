import warnings
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import cumulative_trapezoid
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist
from scipy.special import ellipeinc, ive
from scipy.stats import beta, chi2, kstest, uniform

from geodis.base.check import InputError
from geodis.data.manifolds.directions import orthogonal_complement
from geodis.data.manifolds.products import ManifoldSample, product_manifold

SEEDS = range(4)
# Chance of a false alarm of one Kolmogorov-Smirnov test. The seeds are fixed, so that a test
# either passes always or never.
ALARM = 1e-3

# ---- equations that hold on every space: points (n, d) -> zeros (n, number of equations) ----


def sphere_equations(x: np.ndarray, r: float = 1.0) -> np.ndarray:
    return (x**2).sum(axis=1, keepdims=True) - r**2


def orthonormal_columns(x: np.ndarray, m: int, p: int) -> np.ndarray:
    u = x.reshape(-1, m, p)
    return (u.swapaxes(1, 2) @ u - np.eye(p)).reshape(len(x), -1)


def pair_radii(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(x.reshape(len(x), -1, 2), axis=2)


def ellipsoid_equations(x: np.ndarray, axes: Sequence[float]) -> np.ndarray:
    return sphere_equations(x / np.array(axes))


def torus_equations(x: np.ndarray, R: float, r: float) -> np.ndarray:
    return (np.hypot(x[:, :1], x[:, 1:2]) - R) ** 2 + x[:, 2:] ** 2 - r**2


def hyperbolic_height(s: Any, k: int) -> Any:
    c = np.sqrt(1 - (k - 1) * s**2)
    return np.arctanh(c) - c


def hyperbolic_equations(x: np.ndarray, k: int) -> np.ndarray:
    s = pair_radii(x[:, :-1])
    height = x[:, -1:] - hyperbolic_height(s[:, :1], k)
    return np.hstack([s[:, 1:] - s[:, :1], height])


def projector_equations(x: np.ndarray, m: int) -> np.ndarray:
    p = x.reshape(-1, m, m)
    return np.hstack([(p @ p - p).reshape(len(x), -1), (p - p.swapaxes(1, 2)).reshape(len(x), -1)])


# text -> dim, ambient_dim, equations
Equations = Callable[[np.ndarray], np.ndarray]

SPACES: dict[str, tuple[int, int, Equations]] = {
    "S^1": (1, 2, sphere_equations),
    "S^2": (2, 3, sphere_equations),
    "S^5(0.3)": (5, 6, lambda x: sphere_equations(x, 0.3)),
    "SO(2)": (1, 4, lambda x: orthonormal_columns(x, 2, 2)),
    "SO(3)": (3, 9, lambda x: orthonormal_columns(x, 3, 3)),
    "SO(5)": (10, 25, lambda x: orthonormal_columns(x, 5, 5)),
    "T^1": (1, 2, lambda x: pair_radii(x) - 1),
    "T^3": (3, 6, lambda x: pair_radii(x) - 1),
    "R^1": (1, 1, lambda x: np.zeros((len(x), 1))),
    "R^4": (4, 4, lambda x: np.zeros((len(x), 1))),
    "H^2": (2, 3, lambda x: hyperbolic_equations(x, 2)),
    "H^4": (4, 7, lambda x: hyperbolic_equations(x, 4)),
    "ellipsoid(1, 2)": (1, 2, lambda x: ellipsoid_equations(x, (1, 2))),
    "ellipsoid(0.5, 1, 3)": (2, 3, lambda x: ellipsoid_equations(x, (0.5, 1, 3))),
    "ellipsoid(1, 3, 2, 0.2)": (3, 4, lambda x: ellipsoid_equations(x, (1, 3, 2, 0.2))),
    "torus(2, 0.7)": (2, 3, lambda x: torus_equations(x, 2, 0.7)),
    "St(2, 1)": (1, 2, lambda x: orthonormal_columns(x, 2, 1)),
    "St(4, 2)": (5, 8, lambda x: orthonormal_columns(x, 4, 2)),
    "St(5, 3)": (9, 15, lambda x: orthonormal_columns(x, 5, 3)),
    "Gr(3, 1)": (2, 9, lambda x: projector_equations(x, 3)),
    "Gr(5, 2)": (6, 25, lambda x: projector_equations(x, 5)),
}


@pytest.fixture(scope="module")
def geomstats() -> Iterator[SimpleNamespace]:
    """Independent manifolds; their own warnings are not ours to fix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("geomstats")
        from geomstats.geometry.grassmannian import Grassmannian
        from geomstats.geometry.hypersphere import Hypersphere
        from geomstats.geometry.poincare_half_space import PoincareHalfSpace
        from geomstats.geometry.special_orthogonal import SpecialOrthogonal
        from geomstats.geometry.stiefel import Stiefel

        yield SimpleNamespace(
            Grassmannian=Grassmannian,
            Hypersphere=Hypersphere,
            PoincareHalfSpace=PoincareHalfSpace,
            SpecialOrthogonal=SpecialOrthogonal,
            Stiefel=Stiefel,
        )


def assert_orthonormal(frames: np.ndarray) -> None:
    k = frames.shape[1]
    gram = frames @ frames.swapaxes(1, 2)
    assert_allclose(gram, np.broadcast_to(np.eye(k), gram.shape), rtol=0, atol=1e-12)


# ---- points and frames ----


@pytest.mark.parametrize("text", SPACES)
def test_dimensions_and_name(text: str) -> None:
    dim, ambient_dim, _ = SPACES[text]
    sample = product_manifold(text, 7, random_state=0)
    assert sample.points.shape == (7, ambient_dim)
    assert [frames.shape for frames in sample.tangents] == [(7, dim, ambient_dim)]
    assert (sample.dim, sample.factor_dims, sample.n_factors) == (dim, (dim,), 1)
    assert sample.names == (text,)


@pytest.mark.parametrize("text", SPACES)
def test_points_satisfy_the_equations_of_their_space(text: str) -> None:
    for seed in SEEDS:
        sample = product_manifold(text, 50, random_state=seed)
        assert_allclose(SPACES[text][2](sample.points), 0, atol=1e-12)


@pytest.mark.parametrize("text", SPACES)
def test_frames_are_the_kernel_of_the_equations(text: str) -> None:
    dim, ambient_dim, equations = SPACES[text]
    step = 1e-5
    for seed in SEEDS:
        sample = product_manifold(text, 20, random_state=seed)
        (frames,) = sample.tangents
        assert_orthonormal(frames)
        jacobian = np.stack(
            [
                (equations(sample.points + e) - equations(sample.points - e)) / (2 * step)
                for e in step * np.eye(ambient_dim)
            ],
            axis=2,
        )  # (n, equations, ambient_dim)
        assert_allclose(jacobian @ frames.swapaxes(1, 2), 0, atol=1e-7)
        # The equations leave exactly as many directions as the frame has rows.
        assert_array_equal(np.linalg.matrix_rank(jacobian, tol=1e-4), ambient_dim - dim)


def test_rotations_have_determinant_one() -> None:
    for k in (2, 3, 4):
        q = product_manifold(f"SO({k})", 200, random_state=0).points.reshape(-1, k, k)
        assert_allclose(np.linalg.det(q), 1)


def test_frames_at_the_poles_of_the_sphere() -> None:
    poles = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0.0, 1, 0], [-1e-300, 0, 1]])
    frames = orthogonal_complement(poles)
    assert_orthonormal(frames)
    assert_allclose(np.einsum("nkd,nd->nk", frames, poles), 0, atol=1e-15)


def test_frames_of_different_factors_are_orthogonal() -> None:
    spec = " x ".join(SPACES)
    for rotate, pad in ((False, 0), (True, 3)):
        sample = product_manifold(spec, 5, rotate=rotate, pad=pad, random_state=1)
        assert sample.factor_dims == tuple(dim for dim, _, _ in SPACES.values())
        assert sample.names == tuple(SPACES)
        assert_orthonormal(np.concatenate(sample.tangents, axis=1))


SINGLE_SPACES = st.one_of(
    st.integers(1, 6).map(lambda k: (f"S^{k}", k, k + 1)),
    st.tuples(st.integers(1, 6), st.floats(0.01, 100)).map(
        lambda kr: (f"S^{kr[0]}({kr[1]!r})", kr[0], kr[0] + 1)
    ),
    st.integers(2, 5).map(lambda k: (f"SO({k})", k * (k - 1) // 2, k * k)),
    st.integers(1, 4).map(lambda k: (f"T^{k}", k, 2 * k)),
    st.integers(1, 4).map(lambda k: (f"R^{k}", k, k)),
    st.integers(2, 6).map(lambda k: (f"H^{k}", k, 2 * k - 1)),
    st.lists(st.floats(0.05, 20), min_size=2, max_size=6).map(
        lambda axes: (f"ellipsoid({', '.join(map(repr, axes))})", len(axes) - 1, len(axes))
    ),
    st.floats(0.01, 0.99).map(lambda r: (f"torus(1, {r!r})", 2, 3)),
    st.integers(2, 5).flatmap(
        lambda m: st.integers(1, m - 1).map(
            lambda p: (f"St({m}, {p})", p * (m - p) + p * (p - 1) // 2, m * p)
        )
    ),
    st.integers(2, 5).flatmap(
        lambda m: st.integers(1, m - 1).map(lambda p: (f"Gr({m},{p})", p * (m - p), m * m))
    ),
)


@settings(deadline=None, max_examples=60)
@given(
    spaces=st.lists(SINGLE_SPACES, min_size=1, max_size=4),
    separator=st.sampled_from(["x", " x ", "  ×", "* ", "X"]),
    n=st.integers(1, 4),
    rotate=st.booleans(),
    pad=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)
def test_any_product_adds_up_its_dimensions(
    spaces: list[tuple[str, int, int]], separator: str, n: int, rotate: bool, pad: int, seed: int
) -> None:
    texts, dims, ambient_dims = zip(*spaces, strict=True)
    sample = product_manifold(separator.join(texts), n, rotate=rotate, pad=pad, random_state=seed)
    assert sample.factor_dims == dims
    assert sample.dim == sum(dims)
    assert sample.points.shape == (n, sum(ambient_dims) + pad)
    frames = np.concatenate(sample.tangents, axis=1)
    assert frames.shape == (n, sum(dims), sum(ambient_dims) + pad)
    assert_orthonormal(frames)
    # The names are a spec of the same product.
    again = product_manifold(sample.names, n, rotate=rotate, pad=pad, random_state=seed)
    assert_array_equal(again.points, sample.points)


# ---- geomstats as an independent oracle ----

TANGENT_ORACLES = {
    "S^1": lambda g: (g.Hypersphere(1), (2,)),
    "S^4": lambda g: (g.Hypersphere(4), (5,)),
    "SO(3)": lambda g: (g.SpecialOrthogonal(3), (3, 3)),
    "SO(4)": lambda g: (g.SpecialOrthogonal(4), (4, 4)),
    "St(4, 2)": lambda g: (g.Stiefel(4, 2), (4, 2)),
    "St(5, 3)": lambda g: (g.Stiefel(5, 3), (5, 3)),
    "Gr(3, 1)": lambda g: (g.Grassmannian(3, 1), (3, 3)),
    "Gr(5, 2)": lambda g: (g.Grassmannian(5, 2), (5, 5)),
}


@pytest.mark.parametrize("text", TANGENT_ORACLES)
def test_frames_are_the_tangent_spaces_of_geomstats(text: str, geomstats: SimpleNamespace) -> None:
    space, shape = TANGENT_ORACLES[text](geomstats)
    for seed in SEEDS:
        n = 10
        sample = product_manifold(text, n, random_state=seed)
        (frames,) = sample.tangents
        bases = sample.points.reshape(n, *shape)
        assert frames.shape[1] == space.dim
        assert np.all(space.belongs(bases, atol=1e-10))
        for j in range(frames.shape[1]):
            row = frames[:, j].reshape(n, *shape)
            assert_allclose(space.to_tangent(row, bases), row, atol=1e-12)
        # Any vector at all: the projection onto the frame is the projection of geomstats.
        vectors = np.random.default_rng(seed).standard_normal(sample.points.shape)
        projected = np.einsum("nkd,nkc,nc->nd", frames, frames, vectors)
        expected = space.to_tangent(vectors.reshape(n, *shape), bases)
        assert_allclose(projected, expected.reshape(n, -1), atol=1e-12)


def half_space_point(x: np.ndarray) -> np.ndarray:
    """Coordinates (v, 1 / s) in the upper half-space of points of H^k."""
    pairs = x[:, :-1].reshape(len(x), -1, 2)
    s = np.linalg.norm(pairs[:, 0], axis=1)
    return np.column_stack([np.arctan2(pairs[:, :, 1], pairs[:, :, 0]), 1 / s])


def as_matrices(m: int, p: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: x.reshape(-1, m, p)


# text -> space of geomstats, coordinates there, length of our metric in units of theirs
METRIC_ORACLES = {
    "S^3": (lambda g: g.Hypersphere(3), lambda x: x, 1),
    "S^2(0.5)": (lambda g: g.Hypersphere(2), lambda x: x / 0.5, 0.5),
    "SO(2)": (lambda g: g.SpecialOrthogonal(2), as_matrices(2, 2), np.sqrt(2)),
    "SO(3)": (lambda g: g.SpecialOrthogonal(3), as_matrices(3, 3), np.sqrt(2)),
    "H^2": (lambda g: g.PoincareHalfSpace(2), half_space_point, 1),
    "H^3": (lambda g: g.PoincareHalfSpace(3), half_space_point, 1),
    "Gr(3, 1)": (lambda g: g.Grassmannian(3, 1), as_matrices(3, 3), 1),
    "Gr(4, 2)": (lambda g: g.Grassmannian(4, 2), as_matrices(4, 4), 1),
}


@pytest.mark.parametrize("text", METRIC_ORACLES)
def test_short_chords_are_the_geodesic_distances_of_geomstats(
    text: str, geomstats: SimpleNamespace
) -> None:
    make, coordinates, scale = METRIC_ORACLES[text]
    points = product_manifold(text, 20_000, random_state=0).points
    chord, neighbour = (column[:, 1] for column in cKDTree(points).query(points, k=2))
    # Not the very shortest: those of a curve are so short that rounding shows.
    close = np.argsort(np.where(chord > 1e-4, chord, np.inf))[:100]
    here, there = coordinates(points[close]), coordinates(points[neighbour[close]])
    if text.startswith("H"):  # the angles are periodic in ours, and straight lines in theirs
        turns = np.round((there - here)[:, :-1] / (2 * np.pi))
        there[:, :-1] -= 2 * np.pi * turns
    geodesic = scale * make(geomstats).metric.dist(here, there)
    chord = chord[close]
    assert chord.max() < 0.15
    # A chord falls short of its geodesic by curvature^2 length^3 / 24; no curvature exceeds 6.
    assert np.all(np.abs(chord - geodesic) <= 36 / 24 * geodesic**3 + 1e-9)


def test_stiefel_differs_from_the_canonical_metric_by_half_its_skew_part(
    geomstats: SimpleNamespace,
) -> None:
    sample = product_manifold("St(5, 3)", 6, random_state=0)
    metric = geomstats.Stiefel(5, 3).metric
    expected = np.diag([0.5] * 3 + [1.0] * 6)  # three skew directions come first
    for point, frame in zip(sample.points, sample.tangents[0], strict=True):
        rows = frame.reshape(-1, 5, 3)
        gram = [[metric.inner_product(a, b, point.reshape(5, 3)) for a in rows] for b in rows]
        assert_allclose(gram, expected, atol=1e-12)


# ---- uniform by volume ----


@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("radius", [1, 2.5])
def test_sphere_coordinates_follow_their_beta_law(k: int, radius: float) -> None:
    # On S^k, (1 + x) / 2 ~ Beta(k / 2, k / 2); for S^2 uniform (Archimedes).
    for seed in SEEDS:
        points = product_manifold(f"S^{k}({radius})", 2000, random_state=seed).points
        for x in points.T:
            assert kstest((1 + x / radius) / 2, beta(k / 2, k / 2).cdf).pvalue > ALARM


def test_rotation_angles_of_so3_follow_their_law() -> None:
    for seed in SEEDS:
        q = product_manifold("SO(3)", 2000, random_state=seed).points.reshape(-1, 3, 3)
        angle = np.arccos(np.clip((np.trace(q, axis1=1, axis2=2) - 1) / 2, -1, 1))
        # density (1 - cos t) / pi
        assert kstest(angle, lambda t: (t - np.sin(t)) / np.pi).pvalue > ALARM


def test_so2_and_torus_angles_are_uniform() -> None:
    for seed in SEEDS:
        sample = product_manifold("SO(2) x T^2", 2000, random_state=seed).points
        pairs = sample[:, [0, 2]], sample[:, 4:6], sample[:, 6:8]
        for x, y in (pair.T for pair in pairs):
            angle = np.arctan2(y, x)
            assert kstest(angle, uniform(-np.pi, 2 * np.pi).cdf).pvalue > ALARM


@pytest.mark.parametrize("k", [3, 4, 5])
def test_rotation_matrices_have_uncorrelated_entries_of_variance_one_over_k(k: int) -> None:
    n = 20_000
    for seed in SEEDS:
        points = product_manifold(f"SO({k})", n, random_state=seed).points
        assert_allclose(points.mean(axis=0), 0, atol=5 / np.sqrt(n * k))
        assert_allclose(points.T @ points / n, np.eye(k * k) / k, atol=5 / np.sqrt(n) / k)


def test_stiefel_is_uniform() -> None:
    n, m, p = 20_000, 5, 3
    for seed in SEEDS:
        points = product_manifold(f"St({m}, {p})", n, random_state=seed).points
        assert_allclose(points.mean(axis=0), 0, atol=5 / np.sqrt(n * m))
        assert_allclose(points.T @ points / n, np.eye(m * p) / m, atol=5 / np.sqrt(n) / m)
        # Every column is uniform on the sphere.
        law = beta((m - 1) / 2, (m - 1) / 2)
        assert kstest((1 + points[:2000, -1]) / 2, law.cdf).pvalue > ALARM


def test_grassmann_is_uniform() -> None:
    n, m, p = 20_000, 5, 2
    for seed in SEEDS:
        points = product_manifold(f"Gr({m}, {p})", n, random_state=seed).points
        projectors = points.reshape(n, m, m)
        assert_allclose(projectors.mean(axis=0), p / m * np.eye(m), atol=5 * 0.3 / np.sqrt(n))
        # A unit vector has a squared length Beta(p / 2, (m - p) / 2) in a random plane.
        law = beta(p / 2, (m - p) / 2)
        for i in range(m):
            assert kstest(projectors[:2000, i, i], law.cdf).pvalue > ALARM


def test_cube_is_uniform() -> None:
    points = product_manifold("R^3", 2000, random_state=0).points
    for x in points.T:
        assert kstest(x, uniform(-1, 2).cdf).pvalue > ALARM
    assert_allclose(np.corrcoef(points.T), np.eye(3), atol=0.1)


def ellipsoid_surface(t: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.stack([0.5 * np.sin(t) * np.cos(a), 1 * np.sin(t) * np.sin(a), 3 * np.cos(t)])


def torus_surface(b: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.stack(
        [(2 + 1.5 * np.cos(b)) * np.cos(a), (2 + 1.5 * np.cos(b)) * np.sin(a), 1.5 * np.sin(b)]
    )


def pseudosphere_surface(s: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.stack([s * np.cos(a), s * np.sin(a), hyperbolic_height(s, 2)])


@pytest.mark.parametrize(
    ("text", "surface", "first", "last"),
    [
        ("ellipsoid(0.5, 1, 3)", ellipsoid_surface, 0, np.pi),
        ("torus(2, 1.5)", torus_surface, 0, 2 * np.pi),
        ("H^2", pseudosphere_surface, 0.9 / 4, 0.9),
    ],
)
def test_surfaces_are_uniform_by_area(
    text: str, surface: Callable[..., np.ndarray], first: float, last: float
) -> None:
    # Areas |dx/dt x dx/da| by differences at the midpoints of a grid.
    size = 400
    t, a = np.meshgrid(
        first + (last - first) * (np.arange(size) + 0.5) / size,
        2 * np.pi * (np.arange(size) + 0.5) / size,
    )
    h = 1e-6
    across = surface(t + h, a) - surface(t - h, a)
    around = surface(t, a + h) - surface(t, a - h)
    area = np.linalg.norm(np.cross(across, around, axis=0), axis=0)
    cells = surface(t, a)

    n = 20_000
    points = product_manifold(text, n, random_state=0).points
    assert_allclose(points.min(axis=0), cells.min(axis=(1, 2)), atol=0.02)
    assert_allclose(points.max(axis=0), cells.max(axis=(1, 2)), atol=0.02)
    for x, cell in zip(points.T, cells, strict=True):
        for threshold in np.quantile(cell, [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95]):
            fraction = area[cell < threshold].sum() / area.sum()
            assert abs((x < threshold).mean() - fraction) < 4 * 0.5 / np.sqrt(n) + 1 / size


def test_ellipse_is_uniform_by_arc_length() -> None:
    a, b = 1.0, 4.0
    for seed in SEEDS:
        x, y = product_manifold("ellipsoid(1, 4)", 2000, random_state=seed).points.T
        angle = np.arctan2(x / a, y / b) % (2 * np.pi)  # from the long axis
        # ds = sqrt(b^2 sin^2 + a^2 cos^2) dt = b sqrt(1 - (1 - a^2/b^2) cos^2 t) dt
        length = ellipeinc(angle, 1 - b**2 / a**2)
        assert kstest(length / ellipeinc(2 * np.pi, 1 - b**2 / a**2), "uniform").pvalue > ALARM


def test_spheroid_in_four_dimensions_is_uniform_by_volume() -> None:
    # A curve (sin t, c cos t) turned about its second axis: spheres of radius sin t.
    c = 3.0
    t = np.linspace(0, np.pi, 4001)
    volume = cumulative_trapezoid(np.sin(t) ** 2 * np.hypot(np.cos(t), c * np.sin(t)), t, initial=0)
    for seed in SEEDS:
        points = product_manifold(f"ellipsoid(1, 1, 1, {c})", 2000, random_state=seed).points
        angle = np.arccos(points[:, 3] / c)
        assert kstest(angle, lambda s: np.interp(s, t, volume / volume[-1])).pvalue > ALARM


@pytest.mark.parametrize("k", [2, 3, 5])
def test_hyperbolic_radii_follow_the_volume_of_the_embedding(k: int) -> None:
    def embed(s: float, v: np.ndarray) -> np.ndarray:
        circles = np.stack([np.cos(v), np.sin(v)], axis=1).ravel()
        return np.append(s * circles, hyperbolic_height(s, k))

    last = 0.9 / np.sqrt(k - 1)
    grid = np.linspace(last / 4, last, 400)
    v, h = np.arange(k - 1.0), 1e-6
    density = []
    for s in grid:
        columns = [embed(s + h, v) - embed(s - h, v)]
        columns += [embed(s, v + e) - embed(s, v - e) for e in h * np.eye(k - 1)]
        jacobian = np.stack(columns, axis=1) / (2 * h)
        density.append(np.sqrt(np.linalg.det(jacobian.T @ jacobian)))
    assert_allclose(density / grid ** (k - 2), 1, rtol=1e-6)
    volume = cumulative_trapezoid(density, grid, initial=0)
    for seed in SEEDS:
        points = product_manifold(f"H^{k}", 2000, random_state=seed).points
        s = np.linalg.norm(points[:, :2], axis=1)
        assert kstest(s, lambda x: np.interp(x, grid, volume / volume[-1])).pvalue > ALARM
        for x, y in points[:, :-1].reshape(-1, k - 1, 2).transpose(1, 2, 0):
            assert kstest(np.arctan2(y, x), uniform(-np.pi, 2 * np.pi).cdf).pvalue > ALARM


# ---- density ----


@pytest.mark.parametrize("kappa", [0.0, 0.1, 1.0, 10.0, 1e4])
def test_von_mises_fisher_mean(kappa: float) -> None:
    n = 20_000
    sample = product_manifold("S^1 x S^2(3) x S^4 x SO(3)", n, density=kappa, random_state=0)
    circle, sphere, high, rotations = np.split(sample.points, [2, 5, 10], axis=1)
    # On S^(d-1) the mean is I_{d/2}(kappa) / I_{d/2-1}(kappa) times the pole e_0.
    for x in (circle, sphere / 3, high):
        d = x.shape[1]
        pole = np.eye(d)[0]
        assert_allclose(np.linalg.norm(x, axis=1), 1)
        length = ive(d / 2, kappa) / ive(d / 2 - 1, kappa) if kappa else 0
        assert np.all(np.abs(x.mean(axis=0) - length * pole) <= 5 * x.std(axis=0) / np.sqrt(n))
    if kappa:
        langevin = 1 / np.tanh(kappa) - 1 / kappa
        assert_allclose(sphere[:, 0].mean() / 3, langevin, atol=5 * 0.58 / np.sqrt(n))
    assert_allclose(rotations.mean(axis=0), 0, atol=5 / np.sqrt(3 * n))
    assert_orthonormal(np.concatenate(sample.tangents, axis=1)[:100])
    assert_allclose(np.einsum("nkd,nd->nk", sample.tangents[2], sample.points), 0, atol=1e-12)


def test_von_mises_fisher_law_on_the_sphere() -> None:
    # On S^2 the density of x_0 is proportional to exp(kappa x_0).
    kappa = 3.0
    for seed in SEEDS:
        x = product_manifold("S^2", 2000, density=kappa, random_state=seed).points[:, 0]
        assert kstest(x, lambda z: np.expm1(kappa * (z + 1)) / np.expm1(2 * kappa)).pvalue > ALARM


@pytest.mark.parametrize("kappa", [1e4, 1e6])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
def test_von_mises_fisher_is_normal_close_to_the_pole(k: int, kappa: float) -> None:
    # As kappa grows, sqrt(kappa) times the other coordinates become standard normal.
    points = product_manifold(f"S^{k}", 10_000, density=kappa, random_state=1).points
    squares = kappa * (points[:, 1:] ** 2).sum(axis=1)
    assert kstest(squares, chi2(k).cdf).pvalue > ALARM


# ---- rotation, padding, noise ----


def test_rotation_turns_points_and_frames_alike() -> None:
    spec = "S^2 x T^2 x ellipsoid(1, 2, 3)"
    plain = product_manifold(spec, 60, random_state=3)
    turned = product_manifold(spec, 60, rotate=True, random_state=3)
    assert np.abs(turned.points - plain.points).max() > 0.1
    assert_allclose(pdist(turned.points), pdist(plain.points))
    rotation = np.linalg.lstsq(plain.points, turned.points, rcond=None)[0]  # transposed
    assert_allclose(rotation @ rotation.T, np.eye(10), atol=1e-12)
    assert_allclose(np.linalg.det(rotation), 1)
    for frames, turned_frames in zip(plain.tangents, turned.tangents, strict=True):
        assert_allclose(frames @ rotation, turned_frames, atol=1e-12)


def test_rotations_are_uniform_over_seeds() -> None:
    # One point of S^1 rotated by a uniform rotation of R^4: its coordinates have variance 1 / 4.
    points = np.concatenate(
        [product_manifold("S^1", 1, pad=2, rotate=True, random_state=s).points for s in range(800)]
    )
    assert_allclose(points.T @ points / len(points), np.eye(4) / 4, atol=0.05)
    assert_allclose(points.mean(axis=0), 0, atol=5 * 0.5 / np.sqrt(len(points)))


def test_padding_appends_zeros_before_the_rotation() -> None:
    plain = product_manifold("S^2 x S^1", 50, random_state=0)
    padded = product_manifold("S^2 x S^1", 50, pad=3, random_state=0)
    assert_array_equal(padded.points, np.pad(plain.points, ((0, 0), (0, 3))))
    for frames, wide in zip(plain.tangents, padded.tangents, strict=True):
        assert_array_equal(wide, np.pad(frames, ((0, 0), (0, 0), (0, 3))))

    turned = product_manifold("S^2 x S^1", 50, pad=3, rotate=True, random_state=0)
    assert np.all(np.abs(turned.points).max(axis=0) > 0.05)
    values = np.linalg.svd(turned.points, compute_uv=False)
    assert_allclose(values, np.linalg.svd(padded.points, compute_uv=False), atol=1e-12)
    assert values[4] > 1 and np.all(values[5:] < 1e-12)


def test_noise_has_its_standard_deviation_in_every_coordinate() -> None:
    n = 5000
    options: dict[str, Any] = {"pad": 2, "rotate": True, "random_state": 0}
    clean = product_manifold("S^2 x H^2", n, **options)
    noisy = product_manifold("S^2 x H^2", n, noise=0.3, **options)
    noise = noisy.points - clean.points
    assert_allclose(noise.std(axis=0), 0.3, rtol=5 / np.sqrt(2 * n))
    assert_allclose(noise.mean(axis=0), 0, atol=5 * 0.3 / np.sqrt(n))
    assert kstest(noise.ravel() / 0.3, "norm").pvalue > ALARM
    for frames, same in zip(clean.tangents, noisy.tangents, strict=True):
        assert_array_equal(frames, same)


def test_the_same_seed_gives_the_same_sample() -> None:
    def draw(random_state: Any) -> ManifoldSample:
        return product_manifold(
            "S^2 x SO(3)", 10, rotate=True, noise=0.1, random_state=random_state
        )

    assert_array_equal(draw(5).points, draw(5).points)
    assert_array_equal(draw(5).points, draw(np.random.default_rng(5)).points)
    for frames, same in zip(draw(5).tangents, draw(5).tangents, strict=True):
        assert_array_equal(frames, same)
    assert np.abs(draw(5).points - draw(6).points).max() > 0.1
    assert np.abs(draw(None).points - draw(None).points).max() > 0.1
    generator = np.random.default_rng(5)
    assert np.abs(draw(generator).points - draw(generator).points).max() > 0.1


def test_equal_factors_are_drawn_independently() -> None:
    points = product_manifold(["S^2", "S^2"], 5000, random_state=0).points
    assert np.abs(np.corrcoef(points.T)[:3, 3:]).max() < 5 / np.sqrt(5000)


# ---- texts ----


@pytest.mark.parametrize(
    "spec",
    [
        "S^2 x SO(3)",
        "S^2xSO(3)",
        " s ^ 2 X so( 3 ) ",
        "S2 × SO3",
        "S² * SO(3)",
        ["S^2", "SO(3)"],
        ("S^2(1.0) x SO 3",),
    ],
)
def test_the_parser_forgives(spec: str | Sequence[str]) -> None:
    assert product_manifold(spec, 1, random_state=0).names == ("S^2", "SO(3)")


def test_a_sample_prints_as_a_table() -> None:
    sample = product_manifold("S^2 x ellipsoid(1, 2.50, 3)", 20, pad=1, random_state=0)
    assert repr(sample) == "ManifoldSample('S^2 x ellipsoid(1, 2.5, 3)', n=20, d=7, dim=4)"
    assert str(sample).splitlines() == [
        "20 points of a manifold of dimension 4 in R^7",
        "factor  space                 dim",
        "     0  S^2                     2",
        "     1  ellipsoid(1, 2.5, 3)    2",
    ]


SPHERE = r"S\^k or S\^k\(r\) needs an integer k >= 1 and a radius r > 0; got "
NOT_KNOWN = (
    r"spec must consist of the spaces CP\^k, ellipsoid\(a, b, ...\), Gr\(m, p\), .*T\^k, .*; got "
)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("Boy", NOT_KNOWN + "'Boy'"),
        ("S^2 x ball", NOT_KNOWN + "'ball'"),
        ("3", NOT_KNOWN + "'3'"),
        ("S^2, S^3", SPHERE + r"'S\^2, S\^3'"),
        ("S^0", SPHERE + r"'S\^0'"),
        ("S", SPHERE + "'S'"),
        ("S(2)", SPHERE),
        ("S^1.5", SPHERE),
        ("S^-1", SPHERE),
        ("S^2(-1)", SPHERE + r"'S\^2\(-1\)'"),
        ("S^2(0)", SPHERE),
        ("S^2(nan)", SPHERE),
        ("S^2(inf)", SPHERE),
        (f"S^2(1{400 * '0'})", SPHERE),
        ("S^2(1, 2)", SPHERE),
        ("S^2()", SPHERE),
        ("S^2 x S^2(2", SPHERE + r"'S\^2\(2'"),
        ("SO(1)", r"SO\(k\) needs an integer k >= 2; got 'SO\(1\)'"),
        ("SO(3.5)", r"SO\(k\) needs"),
        ("SO^3", r"SO\(k\) needs"),
        ("SO", r"SO\(k\) needs"),
        ("SO3(3)", r"SO\(k\) needs"),
        ("T^0", r"T\^k needs an integer k >= 1; got 'T\^0'"),
        ("R^0", r"R\^k needs an integer k >= 1"),
        ("R^2(3)", r"R\^k needs an integer k >= 1"),
        ("H^1", r"H\^k needs an integer k >= 2; got 'H\^1'"),
        ("ellipsoid(1)", "ellipsoid.* needs two semi-axes or more, all > 0"),
        ("ellipsoid(1, 2, -3)", "ellipsoid.* needs two semi-axes or more, all > 0"),
        ("ellipsoid(1, b)", r"ellipsoid.* needs .*; got 'ellipsoid\(1, b\)'"),
        ("torus(1, 2)", r"torus\(R, r\) needs R > r > 0; got 'torus\(1, 2\)'"),
        ("torus(1, 0)", r"torus\(R, r\) needs R > r > 0"),
        ("torus", r"torus\(R, r\) needs R > r > 0"),
        ("St(3, 3)", r"St\(m, p\) needs integers m > p >= 1; got 'St\(3, 3\)'"),
        ("St(3)", r"St\(m, p\) needs"),
        ("St32", r"St\(m, p\) needs"),
        ("St3(2)", r"St\(m, p\) needs"),
        ("Gr(3, 0)", r"Gr\(m, p\) needs integers m > p >= 1"),
        ("", "needs a space on either side of every separator.*; got ''"),
        ([], r"needs a space on either side of every separator.*; got \[\]"),
        ("S^2 x", "needs a space on either side of every separator"),
        ("S^2 x x S^1", "needs a space on either side of every separator"),
        (3, "spec must be a text .* or a list of such; got 3"),
        (["S^2", 2], r"spec must be a text .*; got \['S\^2', 2\]"),
        (None, "spec must be a text .*; got None"),
    ],
)
def test_specs_that_cannot_be_read(spec: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        product_manifold(spec, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be at least 1; got 0"),
        ({"n": 2.0}, "n must be an integer; got 2.0"),
        ({"noise": -0.1}, "noise must be at least 0; got -0.1"),
        ({"noise": np.nan}, "noise must be a finite number; got nan"),
        ({"pad": -1}, "pad must be at least 0; got -1"),
        ({"pad": 1.5}, "pad must be an integer"),
        ({"density": -1.0}, "density must be between 0 and 1000000.0; got -1.0"),
        ({"density": 1e7}, "density must be between 0 and 1000000.0"),
        ({"density": "high"}, "density must be a finite number"),
        ({"random_state": "seed"}, "random_state must be None"),
    ],
)
def test_options_that_cannot_be_used(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        product_manifold("S^2", **{"n": 5, **options})


@pytest.mark.parametrize("density", [0, 2.0])
def test_density_needs_a_sphere(density: float) -> None:
    message = r"density needs a sphere S\^k among the factors; got SO\(3\) x T\^2"
    with pytest.raises(InputError, match=message):
        product_manifold("SO(3) x T^2", 5, density=density)
