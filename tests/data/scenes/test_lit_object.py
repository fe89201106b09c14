import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from scipy.ndimage import gaussian_filter
from scipy.spatial.transform import Rotation
from scipy.stats import chi2, kstest

from geodis import Scenes, SceneSample, SceneWalk
from geodis.base.check import InputError
from geodis.data.manifolds.directions import quaternions
from geodis.data.scenes.meshes import Mesh, blob, cube, geodesic_sphere
from tests.reference.rendering import ray_cast

LIGHTS = {"free": (3, 2), "attached": (3,), "circle": (4,), "latitude": (4,)}
SKEW = np.array([[0.0, -1, 2], [1, 0, -1], [-2, 1, 0]]) / np.sqrt(12)  # a turn of norm one
ROLL = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])  # a quarter turn, anticlockwise as seen


@pytest.fixture(scope="module")
def sample():
    return Scenes(32).sample(3000, random_state=1)


def spheres(n, rng):
    lights = rng.standard_normal((n, 3))
    return lights / np.linalg.norm(lights, axis=1, keepdims=True)


def turns(n, rng):
    return Rotation.random(n, random_state=np.random.RandomState(rng.integers(2**31))).as_matrix()


# ---- the picture ----


@pytest.mark.parametrize(
    "mesh", [blob(), blob(smooth=False), cube(1.1)], ids=["blob", "flat", "cube"]
)
def test_images_are_those_of_the_literal_ray_caster(mesh, rng):
    rotations, lights = turns(3, rng), spheres(3, rng)
    images = Scenes(10, mesh=mesh).render(rotations, lights, dtype="float32")
    for image, rotation, light in zip(images, rotations, lights, strict=True):
        assert_allclose(image[..., 0], ray_cast(mesh, rotation, light, 10), atol=1e-5)


def test_the_nearer_triangle_hides_the_farther(rng):
    # Two squares that face the camera, of which the far one is larger and tilted to the light.
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0.0]])
    near, far = 0.3 * corners + [0, 0, 0.4], 0.6 * corners
    for first, second in ((near, far), (far, near)):  # whatever the order they come in
        faces = [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]]
        red = [[1.0, 0, 0]] * 4
        paint = red + [[0, 0, 1.0]] * 4 if first is near else [[0, 0, 1.0]] * 4 + red
        mesh = Mesh.from_triangles(np.vstack([first, second]), faces, smooth=False, paint=paint)
        image = Scenes(64, rgb=True, mesh=mesh).render([np.eye(3)], [[0, 0, 1]])[0]
        assert_array_equal(image[32, 32], [255, 0, 0])
        assert_array_equal(image[32, 16], [0, 0, 255])
        assert_array_equal(image[32, 2], [0, 0, 0])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_quarter_turn_in_the_plane_turns_the_image(seed):
    rng = np.random.default_rng(seed)
    rotations, lights = turns(40, rng), spheres(40, rng)
    scenes = Scenes(32)
    images = scenes.render(rotations, lights, dtype="float32")
    rolled = scenes.render(ROLL @ rotations, lights @ ROLL.T, dtype="float32")
    # A sample that lies on an edge to the last bit may fall to the other side.
    off = np.abs(np.rot90(images, axes=(1, 2)) - rolled) > 1e-4
    assert off.mean() < 1e-4


def test_axes_are_right_up_and_towards_the_camera():
    scenes = Scenes(32, mesh=cube(0.3))
    corner = Mesh.from_triangles(
        cube(0.3).vertices + np.array([0.5, 0.3, 0]), cube().faces, smooth=False
    )
    image = Scenes(32, mesh=corner).render([np.eye(3)], [[0, 0, 1]])[0, ..., 0]
    row, column = np.argwhere(image > 0).mean(axis=0)
    assert column > 20 and row < 14
    front = scenes.render([np.eye(3)] * 2, [[0, 0, 1], [0, 0, -1]])[:, 16, 16, 0]
    assert_array_equal(front, [255, 51])  # full light from the camera, ambient from behind


@pytest.mark.parametrize("ambient", [0.0, 0.2, 1.0])
def test_brightness_of_a_flat_side_follows_lambert(ambient, rng):
    lights = spheres(200, rng)
    images = Scenes(16, ambient=ambient, mesh=cube(1.1)).render(
        np.tile(np.eye(3), (200, 1, 1)), lights, dtype="float32"
    )
    expected = ambient + (1 - ambient) * np.maximum(0, lights[:, 2])
    inside = images[:, 4:12, 4:12, 0]
    assert_allclose(inside, np.broadcast_to(expected[:, None, None], inside.shape), atol=1e-6)


