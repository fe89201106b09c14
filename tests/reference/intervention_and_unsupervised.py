"""Slow, literal twins of the interventional and unsupervised scores: loops as the papers say.

Draws follow the conventions of the published reference values: factors one after another from
`RandomState(seed).randint`.
"""

from __future__ import annotations

import numpy as np


class Codebook:
    """A code of every cell of a grid, drawn from as the reference values were."""

    def __init__(self, codebook, sizes):
        self.codebook = np.asarray(codebook, dtype=float)
        self.sizes = [int(size) for size in sizes]

    def draw(self, count, random):
        return np.column_stack([random.randint(size, size=count) for size in self.sizes])

    def rows(self, factors):
        return np.ravel_multi_index(tuple(factors.T), self.sizes)


def beta_vae_draws(book, count, batch_size, random):
    """Higgins et al. (2016): `count` labels and pairs of rows (count, batch_size)."""
    labels, left, right = [], [], []
    for _ in range(count):
        label = random.randint(len(book.sizes))
        first, second = book.draw(batch_size, random), book.draw(batch_size, random)
        second[:, label] = first[:, label]
        labels.append(label)
        left.append(book.rows(first))
        right.append(book.rows(second))
    return np.array(labels), np.array(left), np.array(right)


def beta_vae_points(codebook, left, right):
    """The mean of |z1 - z2| over the pairs of every batch."""
    points = []
    for rows, others in zip(left, right, strict=True):
        differences = [np.abs(codebook[i] - codebook[j]) for i, j in zip(rows, others, strict=True)]
        points.append(np.mean(differences, axis=0))
    return np.array(points)


def factor_vae_draws(book, count, batch_size, random):
    """Kim and Mnih (2018): labels, and rows that share the value of the labelled factor."""
    labels, batches = [], []
    for _ in range(count):
        label = random.randint(len(book.sizes))
        factors = book.draw(batch_size, random)
        factors[:, label] = factors[0, label]
        labels.append(label)
        batches.append(book.rows(factors))
    return np.array(labels), np.array(batches)


def factor_vae_votes(codebook, labels, batches, variances, n_factors, active):
    """V[k, j]: batches of fixed factor k in which the active latent j varies least."""
    votes = np.zeros((n_factors, codebook.shape[1]), dtype=int)
    for label, rows in zip(labels, batches, strict=True):
        best, lowest = -1, np.inf
        for j in np.flatnonzero(active):
            spread = np.var(codebook[rows, j], ddof=1) / variances[j]
            if spread < lowest:
                best, lowest = j, spread
        votes[label, best] += 1
    return votes


def majority_accuracy(train, votes):
    """Accuracy on `votes` of the classifier that says the majority factor of each train column."""
    right = sum(votes[np.argmax(train[:, j]), j] for j in range(train.shape[1]))
    return right / votes.sum()


def irs(latents, factors, quantile=0.99):
    """Suter et al. (2019): 1 - (mean deviation under a fixed factor) / (largest deviation).

    Returns the score, the matrix (z, f) and the largest deviations (z,), of latents that vary.
    """
    latents = latents[:, latents.var(axis=0) > 0]
    widest = np.abs(latents - latents.mean(axis=0)).max(axis=0)
    matrix = np.zeros((latents.shape[1], factors.shape[1]))
    for j in range(latents.shape[1]):
        for k in range(factors.shape[1]):
            values = np.unique(factors[:, k])
            deviations = []
            for value in values:
                own = latents[factors[:, k] == value, j]
                deviations.append(np.quantile(np.abs(own - own.mean()), quantile))
            matrix[j, k] = 1 - np.mean(deviations) / widest[j]
    return np.average(matrix.max(axis=1), weights=widest), matrix, widest


def gaussian_total_correlation(covariance):
    """KL(N(m, C) || N(m, diag C)) by the general formula for two Gaussians."""
    d = len(covariance)
    product = np.diag(np.diag(covariance))
    trace = np.trace(np.linalg.solve(product, covariance))
    logs = np.linalg.slogdet(product)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * (trace - d + logs)


def wasserstein_correlation(covariance):
    """The squared 2-Wasserstein distance between N(m, C) and N(m, diag C), by matrix roots."""
    from scipy.linalg import sqrtm

    product = np.diag(np.diag(covariance))
    root = sqrtm(product)
    cross = sqrtm(root @ covariance @ root)
    return float(np.trace(covariance + product - 2 * cross).real)


def pair_information(left, right, bins=20):
    """Mutual information in nats of two columns in equal-width bins, cell by cell."""

    def codes(column):
        low, high = column.min(), column.max()
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, bins + 1)
        return [min(int(np.searchsorted(edges, x, side="right")), bins) for x in column]

    left, right = codes(left), codes(right)
    n = len(left)
    joint: dict[tuple[int, int], int] = {}
    for pair in zip(left, right, strict=True):
        joint[pair] = joint.get(pair, 0) + 1
    total = 0.0
    for (a, b), count in joint.items():
        total += count / n * np.log(count * n / (left.count(a) * right.count(b)))
    return total


def mutual_info_score(latents, bins=20):
    """The mean mutual information between two different latents."""
    z = latents.shape[1]
    pairs = [(i, j) for i in range(z) for j in range(z) if i != j]
    return np.mean([pair_information(latents[:, i], latents[:, j], bins) for i, j in pairs])


def udr_pair(similarity, informative_a, informative_b):
    """Duan et al. (2020), equation 3: how well two models' latents match one to one."""
    a_rows, b_rows = np.flatnonzero(informative_a), np.flatnonzero(informative_b)
    matrix = similarity[np.ix_(a_rows, b_rows)]
    if not matrix.size:
        return 0.0
    total = 0.0
    for b in range(matrix.shape[1]):
        total += matrix[:, b].max() ** 2 / matrix[:, b].sum()
    for a in range(matrix.shape[0]):
        total += matrix[a].max() ** 2 / matrix[a].sum()
    return total / (len(a_rows) + len(b_rows))
