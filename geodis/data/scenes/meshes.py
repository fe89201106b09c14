"""Closed triangle meshes (the object of the scenes, and a cube), and their rendering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_finite, check_numeric, check_points, to_numpy
from geodis.base.jobs import njit

# Bumps of the object: direction, height, and sharpness (larger is narrower). All are different, and
# no plane or axis maps them onto each other.
_BUMPS = (
    ((0.9, 0.2, 0.1), 0.75, 7.0),  # a snout
    ((-0.5, 0.8, 0.2), 0.65, 12.0),  # an ear
    ((-0.3, 0.1, -0.9), 0.45, 4.0),  # a broad back
    ((0.2, -0.7, 0.6), 0.55, 16.0),  # a thin foot
    ((-0.8, -0.5, 0.3), -0.30, 5.0),  # a dent
    ((0.4, 0.5, 0.8), -0.25, 8.0),  # another, smaller
)
_RADIUS = 0.75  # without bumps
_STRETCH = np.array([1.0, 0.86, 0.78])
_FREQUENCY = 5  # 20 * 5^2 = 500 triangles


@dataclass(frozen=True, eq=False)
class Mesh:
    """A closed surface of triangles.

    Attributes
    ----------
    vertices : ndarray of shape (v, 3)
        Inside the unit ball about the origin, which is what the camera sees.
    faces : ndarray of int64, shape (t, 3)
        Corners of every triangle, anticlockwise as seen from outside.
    normals : ndarray of shape (t, 3, 3)
        Outward unit normal at every corner of every triangle: equal at the corners of a flat
        triangle, and equal for the triangles around a vertex of a smooth surface.
    paint : ndarray of shape (v, 3)
        Colour of every vertex, in [0, 1]: the reflected fraction of red, green and blue.
    """

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    paint: np.ndarray

    @classmethod
    def from_triangles(
        cls, vertices: Any, faces: Any, *, smooth: bool = True, paint: Any = None
    ) -> Mesh:
        """Make a mesh from vertices and triangles and compute its normals.

        Parameters
        ----------
        vertices : array-like of shape (v, 3)
            Shrunk towards the origin if they leave the unit ball.
        faces : array-like of int, shape (t, 3)
            Anticlockwise as seen from outside; the surface should be closed.
        smooth : bool
            Shade smoothly across edges; otherwise every triangle is flat.
        paint : array-like of shape (v, 3), optional
            White by default.

        Examples
        --------
        >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
        >>> sides = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
        >>> Mesh.from_triangles(corners, sides, smooth=False).normals[0, 0].tolist()
        [0.0, 0.0, -1.0]
        """
        vertices = check_points(vertices, name="vertices", min_points=3)
        faces = check_numeric(to_numpy(faces, "faces"), "faces")
        if vertices.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3:
            raise InputError(
                f"A mesh needs vertices (v, 3) and faces (t, 3); got shapes {vertices.shape} and "
                f"{faces.shape}."
            )
        if faces.dtype.kind not in "iu" or not 0 <= faces.min() <= faces.max() < len(vertices):
            raise InputError(
                f"faces must be numbers of vertices, 0 to {len(vertices) - 1}; got {faces.dtype} "
                f"from {faces.min()} to {faces.max()}."
            )
        faces = faces.astype(np.int64)
        vertices = vertices / max(1.0, np.linalg.norm(vertices, axis=1).max())
        paint = np.ones_like(vertices) if paint is None else check_points(paint, name="paint")
        if paint.shape != vertices.shape or not 0 <= paint.min() <= paint.max() <= 1:
            raise InputError(
                f"paint must be in [0, 1] and of shape {vertices.shape}; got shape {paint.shape} "
                f"from {paint.min():g} to {paint.max():g}."
            )
        across = _across(vertices[faces])  # normals with twice the area as length
        if not np.linalg.norm(across, axis=1).all():
            raise InputError("Every triangle must have a positive area; got one without.")
        normals = np.repeat(across[:, None], 3, axis=1)
        if smooth:  # at a vertex, the mean over its triangles, weighted by area
            at_vertex = np.zeros_like(vertices)
            np.add.at(at_vertex, faces, normals)
            normals = at_vertex[faces]
        length = np.linalg.norm(normals, axis=2, keepdims=True)
        return cls(vertices, faces, check_finite(normals / length, "normals"), paint)


def blob(*, smooth: bool = True, paint: bool = False) -> Mesh:
    """Make the object of the scenes: smooth, with 500 triangles and no symmetry.

    The object is a geodesic sphere with radial bumps, stretched along the axes. The centroid of its
    surface is at the origin, and its farthest vertex is at distance 1.
    """
    directions, faces = geodesic_sphere(_FREQUENCY)
    radius = np.full(len(directions), _RADIUS)
    for towards, height, sharpness in _BUMPS:
        centre = np.array(towards) / np.linalg.norm(towards)
        radius += height * np.exp(sharpness * (directions @ centre - 1))
    vertices = radius[:, None] * directions * _STRETCH
    triangles = vertices[faces]
    weights = np.linalg.norm(_across(triangles), axis=1)
    vertices = vertices - np.average(triangles.mean(axis=1), axis=0, weights=weights)
    vertices /= np.linalg.norm(vertices, axis=1).max()
    # Colours that vary slowly over the surface, from dark to light in every channel.
    waves = np.array([[1.1, 0.4, -0.3], [-0.5, 1.0, 0.6], [0.2, -0.6, 1.2]])
    colours = 0.6 + 0.4 * np.sin(directions @ waves.T * 2 + np.array([0.3, 1.4, 2.6]))
    return Mesh.from_triangles(vertices, faces, smooth=smooth, paint=colours if paint else None)


def cube(side: float = 1.0) -> Mesh:
    """Make a cube of twelve triangles about the origin, with sides parallel to the axes."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    quads = np.array(
        [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    )
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return Mesh.from_triangles(0.5 * side * corners, faces, smooth=False)