def test_the_light_stays_when_the_object_turns(rng):
    # The side that faces the camera is lit the same, whichever side it is.
    faces = Rotation.create_group("O").as_matrix()  # the 24 turns of a cube
    light = spheres(1, rng)
    images = Scenes(16, mesh=cube(1.1)).render(faces, np.repeat(light, 24, axis=0), "float32")
    assert_allclose(images, np.broadcast_to(images[:1], images.shape), atol=1e-5)


def test_samples_are_averaged_into_pixels(rng):
    rotations, lights = turns(5, rng), spheres(5, rng)
    coarse = Scenes(16, supersampling=4).render(rotations, lights, "float32")
    fine = Scenes(64, supersampling=1).render(rotations, lights, "float32")
    assert_allclose(coarse, fine.reshape(5, 16, 4, 16, 4, 1).mean(axis=(2, 4)), atol=1e-5)


def test_a_pixel_distance_grows_with_a_small_turn(rng):
    rotations, lights = turns(60, rng), spheres(60, rng)
    lights[:, 2] = np.abs(lights[:, 2])
    scenes = Scenes()
    first = scenes.render(rotations, lights, "float32")
    for axis in np.eye(3):
        apart = []
        for angle in (0.02, 0.04, 0.08, 0.16):
            other = scenes.render(
                rotations @ Rotation.from_rotvec(angle * axis).as_matrix(), lights, "float32"
            )
            apart.append(np.sqrt(((other - first) ** 2).sum(axis=(1, 2, 3))))
        growth = np.median(np.array(apart[1:]) / apart[:-1], axis=1)
        assert (growth > 1.35).all() and (growth < 2.1).all()


def test_no_two_far_rotations_look_alike(rng):
    # Light from the camera, so that the picture tells as much as it can.
    rotations = turns(1500, rng)
    images = Scenes(16).render(rotations, np.tile([0.3, 0.2, 0.93], (1500, 1)), "float32")
    images = images.reshape(1500, -1)
    squares = (images**2).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * images @ images.T, 0))
    cosine = (np.einsum("aij,bij->ab", rotations, rotations) - 1) / 2
    far = np.arccos(np.clip(cosine, -1, 1)) > 0.8
    # Of a million pairs more than .8 rad apart, the likest differ by a fifth of the typical pair.
    assert apart[far].min() > 0.2 * np.median(apart)


def test_the_object_is_asymmetric_closed_and_in_the_picture():
    mesh = blob()
    assert len(mesh.faces) == 500
    edges = np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    triangles = mesh.vertices[mesh.faces]
    across = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    assert_allclose(across.sum(axis=0), 0, atol=1e-12)
    weights = np.linalg.norm(across, axis=1)
    assert_allclose(np.average(triangles.mean(axis=1), axis=0, weights=weights), 0, atol=1e-12)
    assert np.linalg.norm(mesh.vertices, axis=1).max() == pytest.approx(1)
    # Three different principal axes, and third moments along all of them: no half turn about an
    # axis and no mirror leaves it as it is.
    centres = triangles.mean(axis=1)
    values, axes = np.linalg.eigh(np.einsum("t,ti,tj->ij", weights, centres, centres))
    assert (values[1:] / values[:-1] > 1.1).all()
    skewness = np.average((centres @ axes) ** 3, axis=0, weights=weights)
    assert (np.abs(skewness) > 0.02 * np.sqrt(values / weights.sum()) ** 3).all()


def test_rgb_paints_the_object(rng):
    rotations, lights = turns(20, rng), spheres(20, rng)
    images = Scenes(16, rgb=True).render(rotations, lights, "float32")
    assert images.shape == (20, 16, 16, 3)
    grey = Scenes(16).render(rotations, lights, "float32")
    lit = grey[..., 0] > 0
    assert_array_equal(images.max(axis=3) > 0, lit)
    shares = images[lit] / grey[lit]
    assert shares.min() > 0 and shares.max() <= 1 + 1e-6
    assert (np.ptp(shares, axis=0) > 0.4).all()


