"""Slow, literal twins of the library's fast code: loops over points, as the papers state them."""

import itertools
import math

import numpy as np
import scipy.linalg


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
    return 1 / (total / (n * (count - 1)))


def curved_fit_ratio(points, i, count, k):
    """Shortest of k tangent variances over the longest residual one, and that, at one point."""
    distances = np.array([np.linalg.norm(x - points[i]) for x in points])
    distances[i] = np.inf
    y = points[np.argsort(distances, kind="stable")[:count]] - points[i]
    y = y - y.mean(axis=0)
    values, vectors = np.linalg.eigh(y.T @ y / count)
    order = np.argsort(values)[::-1]
    tangent, normal = y @ vectors[:, order[:k]], y @ vectors[:, order[k:]]
    design = [np.ones(count), *tangent.T]
    design += [tangent[:, a] * tangent[:, b] for a in range(k) for b in range(a, k)]
    design = np.column_stack(design)
    residual = normal - design @ np.linalg.lstsq(design, normal, rcond=None)[0]
    thickness = np.linalg.eigvalsh(residual.T @ residual / (count - design.shape[1]))[-1]
    return values[order[k - 1]] / thickness, thickness


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


# Symmetric matrices as vectors


def vec_symmetric(matrix):
    """The lower triangle row by row, off-diagonal entries times sqrt 2."""
    return np.array(
        [
            matrix[a, b] if a == b else math.sqrt(2) * matrix[a, b]
            for a in range(len(matrix))
            for b in range(a + 1)
        ]
    )


def symmetric_matrices(k):
    """An orthonormal basis of the symmetric matrices: E_aa, and (E_ab + E_ba) / sqrt 2."""
    basis = []
    for a in range(k):
        for b in range(a + 1):
            matrix = np.zeros((k, k))
            matrix[a, b] += 0.5
            matrix[b, a] += 0.5
            basis.append(matrix / np.linalg.norm(matrix))
    return basis


# Tangents


def polar_factor(matrix):
    """The matrix with orthonormal rows that is nearest: U V^T of the singular vectors."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def pca_frame(points, i, near, dim):
    """Algorithm 1, step 1: the leading left singular vectors of dX_i, here as rows."""
    displacements = np.column_stack([points[j] - points[i] for j in near])
    return np.linalg.svd(displacements)[0][:, :dim].T


def quadratic_pairs(dim, factor_dims=None):
    """Pairs a <= b, both within one group of axes."""
    group = [j for j, size in enumerate(factor_dims or [dim]) for _ in range(size)]
    return [(a, b) for a in range(dim) for b in range(a, dim) if group[a] == group[b]]


def quadratic_fit(t, weights, values):
    """Coefficients of values on 1, the coordinates and their products, by least squares."""
    products = [t[:, a] * t[:, b] for a, b in quadratic_pairs(t.shape[1])]
    design = np.column_stack([np.ones(len(t)), t, *products])
    root = np.sqrt(weights)[:, None]
    return np.linalg.lstsq(root * design, root * values, rcond=None)[0]


def curved_frame(points, i, near, dim, *, factor_dims=None, start=None, rounds=2):
    """Weighted centred principal directions, then rounds of a weighted quadratic fit."""
    displacements = [points[j] - points[i] for j in near]
    distances = [math.sqrt(x @ x) for x in displacements]
    weights = [math.exp(-2 * (r / max(distances)) ** 2) for r in distances]
    frame = start
    if frame is None:
        mean = sum(w * x for w, x in zip(weights, displacements, strict=True)) / sum(weights)
        covariance = sum(
            w * np.outer(x - mean, x - mean) for w, x in zip(weights, displacements, strict=True)
        )
        frame = np.linalg.svd(covariance)[0][:, :dim].T
    pairs = quadratic_pairs(dim, factor_dims)
    for _ in range(rounds):
        rows = []
        for x in displacements:
            t = frame @ x
            rows.append([1.0, *t, *[t[a] * t[b] for a, b in pairs]])
        root = np.sqrt(weights)[:, None]
        design, target = root * np.array(rows), root * np.array(displacements)
        coefficients = np.linalg.lstsq(design, target, rcond=None)[0]
        misfit = ((design @ coefficients - target) ** 2).sum()
        freedom = max(1 - len(coefficients) / len(near), 1 / len(near))
        frame = polar_factor(coefficients[1 : 1 + dim])
    return frame, math.sqrt(misfit / (sum(weights) * freedom))


# Connection


def connection(frames, edges):
    """Algorithm 1, step 2: U V^T of the SVD of U_i U_j^T on every edge, and zero elsewhere."""
    n, k, _ = frames.shape
    transports = np.zeros((n, n, k, k))
    for i in range(n):
        for j in range(n):
            if edges[i, j]:
                transports[i, j] = polar_factor(frames[i] @ frames[j].T)
    return transports


# Laplacian


def connection_laplacian(edges, transports, basis, normalized):
    """Blocks -B^T (Q_ij (x) Q_ij) B and n_i I, for fields in the columns of B; divided by degrees
    in the normalised form.
    """
    n, size = len(edges), basis.shape[1]
    degrees = edges.sum(axis=1)
    laplacian = np.zeros((n * size, n * size))
    for i in range(n):
        for j in range(n):
            block = np.zeros((size, size))
            if i == j:
                block = degrees[i] * np.eye(size)
            elif edges[i, j]:
                block = -basis.T @ np.kron(transports[i, j], transports[i, j]) @ basis
            if normalized:
                block = block / math.sqrt(degrees[i] * degrees[j])
            laplacian[i * size : (i + 1) * size, j * size : (j + 1) * size] = block
    return laplacian


# Eigenfields


def norm_variation(matrices, weights):
    """Weighted standard deviation over points of the Frobenius norm, divided by its mean."""
    norms = [math.sqrt(sum(x * x for x in matrix.ravel())) for matrix in matrices]
    mean = sum(w * x for w, x in zip(weights, norms, strict=True)) / sum(weights)
    spread = sum(w * (x - mean) ** 2 for w, x in zip(weights, norms, strict=True)) / sum(weights)
    return math.sqrt(spread) / mean


def count_parallel(values, variation, threshold):
    """Fields before the first that varies or whose eigenvalue reaches half the last one.

    More, up to a variation of .15, if the next eigenvalue is four times theirs; fewer, where the
    next is less than twice theirs, down to the last gap of two.
    """

    def leading(limit):
        count = 0
        for value, spread in zip(values, variation, strict=True):
            if spread >= limit or value >= values[-1] / 2:
                break
            count += 1
        return count

    def gap(count):
        return values[count] / max(values[count - 1], np.finfo(float).tiny)

    count, wide = leading(threshold), leading(0.15)
    if wide > count and wide < len(values) and values[wide] >= 4 * values[wide - 1]:
        return wide
    if count < 2 or count == len(values) or values[count] >= 2 * values[count - 1]:
        return count
    for fewer in range(count - 1, 0, -1):
        if gap(fewer) >= 2:
            return fewer
    return count


def extend_field(matrices, from_frames, to_frames, nearest):
    """Mean of the matrices at the nearest given points, each carried to the point's frame."""
    extended = []
    for frame, near in zip(to_frames, nearest, strict=True):
        total = 0
        for j in near:
            transport = polar_factor(frame @ from_frames[j].T)
            total = total + transport @ matrices[j] @ transport.T
        extended.append(total / len(near))
    return np.array(extended)


