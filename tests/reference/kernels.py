"""Slow, literal twins of soft ranks, convolution and the augmented loss: loops, as stated."""

import math

import numpy as np


def _decreasing_fit(n, value):
    """Isotonic solution by the min-max formula over all blocks j..k that hold i."""
    return np.array(
        [min(max(value(j, k) for k in range(i, n)) for j in range(i + 1)) for i in range(n)]
    )


def _log_sum_exp(values):
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))


def _block_value(s, w, regularization):
    """Block value of the regression of s on w, both in descending order."""
    if regularization == "l2":
        return lambda j, k: sum(s[i] - w[i] for i in range(j, k + 1)) / (k + 1 - j)
    return lambda j, k: _log_sum_exp(s[j : k + 1]) - _log_sum_exp(w[j : k + 1])


def soft_rank(x, strength, regularization):
    """Blondel et al. (2020), propositions 2 and 3, with ranks of ascending values."""
    n = len(x)
    order = sorted(range(n), key=lambda i: -x[i])
    s = [x[i] / strength for i in order]
    w = [float(n - i) for i in range(n)]
    weights = w if regularization == "l2" else [math.log(v) for v in w]
    v = _decreasing_fit(n, _block_value(s, weights, regularization))
    ranks = np.empty(n)
    for place, i in enumerate(order):
        gap = s[place] - v[place]
        ranks[i] = gap if regularization == "l2" else math.exp(gap)
    return ranks


def soft_sort(x, strength, regularization):
    """The same projection with the roles of values and ranks exchanged, ascending."""
    n = len(x)
    s = sorted((-v for v in x), reverse=True)
    w = [(n - i) / strength for i in range(n)]
    v = _decreasing_fit(n, _block_value(w, s, regularization))
    return np.array([-(w[i] - v[i]) for i in range(n)])


def convolve(image, kernel, full):
    """result[i] = sum over j of kernel[j] image[i + r - j], with zeros outside."""
    (h, w), (s, t) = image.shape, kernel.shape
    rows, columns = (h + s - 1, w + t - 1) if full else (h, w)
    shift = (0, 0) if full else (s // 2, t // 2)
    result = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            for a in range(s):
                for b in range(t):
                    y, x = i + shift[0] - a, j + shift[1] - b
                    if 0 <= y < h and 0 <= x < w:
                        result[i, j] += kernel[a, b] * image[y, x]
    return result


def augmented_loss(x, y, kernels, alpha, full, pixel_loss):
    """Equation 3.8 for one pair of images (h, w, c): both are blurred, then compared."""
    h, w, c = x.shape
    plain = sum(pixel_loss(a, b) for a, b in zip(x.ravel(), y.ravel(), strict=True))
    blurred = 0.0
    for kernel in kernels:  # (c or 1, s, s)
        for channel in range(c):
            own = kernel[channel % len(kernel)]
            a = convolve(x[:, :, channel], own, full)
            b = convolve(y[:, :, channel], own, full)
            blurred += sum(pixel_loss(p, q) for p, q in zip(a.ravel(), b.ravel(), strict=True))
    return (plain + alpha * blurred / len(kernels)) / (h * w * c)


def spearman(a, b):
    """Pearson's correlation of ranks, ties averaged, ranks by counting."""
    ranks = [
        np.array([sum(v < u for v in x) + (sum(v == u for v in x) + 1) / 2 for u in x])
        for x in (a, b)
    ]
    a, b = (r - r.mean() for r in ranks)
    return (a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum())