# ---- the sample ----


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rotations_and_lights_are_uniform(seed):
    sample = Scenes(4).sample(4000, random_state=seed)
    rotations, lights = sample.rotations, sample.lights
    # The angle of a uniform rotation has density (1 - cos) / pi; places on a sphere are uniform
    # along every axis (Archimedes), the columns of a rotation too.
    angles = Rotation.from_matrix(rotations).magnitude()
    assert kstest(angles, lambda a: (a - np.sin(a)) / np.pi).pvalue > 1e-3
    for column in (*lights.T, *rotations.reshape(-1, 9).T):
        assert kstest(column, "uniform", args=(-1, 2)).pvalue > 1e-3
    # Rotations and lights know nothing of each other: no octant is preferred.
    octants = (rotations[:, :, 2] > 0) @ [1, 2, 4] * 8 + (lights > 0) @ [1, 2, 4]
    counts = np.bincount(octants, minlength=64)
    assert chi2.sf(((counts - 62.5) ** 2 / 62.5).sum(), 63) > 1e-3


def test_a_sample_is_its_points_and_its_images(sample):
    assert isinstance(sample, SceneSample)
    assert sample.images.shape == (3000, 32, 32, 1) and sample.images.dtype == np.uint8
    assert sample.names == ("SO(3)", "S^2") and sample.factor_dims == (3, 2)
    assert_array_equal(sample.points[:, :9].reshape(-1, 3, 3), sample.rotations)
    assert_array_equal(sample.points[:, 9:], sample.lights)
    assert_array_equal(
        sample.scenes.render(sample.points[:50, :9], sample.lights[:50]), sample.images[:50]
    )
    latents = sample.latents
    assert latents.shape == (3000, 7) and (latents[:, 0] >= 0).all()
    assert_array_equal(sample.scenes.render(latents[:50, :4], latents[:50, 4:]), sample.images[:50])


def test_the_seed_alone_decides(sample):
    again = Scenes(32, n_jobs=1).sample(3000, random_state=1)
    assert_array_equal(again.images, sample.images)
    assert_array_equal(again.points, sample.points)
    assert (Scenes(32).sample(3000, random_state=2).points != sample.points).any()


@pytest.mark.parametrize("light", LIGHTS)
def test_frames_are_orthonormal_and_tangent(light):
    scenes = Scenes(4, light=light)
    sample = scenes.sample(200, random_state=3)
    assert sample.factor_dims == LIGHTS[light]
    rows = np.concatenate(sample.tangents, axis=1)
    gram = rows @ rows.swapaxes(1, 2)
    assert_allclose(gram, np.broadcast_to(np.eye(rows.shape[1]), gram.shape), atol=1e-12)
    # Tangent to rotations: R^T dR is skew; to the sphere: dl . l = 0.
    skew = np.einsum("nji,nkjl->nkil", sample.rotations, rows[..., :9].reshape(200, -1, 3, 3))
    assert_allclose(skew, -skew.swapaxes(2, 3), atol=1e-12)
    assert_allclose(np.einsum("nkc,nc->nk", rows[..., 9:], sample.lights), 0, atol=1e-12)
    # And to what ties light and rotation: the light keeps its place in the object's coordinates.
    own = np.einsum("nji,nj->ni", sample.rotations, sample.lights)
    change = np.einsum("nkji,nj->nki", rows[..., :9].reshape(200, -1, 3, 3), sample.lights)
    change += np.einsum("nji,nkj->nki", sample.rotations, rows[..., 9:])
    if light == "attached":
        assert_allclose(own, np.broadcast_to(own[:1], own.shape), atol=1e-12)
        assert_allclose(change, 0, atol=1e-12)
    if light == "circle":
        assert_allclose(own[:, 2], 0, atol=1e-12)
        assert_allclose(change[..., 2], 0, atol=1e-12)
    if light == "latitude":
        assert_allclose(sample.lights[:, 2], 0.9 * sample.rotations[:, 2, 2], atol=1e-12)
        assert_allclose(rows[..., 11], 0.9 * rows[..., 8], atol=1e-12)


def test_an_attached_light_lights_the_same_side():
    # Seen from the light, the object looks the same however both are turned.
    scenes = Scenes(32, light="attached")
    sample = scenes.sample(50, random_state=4)
    own = np.einsum("nji,nj->ni", sample.rotations, sample.lights)
    assert_allclose(
        scenes.render(sample.rotations, np.einsum("nij,nj->ni", sample.rotations, own)),
        sample.images,
        atol=1,
    )