# Joint diagonalisation


def ffdiag(matrices, V, rounds):
    """Ziehe et al. (2004): first-order removal of the off-diagonal part, kept orthogonal."""
    k = len(V)
    for _ in range(rounds):
        D = [V @ C @ V.T for C in matrices]
        W = np.zeros((k, k))
        for i in range(k):
            for j in range(k):
                if i != j:
                    above = sum(d[i, j] * (d[i, i] - d[j, j]) for d in D)
                    W[i, j] = above / sum((d[i, i] - d[j, j]) ** 2 for d in D)
        V = np.linalg.inv(np.eye(k) - W / 2) @ (np.eye(k) + W / 2) @ V
    return V


# Evaluation


def largest_angle(first, second):
    """Largest principal angle between the row spaces; a right angle between unlike dimensions."""
    if len(first) != len(second):
        return math.pi / 2
    smallest = np.linalg.svd(first @ second.T, compute_uv=False)[-1]
    return math.acos(min(1.0, smallest))


def matched_angles(angles):
    """Mean angle at every point under the best of all pairings, once for all and at each point."""
    n, size = len(angles), len(angles[0])
    pairings = list(itertools.permutations(range(size)))
    means = np.array(
        [[sum(angles[p][i][s[i]] for i in range(size)) / size for s in pairings] for p in range(n)]
    )
    return means[:, means.sum(axis=0).argmin()], means.min(axis=1)


def unaligned_angle(points, estimated, true_points, true, i, near):
    """Canonical correlations between displacements, then the best pairing of the factors.

    Subspaces at point i only: lists of (k_j, d).
    """
    x = [np.concatenate(estimated) @ (points[j] - points[i]) for j in near]
    y = [np.concatenate(true) @ (true_points[j] - true_points[i]) for j in near]
    xx, yy, xy = (
        sum(np.outer(p, q) for p, q in zip(a, b, strict=True)) for a, b in ((x, x), (y, y), (x, y))
    )
    root = scipy.linalg.sqrtm
    u, _, v = np.linalg.svd(np.linalg.inv(root(xx)) @ xy @ np.linalg.inv(root(yy)))
    sides = []
    for frames, turn in ((estimated, u.T), (true, v)):
        bounds = np.cumsum([0, *(len(frame) for frame in frames)])
        sides.append([turn[:, a:b] for a, b in itertools.pairwise(bounds)])
    best = math.inf
    for order in itertools.permutations(sides[1]):
        angles = []
        for first, second in zip(sides[0], order, strict=True):
            if first.shape != second.shape:
                angles.append(math.pi / 2)
            else:
                cosines = np.linalg.svd(first.T @ second, compute_uv=False)
                angles.append(math.acos(min(1.0, cosines.min())))
        best = min(best, sum(angles) / len(angles))
    return best
