"""Neighbour search: what "auto" takes against every other method, time and recall."""

from __future__ import annotations

import numpy as np

from benchmarks._measure import measure, write_table
from geodis import nearest_neighbors, product_manifold
from geodis.manifold.local.neighbors import SearchMethod

CASES = [  # spec, n, neighbours: small and large, on both sides of the k-d tree's limit
    ("S^2 x S^2", 20_000, 40),
    ("S^2 x S^2 x S^2", 20_000, 80),
    ("S^2 x S^4 x SO(3)", 20_000, 110),
]
CHECKED = 500
METHODS: tuple[SearchMethod, ...] = ("kdtree", "brute", "pynndescent")


def search(spec: str, n: int, n_neighbors: int, method: SearchMethod) -> tuple[str, np.ndarray]:
    points = product_manifold(spec, n, random_state=0).points
    neighbors = nearest_neighbors(points, n_neighbors, method=method, random_state=0)
    return neighbors.method, neighbors.indices[:CHECKED]


def main() -> None:
    rows = []
    for spec, n, n_neighbors in CASES:
        done = {
            method: measure(search, spec, n, n_neighbors, method) for method in ("auto", *METHODS)
        }
        exact = done["brute"].value[1]
        for method in METHODS:
            indices = done[method].value[1]
            recall = np.mean([np.isin(a, b).mean() for a, b in zip(indices, exact, strict=True)])
            rows.append(
                {
                    "manifold": spec,
                    "n": n,
                    "neighbours": n_neighbors,
                    "method": method,
                    "auto takes it": "yes" if done["auto"].value[0] == method else "",
                    "seconds, first call": done[method].seconds,
                    "times auto": done[method].seconds / done["auto"].seconds,
                    "MB": done[method].megabytes,
                    "recall": float(recall),
                }
            )
    print(write_table("neighbors", "Neighbour search", rows))


if __name__ == "__main__":
    main()