def geodesic_sphere(frequency: int) -> tuple[np.ndarray, np.ndarray]:
    """Subdivide the edges of an icosahedron, and project the vertices onto the unit sphere.

    Parameters
    ----------
    frequency : int
        Number of parts of each edge.

    Returns
    -------
    vertices : ndarray of shape (10 frequency^2 + 2, 3)
        Unit vectors.
    faces : ndarray of int64, shape (20 frequency^2, 3)
        Anticlockwise as seen from outside.

    Examples
    --------
    >>> vertices, faces = geodesic_sphere(2)
    >>> len(vertices), len(faces)
    (42, 80)
    """
    corners, sides = _icosahedron()
    # Barycentric steps (i, j) of one side, row by row, and the small triangles between them.
    steps = np.array([(i, j) for i in range(frequency + 1) for j in range(frequency + 1 - i)])
    place = {tuple(step): number for number, step in enumerate(steps.tolist())}
    up = [
        (place[i, j], place[i + 1, j], place[i, j + 1])
        for i in range(frequency)
        for j in range(frequency - i)
    ]
    down = [
        (place[i + 1, j], place[i + 1, j + 1], place[i, j + 1])
        for i in range(frequency - 1)
        for j in range(frequency - 1 - i)
    ]
    weights = np.column_stack([frequency - steps.sum(axis=1), steps]) / frequency
    points = (weights @ corners[sides]).reshape(-1, 3)
    faces = np.array(up + down) + len(steps) * np.arange(20)[:, None, None]
    # Sides share their borders: merge equal points into one vertex.
    _, first, number = np.unique(points.round(9), axis=0, return_index=True, return_inverse=True)
    vertices = points[first]
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    return vertices, number.reshape(-1)[faces.reshape(-1, 3)].astype(np.int64)


def _icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """Return corners (12, 3), permutations of (0, ±1, ±golden ratio), and sides (20, 3)."""
    golden = (1 + np.sqrt(5)) / 2
    base = np.array([(0.0, a, b * golden) for a in (-1, 1) for b in (-1, 1)])
    corners = np.concatenate([np.roll(base, shift, axis=1) for shift in range(3)])
    gap = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    near = np.isclose(gap, 2.0)  # the length of an edge
    # A side consists of three corners that are neighbours of each other.
    sides = np.array(
        [
            (i, j, k)
            for i in range(12)
            for j in range(i + 1, 12)
            for k in range(j + 1, 12)
            if near[i, j] and near[j, k] and near[i, k]
        ]
    )
    inwards = np.einsum("tc,tc->t", _across(corners[sides]), corners[sides].sum(axis=1)) < 0
    sides[inwards] = sides[inwards][:, ::-1]
    return corners, sides


def _across(triangles: np.ndarray) -> np.ndarray:
    """Return cross products (t, 3) of the edges of triangles (t, 3 corners, 3)."""
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])


# Rendering of a rotated mesh under a light, with a depth buffer.

FRAME = 1.05  # half the side of the picture: the unit ball with a margin


