"""A turned triangle mesh and a light -> an image, with a depth buffer."""

from __future__ import annotations

import numpy as np

from geodis.base.compiled import njit

FRAME = 1.05  # half the side of the picture: the unit ball with a little air


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

    The camera looks along -z from far away (orthographic): a point x of the object appears at
    R x, first coordinate to the right, second up, and hides what has a smaller third coordinate.
    Where a triangle is seen, with unit normals n_i at its corners and barycentric weights b,

        n = sum_i b_i n_i / |sum_i b_i n_i|,
        brightness = paint * (ambient + (1 - ambient) max(0, (R n) . light)),

    and nothing is black. No shadow is cast. A pixel is the mean over finer x finer samples.

    Parameters
    ----------
    vertices, faces, normals, paint : ndarray
        As in `geodis.data.scenes.meshes.Mesh`; paint of shape (v, c).
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
    """Put one triangle into the buffers where it is nearer than what is there."""
    v0, v1, v2 = faces[t, 0], faces[t, 1], faces[t, 2]
    x0, y0, z0 = seen[v0, 0], seen[v0, 1], seen[v0, 2]
    x1, y1, z1 = seen[v1, 0], seen[v1, 1], seen[v1, 2]
    x2, y2, z2 = seen[v2, 0], seen[v2, 1], seen[v2, 2]
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if area >= 0.0:  # rows point down: anticlockwise triangles have negative area
        return  # seen from behind, and hidden, as the mesh is closed
    # Samples stand in the middle of their cells, at whole numbers and a half.
    rows, columns = depth.shape
    top = max(int(np.ceil(min(y0, y1, y2) - 0.5)), 0)
    bottom = min(int(np.floor(max(y0, y1, y2) - 0.5)), rows - 1)
    left = max(int(np.ceil(min(x0, x1, x2) - 0.5)), 0)
    right = min(int(np.floor(max(x0, x1, x2) - 0.5)), columns - 1)
    # Brightness of a corner before the maximum with 0 and the length of the mean normal.
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
