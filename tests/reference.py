"""Slow, literal twins of the library's fast code: loops over points, as the papers state them."""

import math

import numpy as np


def nearest_neighbors(points, n_neighbors):
    """Indices and distances of the nearest rows at other places, one row for each place."""
    found = []
    for i, x in enumerate(points):
        seen = {tuple(x)}
        row: list[tuple[int, float]] = []
        by_distance = sorted(range(len(points)), key=lambda j: (math.dist(x, points[j]), j))
        for j in by_distance:
            if tuple(points[j]) not in seen and len(row) < n_neighbors:
                seen.add(tuple(points[j]))
                row.append((j, math.dist(x, points[j])))
        assert i not in [j for j, _ in row]
        found.append(row)
    return (
        np.array([[j for j, _ in row] for row in found]),
        np.array([[distance for _, distance in row] for row in found]),
    )


def adjacency(indices, n_neighbors):
    """e_ij if j is among the neighbours of i or i among those of j, as a dense matrix."""
    n = len(indices)
    edges = np.zeros((n, n))
    for i in range(n):
        for j in indices[i][:n_neighbors]:
            edges[i, j] = edges[j, i] = 1.0
    return edges


def pieces(edges):
    """Number of connected pieces, by flooding."""
    unseen, count = set(range(len(edges))), 0
    while unseen:
        count += 1
        stack = [unseen.pop()]
        while stack:
            reached = set(np.flatnonzero(edges[stack.pop()])) & unseen
            unseen -= reached
            stack += reached
    return count


def mle_dimension(distances):
    """Levina and Bickel (2004), eq. 8, averaged as MacKay and Ghahramani (2005) propose."""
    n, count = distances.shape
    total = 0.0
    for i in range(n):
        for j in range(count - 1):
            total += math.log(distances[i, count - 1] / distances[i, j])
    return (count - 2) / (count - 1) / (total / (n * (count - 1)))


def two_nn_dimension(distances, kept):
    """Facco et al. (2017): slope through the origin of -log(1 - F(mu)) against log mu."""
    ratios = sorted(row[1] / row[0] for row in distances)
    n = len(ratios)
    above = below = 0.0
    for rank, ratio in enumerate(ratios, start=1):
        if rank <= max(1, int(kept * n)):
            above += math.log(ratio) * -math.log(1 - rank / (n + 1))
            below += math.log(ratio) ** 2
    return above / below