@njit(cache=True, nogil=True)
def draw_mesh(
    vertices: np.ndarray,
    faces: np.ndarray,
    normals: np.ndarray,
    paint: np.ndarray,
    rotations: np.ndarray,
    lights: np.ndarray,
    ambient: float,
    finer: int,
    out: np.ndarray,
) -> None:
    """Draw one image for every rotation and light.

    The camera is orthographic and looks along -z: a point x of the object appears at R x, with the
    first coordinate to the right and the second up, and hides points with a smaller third
    coordinate. Where a triangle is visible, with unit normals n_i at its corners and barycentric
    weights b,

        n = sum_i b_i n_i / |sum_i b_i n_i|,
        brightness = paint * (ambient + (1 - ambient) max(0, (R n) . light)),

    nothing is black, and there are no shadows. A pixel is the mean over finer x finer samples.

    Parameters
    ----------
    vertices, faces, normals, paint : ndarray
        As in `Mesh`; paint has shape (v, c).
    rotations : ndarray of shape (n, 3, 3)
    lights : ndarray of shape (n, 3)
        Unit vectors from the object to the light.
    ambient : float
    finer : int
    out : ndarray of float32, shape (n, h, w, c)
        Overwritten with brightness in [0, 1].
    """
    n, height, width, channels = out.shape
    rows, columns = height * finer, width * finer
    # The shorter side sees [-FRAME, FRAME].
    scale = 0.5 * min(rows, columns) / FRAME
    depth = np.empty((rows, columns), dtype=np.float32)
    colour = np.empty((rows, columns, channels), dtype=np.float32)
    seen = np.empty((len(vertices), 3))
    cosines = np.empty((len(faces), 3))  # between the normals of a triangle's corners
    for t in range(len(faces)):
        for a in range(3):
            b = (a + 1) % 3
            cosines[t, a] = (
                normals[t, a, 0] * normals[t, b, 0]
                + normals[t, a, 1] * normals[t, b, 1]
                + normals[t, a, 2] * normals[t, b, 2]
            )
    for i in range(n):
        depth[:] = -np.inf
        colour[:] = 0.0
        turn = rotations[i]
        for v in range(len(vertices)):
            x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
            # In samples: column, row (down), and depth towards the camera.
            seen[v, 0] = 0.5 * columns + scale * (turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] * z)
            seen[v, 1] = 0.5 * rows - scale * (turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] * z)
            seen[v, 2] = turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] * z
        # (R n) . light = n . (R^T light): turn the light once instead of every normal.
        light = turn.T @ lights[i]
        for t in range(len(faces)):
            _draw_triangle(t, seen, faces, normals, cosines, paint, light, ambient, depth, colour)
        for row in range(height):
            for column in range(width):
                for c in range(channels):
                    total = 0.0
                    for down in range(finer):
                        for right in range(finer):
                            total += colour[row * finer + down, column * finer + right, c]
                    out[i, row, column, c] = total / (finer * finer)


@njit(cache=True)
def _draw_triangle(
    t: int,
    seen: np.ndarray,
    faces: np.ndarray,
    normals: np.ndarray,
    cosines: np.ndarray,
    paint: np.ndarray,
    light: np.ndarray,
    ambient: float,
    depth: np.ndarray,
    colour: np.ndarray,
) -> None:
    """Draw one triangle into the buffers where it is nearer than the previous content."""
    v0, v1, v2 = faces[t, 0], faces[t, 1], faces[t, 2]
    x0, y0, z0 = seen[v0, 0], seen[v0, 1], seen[v0, 2]
    x1, y1, z1 = seen[v1, 0], seen[v1, 1], seen[v1, 2]
    x2, y2, z2 = seen[v2, 0], seen[v2, 1], seen[v2, 2]
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if area >= 0.0:  # rows point down: anticlockwise triangles have negative area
        return  # seen from behind, and hidden because the mesh is closed
    # Samples are at the centres of their cells, at integers plus a half.
    rows, columns = depth.shape
    top = max(int(np.ceil(min(y0, y1, y2) - 0.5)), 0)
    bottom = min(int(np.floor(max(y0, y1, y2) - 0.5)), rows - 1)
    left = max(int(np.ceil(min(x0, x1, x2) - 0.5)), 0)
    right = min(int(np.floor(max(x0, x1, x2) - 0.5)), columns - 1)
    # Brightness at the corners, before the maximum with 0 and the division by the normal's length.
    n0 = normals[t, 0, 0] * light[0] + normals[t, 0, 1] * light[1] + normals[t, 0, 2] * light[2]
    n1 = normals[t, 1, 0] * light[0] + normals[t, 1, 1] * light[1] + normals[t, 1, 2] * light[2]
    n2 = normals[t, 2, 0] * light[0] + normals[t, 2, 1] * light[1] + normals[t, 2, 2] * light[2]
    c01, c12, c20 = cosines[t, 0], cosines[t, 1], cosines[t, 2]
    step1, step2 = (y2 - y0) / area, (y0 - y1) / area  # change of b1 and b2 from column to column
    for row in range(top, bottom + 1):
        y = row + 0.5 - y0
        x = left + 0.5 - x0
        b1 = (x * (y2 - y0) - (x2 - x0) * y) / area
        b2 = ((x1 - x0) * y - x * (y1 - y0)) / area
        for column in range(left, right + 1):
            b0 = 1.0 - b1 - b2
            if b0 >= 0.0 and b1 >= 0.0 and b2 >= 0.0:
                z = b0 * z0 + b1 * z1 + b2 * z2
                if z > depth[row, column]:
                    depth[row, column] = z
                    length = np.sqrt(
                        b0 * b0
                        + b1 * b1
                        + b2 * b2
                        + 2.0 * (b0 * b1 * c01 + b1 * b2 * c12 + b2 * b0 * c20)
                    )
                    shade = max(0.0, (b0 * n0 + b1 * n1 + b2 * n2) / length)
                    shade = ambient + (1.0 - ambient) * shade
                    for c in range(colour.shape[2]):
                        colour[row, column, c] = shade * (
                            b0 * paint[v0, c] + b1 * paint[v1, c] + b2 * paint[v2, c]
                        )
            b1 += step1
            b2 += step2