# ---- directions in pixel space ----


def test_image_tangents_predict_the_image_of_a_small_move(rng):
    scenes = Scenes(48)
    sample = scenes.sample(30, random_state=5)
    tangents = sample.image_tangents()
    assert [rows.shape for rows in tangents] == [(30, 3, 48 * 48), (30, 2, 48 * 48)]
    assert tangents[0].dtype == np.float32
    # Light enters linearly where the surface is lit: any light nearby is predicted.
    amounts = 0.02 * rng.standard_normal((30, 2))
    moved = sample.lights + np.einsum("nk,nkc->nc", amounts, sample.tangents[1][..., 9:])
    before = scenes.render(sample.rotations, sample.lights, "float32").reshape(30, -1)
    after = scenes.render(sample.rotations, moved, "float32").reshape(30, -1)
    predicted = before + np.einsum("nk,nkp->np", amounts, tangents[1])
    left = np.linalg.norm(after - predicted, axis=1) / np.linalg.norm(after - before, axis=1)
    assert np.median(left) < 0.1
    # Rotation moves edges over pixels, which a linear step cannot: of the sharp image it predicts
    # the direction, of a blurred one the change.
    turned = sample.rotations @ expm(0.03 * SKEW)
    after = scenes.render(turned, sample.lights, "float32")[..., 0]
    change = after - before.reshape(after.shape)
    amounts = np.einsum(
        "nji,nkjl,il->nk",
        sample.rotations,
        sample.tangents[0][..., :9].reshape(30, 3, 3, 3),
        0.03 * SKEW,
    )
    predicted = np.einsum("nk,nkp->np", amounts, tangents[0]).reshape(after.shape)
    for width, cosine in ((0, 0.6), (2, 0.9)):
        a, b = (gaussian_filter(x, (0, width, width)).reshape(30, -1) for x in (change, predicted))
        agreement = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        assert np.median(agreement) > cosine


@pytest.mark.parametrize("light", LIGHTS)
def test_image_tangents_are_central_differences(light):
    scenes = Scenes(24, light=light)
    sample = scenes.sample(6, random_state=11)
    for frames, rows in zip(sample.tangents, sample.image_tangents(step=0.1), strict=True):
        for i in range(6):
            for tangent, derivative in zip(frames[i], rows[i], strict=True):
                turn, light_move = tangent[:9].reshape(3, 3), tangent[9:]
                rotations = [
                    sample.rotations[i] @ expm(s * sample.rotations[i].T @ turn)
                    for s in (0.1, -0.1)
                ]
                axis = np.cross(sample.lights[i], light_move)
                lights = [
                    Rotation.from_rotvec(s * axis).apply(sample.lights[i]) for s in (0.1, -0.1)
                ]
                after, before = scenes.render(rotations, lights, "float32")
                # A sample on an edge may fall to the other side by the last bit.
                off = np.abs(derivative - (after - before).ravel() / 0.2) > 1e-3
                assert off.mean() < 0.01


def test_image_tangents_of_a_roll_are_those_of_turning_the_picture():
    # One direction is known: the object and the light turned in the image plane turn the image.
    scenes = Scenes(48, supersampling=6)
    sample = scenes.sample(8, random_state=6)
    spin = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])
    move = np.hstack([(spin @ sample.rotations).reshape(8, 9), sample.lights @ spin.T])[:, None]
    derivative = scenes.image_tangents(sample.rotations, sample.lights, [move])[0]
    ends = [
        scenes.render(roll @ sample.rotations, sample.lights @ roll.T, "float32")
        for roll in Rotation.from_rotvec([[0, 0, 0.05], [0, 0, -0.05]]).as_matrix()
    ]
    expected = ((ends[0] - ends[1]) / 0.1).reshape(8, 1, -1)
    # The light goes along a great circle instead of round the axis: a difference of second order.
    error = np.linalg.norm(derivative - expected, axis=2) / np.linalg.norm(expected, axis=2)
    assert error.max() < 0.05


def test_orthonormal_image_tangents_span_the_derivatives():
    sample = Scenes(24).sample(10, random_state=7)
    raw = sample.image_tangents([2, 5])
    for rows, derivatives in zip(sample.image_tangents([2, 5], orthonormal=True), raw, strict=True):
        gram = rows @ rows.swapaxes(1, 2)
        assert_allclose(gram, np.broadcast_to(np.eye(rows.shape[1]), gram.shape), atol=1e-5)
        inside = derivatives @ rows.swapaxes(1, 2) @ rows
        assert_allclose(inside, derivatives, atol=1e-4 * np.abs(derivatives).max())
    assert_array_equal(
        sample.scenes.image_tangents(sample.rotations[[2, 5]], sample.lights[[2, 5]])[0], raw[0]
    )


