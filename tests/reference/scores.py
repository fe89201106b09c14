"""Slow, literal twins of the scores: loops over rows, latents and factors, as the papers say."""

import math

import numpy as np


def bins(column, count):
    """Number of the equal-width bin of every value, the largest value in the last one."""
    low, high = min(column), max(column)
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, count + 1)
    found = []
    for value in column:
        place = 0
        while place < count - 1 and value >= edges[place + 1]:
            place += 1
        found.append(place)
    return np.array(found)


def quantile_bins(column, count):
    """Share of rows with smaller values, in steps."""
    found = []
    for value in column:
        below = sum(1 for other in column if other < value)
        found.append(below * count // len(column))
    return np.array(found)


def information(a, b):
    """Mutual information of two lists of codes, in nats."""
    n, total = len(a), 0.0
    for u in set(a):
        for v in set(b):
            both = sum(1 for x, y in zip(a, b, strict=True) if x == u and y == v) / n
            if both > 0:
                p = sum(1 for x in a if x == u) / n
                q = sum(1 for y in b if y == v) / n
                total += both * math.log(both / (p * q))
    return total


def corrected(a, b):
    """Information and entropy of b with Miller's term (cells - 1) / 2n for each entropy."""
    n = len(a)

    def entropy(codes):
        counts = [codes.count(code) for code in set(codes)]
        return -sum(c / n * math.log(c / n) for c in counts) + (len(counts) - 1) / (2 * n)

    a, b = list(a), list(b)
    together = list(zip(a, b, strict=True))
    return max(entropy(a) + entropy(b) - entropy(together), 0.0), entropy(b)


def information_matrix(latents, factors, count=20):
    """Information between every latent, in bins, and every factor."""
    z, f = latents.shape[1], factors.shape[1]
    matrix = np.zeros((z, f))
    for i in range(z):
        codes = bins(latents[:, i].tolist(), count).tolist()
        for j in range(f):
            matrix[i, j] = information(codes, factors[:, j].tolist())
    return matrix


def mig(latents, factors, count=20):
    """Chen et al. (2018), eq. 6."""
    matrix = information_matrix(latents, factors, count)
    total = 0.0
    for j in range(factors.shape[1]):
        first, second = sorted([*matrix[:, j], 0.0], reverse=True)[:2]
        codes = factors[:, j].tolist()
        total += (first - second) / information(codes, codes)
    return total / factors.shape[1]


def mig_sup(latents, factors, count=20):
    """The gap between the two factors that every latent knows most about."""
    matrix = information_matrix(latents, factors, count)
    total = 0.0
    for row in matrix:
        shares = []
        for j in range(factors.shape[1]):
            codes = factors[:, j].tolist()
            shares.append(row[j] / information(codes, codes))
        first, second = sorted([*shares, 0.0], reverse=True)[:2]
        total += first - second
    return total / len(matrix)


def compactness(latents, factors, count=20):
    """Share of the best latent in what all latents know, from 1/z to 1 stretched to [0, 1]."""
    matrix = information_matrix(latents, factors, count)
    z, total = len(matrix), 0.0
    for j in range(factors.shape[1]):
        total += (max(matrix[:, j]) / sum(matrix[:, j]) - 1 / z) / (1 - 1 / z)
    return total / factors.shape[1]


def modularity(matrix):
    """Ridgeway and Mozer (2018), section 3: distance from a template with one entry a latent."""
    parts = []
    for row in matrix:
        best = max(range(len(row)), key=lambda j: row[j])
        top = row[best]
        if top == 0:
            parts.append(0.0)
            continue
        deviation = sum((row[j] - (top if j == best else 0)) ** 2 for j in range(len(row)))
        parts.append(1 - deviation / (top**2 * (len(row) - 1)))
    return sum(parts) / len(parts)


def disentanglement(matrix):
    """Eastwood and Williams (2018): one minus entropies of rows, weighted by sums of rows."""
    total = 0.0
    for row in matrix:
        share = [(value + 1e-11) / (sum(row) + 1e-11 * len(row)) for value in row]
        part = 1 + sum(p * math.log(p, len(row)) for p in share)
        total += part * sum(row) / sum(map(sum, matrix))
    return total


def class_information(x, codes, k):
    """Ross (2014): distances to the k-th neighbour of the same class, counts among all rows."""
    from scipy.special import digamma

    rows = [i for i in range(len(x)) if list(codes).count(codes[i]) > 1]
    total = 0.0
    for i in rows:
        same = sorted(abs(x[i] - x[j]) for j in rows if codes[j] == codes[i] and j != i)
        near = min(k, len(same))
        inside = sum(1 for j in rows if abs(x[i] - x[j]) < same[near - 1])
        total += digamma(near) - digamma(len(same) + 1) - digamma(max(inside, 1))
    return max(digamma(len(rows)) + total / len(rows), 0.0)


def continuous_information(x, y, k):
    """Kraskov et al. (2004), eq. 8."""
    from scipy.special import digamma

    n, total = len(x), 0.0
    for i in range(n):
        far = sorted(max(abs(x[i] - x[j]), abs(y[i] - y[j])) for j in range(n) if j != i)[k - 1]
        of_x = sum(1 for j in range(n) if j != i and abs(x[i] - x[j]) < far)
        of_y = sum(1 for j in range(n) if j != i and abs(y[i] - y[j]) < far)
        total += digamma(of_x + 1) + digamma(of_y + 1)
    return max(digamma(k) + digamma(n) - total / n, 0.0)


def margin_accuracy(train, train_codes, test, test_codes):
    """The support vector machine on one latent, solved by a general minimiser."""
    from scipy.optimize import minimize

    classes = sorted(set(train_codes))
    n, k = len(train), len(classes)
    heights = []
    for c in classes:
        y = np.where(train_codes == c, 1.0, -1.0)
        own = n / (k * (y > 0).sum())
        others = n / (k * (y < 0).sum()) if k == 2 else 1.0
        weight = np.where(y > 0, own, others)

        def loss(p, y=y, weight=weight):
            slack = np.maximum(0, 1 - y * (p[0] * train + p[1]))
            slope = -2 * 0.01 * weight * slack * y
            gradient = np.array([p[0] + (slope * train).sum(), p[1] + slope.sum()])
            return (p @ p) / 2 + 0.01 * (weight * slack**2).sum(), gradient

        w, b = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-10}).x
        heights.append(w * test + b)
    predicted = np.array(classes)[np.argmax(heights, axis=0)]
    return float(np.mean(predicted == test_codes))


