"""GeoManCER as published, literally: loops over points and edges, explicit sparse Laplacian.

Algorithm 1 of Pfau, Higgins, Botev and Racaniere (2020), with the choices of its description:
principal directions of displacements as tangents, unnormalised Laplacian, the largest gap as the
number of factors, FFDiag from the identity and clusters by cosine similarity, point by point.
"""

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from geodis.manifold.holonomy.laplacian import symmetric_basis, traceless_basis


def published_geomancer(points, dim, n_eigenfields=10):
    """Subspaces at every point, a list of frames (k_j, d) each, and the spectrum."""
    n = len(points)
    neighbors = symmetric_neighbors(points, 2 * dim)
    frames = [
        np.linalg.svd(points[near] - points[i], full_matrices=False)[2][:dim]
        for i, near in enumerate(neighbors)
    ]
    basis = symmetric_basis(dim) @ traceless_basis(dim)  # Pi_sym Pi_tr
    size = basis.shape[1]
    n_blocks = n + sum(map(len, neighbors))
    blocks = np.empty((n_blocks, size, size), np.float32)
    columns = np.empty(n_blocks, np.int32)
    starts = [0]
    entry = 0
    for i, near in enumerate(neighbors):
        columns[entry], blocks[entry] = i, len(near) * np.eye(size)
        entry += 1
        for j in near:
            u, _, v = np.linalg.svd(frames[i] @ frames[j].T)
            transport = u @ v
            columns[entry] = j
            blocks[entry] = -basis.T @ np.kron(transport, transport) @ basis
            entry += 1
        starts.append(entry)
    shape = (n * size, n * size)
    laplacian = scipy.sparse.bsr_array((blocks, columns, np.array(starts)), shape=shape)
    start = np.random.default_rng(0).standard_normal(n * size)
    values, vectors = scipy.sparse.linalg.eigsh(laplacian, k=n_eigenfields, which="SM", v0=start)
    wanted = np.argmax(np.diff(values)) + 1
    subspaces = []
    for i in range(n):
        fields = [
            (basis @ vectors[i * size : (i + 1) * size, r]).reshape(dim, dim) for r in range(wanted)
        ]
        subspaces.append([axes @ frames[i] for axes in cluster(fields)])
    return subspaces, values


def symmetric_neighbors(points, count):
    """e_ij if j is among the nearest of i or i among those of j; a sorted list for each point."""
    near: list[set[int]] = [set() for _ in points]
    squared_length = (points**2).sum(axis=1)
    for i, x in enumerate(points):
        squared = squared_length - 2 * points @ x + squared_length[i]
        nearest = np.argpartition(squared, count)[: count + 1]
        for j in nearest[nearest != i]:
            near[i].add(int(j))
            near[int(j)].add(i)
    return [sorted(items) for items in near]


def cluster(fields):
    """Joint diagonalisation from the identity, then axes whose diagonals point the same way."""
    dim = len(fields[0])
    rotation = np.eye(dim)
    turned = [field.copy() for field in fields]
    before = np.inf
    for _ in range(1000):
        step = np.zeros((dim, dim))
        for a in range(dim):
            for b in range(a + 1, dim):
                difference = [matrix[a, a] - matrix[b, b] for matrix in turned]
                above = sum(m[a, b] * d for m, d in zip(turned, difference, strict=True))
                below = sum(d * d for d in difference)
                step[a, b] = above / below if below > 0 else 0.0
                step[b, a] = -step[a, b]
        step /= max(1.0, float(np.linalg.norm(step, 2)))
        turn = scipy.linalg.expm(step)
        rotation = turn @ rotation
        turned = [turn @ matrix @ turn.T for matrix in turned]
        off = sum(np.linalg.norm(matrix - np.diag(np.diag(matrix))) ** 2 for matrix in turned)
        if before - off < 1e-10:
            break
        before = off
    diagonals = np.array([np.diag(matrix) for matrix in turned]).T  # one row an axis
    lengths = np.maximum(np.linalg.norm(diagonals, axis=1), np.finfo(float).tiny)
    similar = diagonals @ diagonals.T / np.outer(lengths, lengths) > 0.5
    groups, left = [], set(range(dim))
    while left:
        group, stack = set(), [left.pop()]
        while stack:
            axis = stack.pop()
            group.add(axis)
            reached = {b for b in left if similar[axis, b]}
            left -= reached
            stack += reached
        groups.append(rotation[sorted(group)])
    return groups


def published_error(subspaces, true):
    """Mean over points of the mean largest angle under the best pairing at each point."""
    from itertools import permutations

    errors = []
    for i, found in enumerate(subspaces):
        best = np.pi / 2
        for order in permutations(found):
            if len(found) != len(true):
                break
            angles = [
                np.arccos(min(1.0, np.linalg.svd(a @ b[i].T, compute_uv=False).min()))
                if len(a) == b.shape[1]
                else np.pi / 2
                for a, b in zip(order, true, strict=True)
            ]
            best = min(best, float(np.mean(angles)))
        errors.append(best)
    return float(np.mean(errors))