# ---- walks ----


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_walks_take_steps_of_the_size_asked_for(seed):
    walk = Scenes(4).walk(4000, step=(0.1, 0.2), random_state=seed)
    assert isinstance(walk, SceneWalk) and walk.moved.all()
    between = np.einsum("nji,njk->nik", walk.rotations[:, 0], walk.rotations[:, 1])
    vectors = Rotation.from_matrix(between).as_rotvec()
    for coordinate in vectors.T:
        assert kstest(coordinate, "norm", args=(0, 0.1)).pvalue > 1e-3
    angles = np.arccos(np.clip((walk.lights[:, 0] * walk.lights[:, 1]).sum(axis=1), -1, 1))
    assert kstest(angles, "rayleigh", args=(0, 0.2)).pvalue > 1e-3
    assert kstest(walk.lights[:, 1, 2], "uniform", args=(-1, 2)).pvalue > 1e-3  # still uniform


@pytest.mark.parametrize(("moves", "share"), [("rotation", 1), ("light", 0), ("either", 0.5)])
def test_one_factor_stays_where_one_moves(moves, share):
    walk = Scenes(8).walk(300, length=3, moves=moves, random_state=8)
    assert walk.images.shape == (300, 3, 8, 8, 1) and walk.moved.shape == (300, 2, 2)
    assert (walk.moved.sum(axis=2) == 1).all()
    assert walk.moved[..., 0].mean() == pytest.approx(share, abs=0.1)
    turned = np.abs(np.diff(walk.rotations, axis=1)).max(axis=(2, 3)) > 1e-9
    lit = np.abs(np.diff(walk.lights, axis=1)).max(axis=2) > 1e-9
    assert_array_equal(turned, walk.moved[..., 0])
    assert_array_equal(lit, walk.moved[..., 1])
    assert_array_equal(Scenes(8).render(walk.rotations[:, 2], walk.lights[:, 2]), walk.images[:, 2])


@pytest.mark.parametrize("light", ["attached", "circle", "latitude"])
def test_walks_keep_the_light_where_it_is_tied(light):
    walk = Scenes(4, light=light).walk(100, length=4, random_state=9)
    own = np.einsum("ntji,ntj->nti", walk.rotations, walk.lights)
    if light == "attached":
        assert_allclose(own, np.broadcast_to(own[:1, :1], own.shape), atol=1e-12)
    elif light == "circle":
        assert_allclose(own[..., 2], 0, atol=1e-12)
        assert np.ptp(own[..., 0]) > 1
    else:
        assert_allclose(walk.lights[..., 2], 0.9 * walk.rotations[..., 2, 2], atol=1e-12)


def test_neighbours_in_time_look_more_alike_than_strangers():
    images = Scenes(16).walk(500, step=0.2, random_state=10).images.astype(float)
    apart = np.abs(images[:, 0] - images[:, 1]).mean()
    assert apart < 0.5 * np.abs(images[:, 0] - np.roll(images[:, 1], 1, axis=0)).mean()


# ---- rotations, meshes, bad input ----


def test_quaternions_have_one_sign(rng):
    rotations = turns(500, rng)
    unit = quaternions(rotations)
    assert (unit[:, 0] >= 0).all()
    assert_allclose(np.linalg.norm(unit, axis=1), 1)
    w, x, y, z = unit.T
    first_row = np.stack([w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)])
    assert_allclose(first_row.T, rotations[:, 0], atol=1e-12)
    half_turns = np.array([np.diag([1.0, -1, -1]), np.diag([-1.0, 1, -1]), np.diag([-1.0, -1, 1])])
    assert_allclose(quaternions(half_turns), np.eye(4)[1:], atol=1e-12)


