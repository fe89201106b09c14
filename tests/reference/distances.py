"""Slow, literal twins of the distances: loops over pairs, pixels and factors, as the papers say."""

import itertools
import math
from fractions import Fraction

import numpy as np


def ground_truth(a, b):
    """(3.1): the L1 distance between two tuples of factors."""
    return sum(abs(int(x) - int(y)) for x, y in zip(a, b, strict=True))


def scaled_ground_truth(a, b, sizes):
    """(5.11), with fractions: sum of |a_j - b_j| / (f_j - 1)."""
    total = Fraction(0)
    for x, y, size in zip(a, b, sizes, strict=True):
        if size > 1:
            total += Fraction(abs(int(x) - int(y)), int(size) - 1)
    return total


def differing(a, b):
    """(5.6): how many factors differ."""
    return sum(int(x != y) for x, y in zip(a, b, strict=True))


def pixels(image):
    """Values of an image in [0, 1], as a list."""
    scale = 255 if image.dtype == np.uint8 else 1
    return [float(value) / scale for value in image.ravel()]


def mse(x, y):
    """Mean squared difference over pixels and channels."""
    pairs = list(zip(pixels(x), pixels(y), strict=True))
    return sum((a - b) ** 2 for a, b in pairs) / len(pairs)


def mae(x, y):
    """Mean absolute difference."""
    pairs = list(zip(pixels(x), pixels(y), strict=True))
    return sum(abs(a - b) for a, b in pairs) / len(pairs)


def bce(x, y):
    """Binary cross-entropy of probabilities y for x, logarithms not below -100."""
    total = 0.0
    for a, b in zip(pixels(x), pixels(y), strict=True):
        log_one = max(math.log(b), -100) if b > 0 else -100
        log_zero = max(math.log(1 - b), -100) if b < 1 else -100
        total -= a * log_one + (1 - a) * log_zero
    return total / x.size


def convolve(image, kernel):
    """True convolution of every channel, zeros beyond the edges, same size."""
    h, w, c = image.shape
    r, s = kernel.shape[0] // 2, kernel.shape[1] // 2
    out = np.zeros((h, w, c))
    for i, j, channel in itertools.product(range(h), range(w), range(c)):
        for u in range(kernel.shape[0]):
            for v in range(kernel.shape[1]):
                y, x = i + r - u, j + s - v
                if 0 <= y < h and 0 <= x < w:
                    out[i, j, channel] += kernel[u, v] * image[y, x, channel]
    return out


def kl(mean_a, log_a, mean_b, log_b):
    """KL divergence between two Gaussians with diagonal covariance."""
    total = 0.0
    for m, lv, n, lw in zip(mean_a, log_a, mean_b, log_b, strict=True):
        v, w = math.exp(lv), math.exp(lw)
        total += 0.5 * (math.log(w / v) + (v + (m - n) ** 2) / w - 1)
    return total


def mean_ranks(values):
    """Ranks from 1, ties averaged."""
    found = []
    for x in values:
        below = sum(y < x for y in values)
        equal = sum(y == x for y in values)
        found.append(below + (equal + 1) / 2)
    return found


def pearson(a, b):
    """Covariance over the product of the standard deviations."""
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    both = sum((x - ma) * (y - mb) for x, y in zip(a, b, strict=True))
    return both / math.sqrt(sum((x - ma) ** 2 for x in a) * sum((y - mb) ** 2 for y in b))


def traversals(factors, j):
    """(3.6): sets of rows that agree in all factors but j, in order of factor j."""
    groups: dict[tuple, list[int]] = {}
    for i, row in enumerate(factors):
        groups.setdefault((*row[:j], *row[j + 1 :]), []).append(i)
    return [sorted(rows, key=lambda i: factors[i][j]) for rows in groups.values()]


def traversal_matrix(factors, j, size, distance):
    """(3.7): D[u, v], averaged over all traversals; distance is a function of two rows."""
    total = np.zeros((size, size))
    found = traversals(factors, j)
    for rows in found:
        for a, b in itertools.product(rows, rows):
            total[factors[a][j], factors[b][j]] += distance(a, b)
    return total / len(found)


def axis_share(points):
    """(4.4) for one traversal: largest variance of a latent over the sum."""
    variances = [np.var(column, ddof=1) for column in np.asarray(points, float).T]
    return max(variances) / sum(variances)


def linear_share(points):
    """(4.7) for one traversal: largest eigenvalue of the covariance over the sum."""
    values = np.abs(np.linalg.eigvalsh(np.cov(np.asarray(points, float).T)))
    return max(values) / sum(values)


def ratio(latents, factors, share):
    """(4.5) and (4.6): mean over traversals, standardised, geometric mean over factors."""
    z = latents.shape[1]
    product = 1.0
    for j in range(factors.shape[1]):
        shares = [share(latents[rows]) for rows in traversals(factors.tolist(), j)]
        product *= (sum(shares) / len(shares) - 1 / z) / (1 - 1 / z)
    return product ** (1 / factors.shape[1])
