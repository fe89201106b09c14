"""Unrolling and independence, literally: one point, edge or pair at a time, dense matrices."""

import numpy as np


def transported(subspaces, tree):
    """Frames carried from the root, parent by parent, by the polar factor of each overlap."""
    frames = [None] * len(tree)

    def visit(i):
        if frames[i] is None:
            if tree[i] == i:
                frames[i] = subspaces[i]
            else:
                u, _, vt = np.linalg.svd(visit(tree[i]) @ subspaces[i].T)
                frames[i] = u @ vt @ subspaces[i]
        return frames[i]

    return np.array([visit(i) for i in range(len(tree))])


def tree_sums(steps, tree, edges):
    """Coordinates of every point: the signed steps on its way to the root, added up."""
    step = {}
    for i, j, c in zip(edges.i.tolist(), edges.j.tolist(), steps, strict=True):
        step[i, j], step[j, i] = c, -c
    sums = []
    for i in range(len(tree)):
        total, at = np.zeros(steps.shape[1]), i
        while tree[at] != at:
            total = total + step[int(tree[at]), int(at)]
            at = tree[at]
        sums.append(total)
    return np.array(sums)


def wanted_step(x_i, x_j, frame_i, frame_j):
    """c_ij = (v_i + v_j) / 2 + ((v_i + v_j) - G v_i - G^T v_j) / 6."""
    v_i, v_j = frame_i @ (x_j - x_i), frame_j @ (x_j - x_i)
    turn = frame_j @ frame_i.T
    return (v_i + v_j) / 2 + ((v_i + v_j) - turn @ v_i - turn.T @ v_j) / 6


def differences(edges, wanted, weights):
    """Minimiser of sum w |y_j - y_i - c|^2 of mean zero, from the dense normal equations."""
    gradient = np.zeros((len(edges.i), edges.n))
    for e, (i, j) in enumerate(zip(edges.i, edges.j, strict=True)):
        gradient[e, i], gradient[e, j] = -1.0, 1.0
    root = np.sqrt(weights)[:, None]
    values = np.linalg.lstsq(root * gradient, root * wanted, rcond=None)[0]
    return values - values.mean(axis=0)


def spacing_entropy(values, floor=0.0):
    """Vasicek's entropy with spacings of sqrt(n)."""
    n, m = len(values), max(1, int(np.sqrt(len(values))))
    ordered = sorted(values)
    logs = []
    for i in range(n - m):
        logs.append(np.log(max(ordered[i + m] - ordered[i], floor, 1e-300) * (n + 1) / m))
    return sum(logs) / len(logs)


def support_width(values):
    """Log of the distance between the means of the largest and smallest .3 %."""
    count = min(max(2, round(0.003 * len(values))), len(values) // 2)
    ordered = sorted(values)
    return np.log(np.mean(ordered[-count:]) - np.mean(ordered[:count]))


def moment_entropy(values):
    """Hyvarinen's approximation, term by term."""
    scale = np.std(values)
    y = [(value - np.mean(values)) / scale for value in values]
    odd = np.mean([a * np.exp(-(a**2) / 2) for a in y])
    even = np.mean([np.exp(-(a**2) / 2) for a in y]) - np.sqrt(1 / 2)
    gaussian = 0.5 * np.log(2 * np.pi * np.e) + np.log(scale)
    return gaussian - 36 / (8 * 3**0.5 - 9) * odd**2 - 24 / (16 * 3**0.5 - 27) * even**2


def turned_pair(first, second, angle, contrast):
    """Contrast of two coordinates after a rotation of their plane."""
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    new = turn @ np.array([first, second])
    return contrast(new[0]) + contrast(new[1])


def rank_information(first, second):
    """From the counts of ranks in a square grid, less the bias, cell by cell."""
    n = len(first)
    bins = int(min(max(np.sqrt(n / 10), 2), 24))
    rank = [np.argsort(np.argsort(x)) for x in (first, second)]
    counts = np.zeros((bins, bins))
    for a, b in zip(*rank, strict=True):
        counts[a * bins // n, b * bins // n] += 1
    total = 0.0
    for row in counts:
        for count in row:
            if count:
                total += count / n * np.log(count / n * bins * bins)
    return total - (bins - 1) ** 2 / (2 * n)


def wrapped_difference(first, second, period):
    """Differences on a circle of a given length, the short way round."""
    return (first - second + period / 2) % period - period / 2