def squared_correlation(x, y):
    """Squared Pearson correlation from its definition."""
    mx, my = sum(x) / len(x), sum(y) / len(y)
    both = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return both**2 / (sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


def area(scores, own):
    """Share of pairs (own, other) in which the own row has the higher score; a tie counts half."""
    wins, pairs = 0.0, 0
    for a in scores[own]:
        for b in scores[~own]:
            wins += 1.0 if a > b else 0.5 if a == b else 0.0
            pairs += 1
    return wins / pairs


def boosted_importance(latents, codes, stages):
    """Friedman (2001), algorithm 6, with exact splits in trees of depth three, in plain loops."""
    n, z = latents.shape
    classes = sorted(set(codes))
    raw = np.array([[math.log((codes == c).mean()) for c in classes]] * n)
    gains = np.zeros(z)
    for _ in range(stages):
        power = np.exp(raw)
        chance = power / power.sum(axis=1, keepdims=True)
        for c, value in enumerate(classes):
            residual = (codes == value) - chance[:, c]
            leaves = [(np.arange(n), 0)]
            while leaves:
                rows, depth = leaves.pop()
                splits = []  # of every latent that can split, the first of the best
                for i in range(z if depth < 3 else 0):
                    best = None
                    for edge in sorted(set(latents[rows, i]))[1:]:
                        left = rows[latents[rows, i] < edge]
                        right = rows[latents[rows, i] >= edge]
                        removed = _deviation(residual[rows])
                        removed -= _deviation(residual[left]) + _deviation(residual[right])
                        if best is None or removed > best[0] + 1e-12:
                            best = (removed, i, left, right)
                    if best is not None:
                        splits.append(best)
                if splits:
                    most = max(split[0] for split in splits)
                    tied = [split for split in splits if split[0] > most - 1e-12]
                    for split in tied:
                        gains[split[1]] += most / len(tied)
                    leaves += [(tied[0][2], depth + 1), (tied[0][3], depth + 1)]
                    continue
                curvature = (chance[rows, c] * (1 - chance[rows, c])).sum()
                step = residual[rows].sum() / curvature if curvature > 1e-150 else 0.0
                raw[rows, c] += 0.1 * step * (len(classes) - 1) / len(classes)
    return gains / gains.sum()


def _deviation(values):
    return ((values - values.mean()) ** 2).sum()