def test_rotations_come_in_any_form(rng):
    torch = pytest.importorskip("torch")
    rotations, lights = turns(4, rng), spheres(4, rng)
    scenes = Scenes(16)
    images = scenes.render(rotations, lights)
    assert_array_equal(scenes.render(rotations.reshape(4, 9), 3 * lights), images)
    assert_array_equal(scenes.render(torch.tensor(rotations), torch.tensor(lights)), images)
    assert_array_equal(scenes.render(-2 * quaternions(rotations), lights.tolist()), images)
    near = scenes.render(rotations.astype(np.float32), lights.astype(np.float32))
    assert np.abs(near.astype(int) - images).mean() < 0.1
    assert scenes.render(np.empty((0, 3, 3)), np.empty((0, 3))).shape == (0, 16, 16, 1)


@pytest.mark.parametrize("frequency", [1, 2, 5])
def test_a_geodesic_sphere_is_closed_and_round(frequency):
    vertices, faces = geodesic_sphere(frequency)
    assert vertices.shape == (10 * frequency**2 + 2, 3) and faces.shape == (20 * frequency**2, 3)
    assert_allclose(np.linalg.norm(vertices, axis=1), 1)
    mesh = Mesh.from_triangles(vertices, faces)
    assert_allclose(np.einsum("tci,tci->tc", mesh.normals, vertices[faces]), 1, atol=0.01)
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert len(vertices) - len(np.unique(edges, axis=0)) + len(faces) == 2  # Euler


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"light": "tied"},
            "light must be one of 'free', 'attached', 'circle', 'latitude'; got 'tied'",
        ),
        ({"ambient": 2}, "ambient must be between 0 and 1"),
        ({"supersampling": 0}, "supersampling must be at least 1"),
        ({"image_size": 0}, "image_size must be at least 1"),
        ({"mesh": "bunny"}, "mesh must be a Mesh; got str"),
        ({"n_jobs": 0}, "n_jobs must be at least 1, or -1 for all cores; got 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        Scenes(**options)


@pytest.mark.parametrize(
    ("rotations", "lights", "message"),
    [
        (
            np.eye(3),
            [[0, 0, 1]],
            r"matrices \(n, 3, 3\) or \(n, 9\), or quaternions \(n, 4\); got shape \(3, 3\)",
        ),
        ([np.ones((3, 3))], [[0, 0, 1]], "orthogonal with determinant 1; got 1 of 1 that are not"),
        ([-np.eye(3)], [[0, 0, 1]], "orthogonal with determinant 1"),
        ([[0, 0, 0, 0]], [[0, 0, 1]], "A quaternion must be nonzero"),
        ([np.eye(3)], [[0, 0, 0]], "A light must have a direction"),
        ([np.eye(3)], [0, 0, 1], r"lights must have shape \(n, 3\); got shape \(3,\)"),
        ([np.eye(3)] * 2, [[0, 0, 1]], "got 2 rotations and 1 lights"),
        ([np.eye(3)], [[0, 0, np.nan]], "lights must be finite"),
    ],
)
def test_bad_rotations_and_lights(rotations, lights, message):
    with pytest.raises(InputError, match=message):
        Scenes(4).render(rotations, lights)


def test_bad_walks_and_tangents():
    with pytest.raises(InputError, match="step must be one or two non-negative numbers"):
        Scenes(4).walk(3, step=(0.1, 0.2, 0.3))
    with pytest.raises(InputError, match="step must be one or two non-negative numbers"):
        Scenes(4).walk(3, step=-1.0)
    with pytest.raises(InputError, match="a light that is attached moves with the object"):
        Scenes(4, light="attached").walk(3, moves="either")
    with pytest.raises(InputError, match="moves must be one of 'both'"):
        Scenes(4).walk(3, moves="none")
    with pytest.raises(InputError, match="step must be above 0"):
        Scenes(4).image_tangents([np.eye(3)], [[0, 0, 1]], step=0)
    with pytest.raises(InputError, match=r"tangents must have shape \(1, k, 12\)"):
        Scenes(4).image_tangents([np.eye(3)], [[0, 0, 1]], [np.zeros((2, 3, 12))])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]), r"vertices \(v, 3\) and faces \(t, 3\)"),
        ((np.eye(3), [[0, 1, 3]]), "faces must be numbers of vertices, 0 to 2"),
        ((np.eye(3), [[0, 1, 1]]), "must have a positive area; got one without"),
    ],
)
def test_bad_meshes(arguments, message):
    with pytest.raises(InputError, match=message):
        Mesh.from_triangles(*arguments)
    with pytest.raises(InputError, match="paint must be in"):
        Mesh.from_triangles(np.eye(3), [[0, 1, 2]], paint=2 * np.eye(3))
