"""Slow, literal twins of objectives and priors: loops over rows and latents, one formula each."""

import math


def normal_log_density(z, mean, log_variance):
    variance = math.exp(log_variance)
    return -0.5 * (math.log(2 * math.pi * variance) + (z - mean) ** 2 / variance)


def normal_kl(mean_a, log_variance_a, mean_b, log_variance_b):
    a, b = math.exp(log_variance_a), math.exp(log_variance_b)
    return 0.5 * (a / b + (mean_a - mean_b) ** 2 / b - 1 + math.log(b / a))


def minibatch_log_densities(z, mean, log_variance, dataset_size):
    """Log q(z_i) and sum over latents of log q(z_ij), from all rows of the batch."""
    n, d = z.shape
    weight = 1 / (n * dataset_size)
    joint, product = [], []
    for i in range(n):
        total = sum(
            math.exp(
                sum(normal_log_density(z[i, k], mean[j, k], log_variance[j, k]) for k in range(d))
            )
            for j in range(n)
        )
        joint.append(math.log(weight * total))
        product.append(
            sum(
                math.log(
                    weight
                    * sum(
                        math.exp(normal_log_density(z[i, k], mean[j, k], log_variance[j, k]))
                        for j in range(n)
                    )
                )
                for k in range(d)
            )
        )
    return joint, product


def shared(deltas, strength):
    """Equations 2.14 and 5.16 of the dissertation on triplet autoencoders."""
    threshold = (1 - strength) * min(deltas) + strength * max(deltas)
    return [delta < threshold for delta in deltas]


def distance(a, b, p):
    return sum(abs(x - y) ** p for x, y in zip(a, b, strict=True)) ** (1 / p)


def triplet(anchor, positive, negative, p, margin):
    gap = distance(anchor, positive, p) - distance(anchor, negative, p)
    return math.log(1 + math.exp(gap)) if margin is None else max(0.0, margin + gap)


def adaptive_triplet(anchor, positive, negative, p, margin, strength, shared_weight):
    deltas = [abs(x - y) for x, y in zip(anchor, negative, strict=True)]
    weights = [shared_weight if same else 1.0 for same in shared(deltas, strength)]
    far = sum((w * delta) ** p for w, delta in zip(weights, deltas, strict=True)) ** (1 / p)
    gap = distance(anchor, positive, p) - far
    return math.log(1 + math.exp(gap)) if margin is None else max(0.0, margin + gap)


def mmd(a, b):
    """Unbiased squared discrepancy with the kernel exp(-|x - y|^2 / d)."""
    d = len(a[0])

    def kernel(x, y):
        return math.exp(-sum((s - t) ** 2 for s, t in zip(x, y, strict=True)) / d)

    n, m = len(a), len(b)
    own_a = sum(kernel(a[i], a[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    own_b = sum(kernel(b[i], b[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    return own_a + own_b - 2 * sum(kernel(x, y) for x in a for y in b) / (n * m)


def squared(x, y):
    return sum((s - t) ** 2 for s, t in zip(x, y, strict=True))


def neighbour_cross_entropy(codes, labels, kappa):
    total = 0.0
    n = len(codes)
    for a in range(n):
        others = [b for b in range(n) if b != a]
        p = [math.exp(-kappa * squared(labels[a], labels[b]) / 2) for b in others]
        q = [math.exp(-kappa * squared(codes[a], codes[b]) / 2) for b in others]
        total -= sum(x / sum(p) * math.log(y / sum(q)) for x, y in zip(p, q, strict=True))
    return total / n


def info_nce(first, second, kappa):
    n = len(first)
    logits = [[-kappa * squared(a, b) / 2 for b in second] for a in first]
    total = 0.0
    for i in range(n):
        row = [math.exp(value) for value in logits[i]]
        column = [math.exp(logits[j][i]) for j in range(n)]
        own = math.exp(logits[i][i])
        total -= 0.5 * (math.log(own / sum(row)) + math.log(own / sum(column)))
    return total / n


def lp_nested_norm(tree, z):
    """The norm of one point and the leaves it used; a tree is (exponent, [leaves or trees])."""
    exponent, children = tree
    values, used = [], 0
    for child in children:
        if isinstance(child, int):
            values += [abs(v) for v in z[used : used + child]]
            used += child
        else:
            value, inner = lp_nested_norm(child, z[used:])
            values.append(value)
            used += inner
    return sum(v**exponent for v in values) ** (1 / exponent), used
