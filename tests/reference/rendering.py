"""Slow, literal twins of the renderers: every sample of every pixel asks every edge or triangle."""

import math

import numpy as np


def is_inside(x, y, outline):
    """Count how often a ray to the right crosses the outline: inside where the count is odd."""
    crossings = 0
    for (x0, y0), (x1, y1) in zip(outline, outline[1:] + outline[:1], strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (x1 - x0) * (y - y0) / (y1 - y0):
            crossings += 1
    return crossings % 2 == 1


def covered_share(outline, height, width, finer):
    """Share of finer x finer samples of every pixel that are inside a polygon (p, 2)."""
    image, outline = np.zeros((height, width)), outline.tolist()
    for row in range(height):
        for column in range(width):
            for down in range(finer):
                for right in range(finer):
                    x = column + (right + 0.5) / finer
                    y = row + (down + 0.5) / finer
                    image[row, column] += is_inside(x, y, outline) / finer**2
    return image


def hit(x, y, corners):
    """Barycentric weights and depth where the line through (x, y) along z meets a triangle."""
    (x0, y0, z0), (x1, y1, z1), (x2, y2, z2) = corners
    twice_area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if twice_area <= 0:  # seen from behind, or from the side
        return None
    b0 = ((x1 - x) * (y2 - y) - (x2 - x) * (y1 - y)) / twice_area
    b1 = ((x2 - x) * (y0 - y) - (x0 - x) * (y2 - y)) / twice_area
    b2 = ((x0 - x) * (y1 - y) - (x1 - x) * (y0 - y)) / twice_area
    if b0 < 0 or b1 < 0 or b2 < 0:
        return None
    return (b0, b1, b2), b0 * z0 + b1 * z1 + b2 * z2


def ray_cast(mesh, rotation, light, size, *, ambient=0.2, finer=2, frame=1.05):
    """Grey image (size, size) of a white mesh: one ray a sample, the nearest triangle wins."""
    vertices = [(rotation @ vertex).tolist() for vertex in mesh.vertices]
    triangles = [[vertices[v] for v in face] for face in mesh.faces]
    image = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            for down in range(finer):
                for right in range(finer):
                    x = frame * (2 * (column + (right + 0.5) / finer) / size - 1)
                    y = frame * (1 - 2 * (row + (down + 0.5) / finer) / size)
                    nearest, brightness = -math.inf, 0.0
                    for corners, normals in zip(triangles, mesh.normals, strict=True):
                        found = hit(x, y, corners)
                        if found is not None and found[1] > nearest:
                            weights, nearest = found
                            normal = rotation @ (weights @ normals)
                            normal /= np.linalg.norm(normal)
                            brightness = ambient + (1 - ambient) * max(0.0, normal @ light)
                    image[row, column] += brightness / finer**2
    return image
