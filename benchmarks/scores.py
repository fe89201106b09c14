"""Scores of latents: the library against literal twins, and against the way they were published."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks._measure import measure, write_table
from geodis import scores
from tests.reference import scores as slow

SMALL = (500, 6, 3)  # rows, latents, factors: what twins can do
MIDDLE = (5_000, 10, 5)
LARGE = (100_000, 64, 10)
REPEATS = 3
SIZES = (3, 4, 5, 6, 7, 8, 9, 10, 4, 4)

LIBRARY: dict[str, Callable[..., Any]] = {
    "mutual_information": scores.mutual_information,
    "mig": scores.mig,
    "robust_mig": scores.robust_mig,
    "mig_sup": scores.mig_sup,
    "modularity": scores.modularity,
    "completeness": scores.completeness,
    "sap continuous": partial(scores.sap, continuous=True, random_state=0),
    "sap": partial(scores.sap, random_state=0),
    "informativeness_r2": partial(scores.informativeness_r2, random_state=0),
    "explicitness": partial(scores.explicitness, random_state=0),
    "dci": partial(scores.dci, random_state=0),
    "downstream logistic": partial(scores.downstream, random_state=0),
    "downstream trees": partial(scores.downstream, model="trees", random_state=0),
}
THREADED = ("sap", "explicitness", "dci", "downstream logistic", "downstream trees")


def code(n: int, z: int, f: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors, and latents that mix a few of them each, with noise."""
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(0, size, n) for size in SIZES[:f]])
    weights = rng.standard_normal((f, z)) * (rng.random((f, z)) < 0.2)
    centred = 2 * factors / np.array(SIZES[:f]) - 1
    return np.tanh(centred @ weights) + 0.2 * rng.standard_normal((n, z)), factors


def ours(name: str, case: tuple[int, int, int], n_jobs: int) -> float:
    options = {"n_jobs": n_jobs} if name in THREADED else {}
    return float(LIBRARY[name](*code(*case), **options))


def twin(name: str, case: tuple[int, int, int], n_jobs: int) -> float:
    latents, factors = code(*case)
    if name == "mutual_information":
        return float(slow.information_matrix(latents, factors).max(axis=0).mean())
    if name == "modularity":
        return slow.modularity(slow.information_matrix(latents, factors))
    return {"mig": slow.mig, "mig_sup": slow.mig_sup, "completeness": slow.compactness}[name](
        latents, factors
    )


def published(name: str, case: tuple[int, int, int], n_jobs: int) -> float:
    """The same numbers from scikit-learn, one latent, one factor and one bin edge at a time."""
    latents, factors = code(*case)
    if name == "dci":
        return float(scores.dci(latents, factors, method="exact", random_state=0))
    order = np.random.default_rng(0).permutation(len(latents))
    train, test = np.split(order, [int(np.ceil(0.75 * len(order)))])
    pairs = [(i, j) for i in range(latents.shape[1]) for j in range(factors.shape[1])]
    matrix = np.zeros((latents.shape[1], factors.shape[1]))
    if name == "mutual_information":
        from sklearn.metrics import mutual_info_score

        for i, j in pairs:
            edges = np.histogram(latents[:, i], 20)[1][:-1]
            matrix[i, j] = mutual_info_score(factors[:, j], np.digitize(latents[:, i], edges))
        return float(matrix.max(axis=0).mean())
    if name == "sap":
        from sklearn.svm import LinearSVC

        for i, j in pairs:
            machine = LinearSVC(C=0.01, class_weight="balanced", random_state=0)
            machine.fit(latents[train][:, [i]], factors[train, j])
            matrix[i, j] = machine.score(latents[test][:, [i]], factors[test, j])
        return float(np.diff(np.sort(matrix, axis=0)[-2:], axis=0).mean())
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    mean, deviation = latents[train].mean(axis=0), latents[train].std(axis=0)
    areas = []
    for j in range(factors.shape[1]):
        model = LogisticRegression().fit((latents[train] - mean) / deviation, factors[train, j])
        chances = model.predict_proba((latents[test] - mean) / deviation)
        for c, value in enumerate(model.classes_):
            areas.append((j, roc_auc_score(factors[test, j] == value, chances[:, c])))
    return float(np.mean([np.mean([a for j, a in areas if j == f]) for f in {j for j, _ in areas}]))


def best(
    function: Callable[..., float], name: str, case: tuple[int, int, int], repeats: int, n_jobs: int
) -> dict[str, Any]:
    """Value and seconds of the fastest repeat in one fresh process, and its peak memory."""
    warm_up = partial(ours, name, (200, 4, 2), n_jobs)  # a first call compiles
    run = measure(repeated, function, name, case, repeats, n_jobs, warm_up=warm_up)
    value, seconds, cpu = run.value
    return {"value": value, "seconds": seconds, "CPU seconds": cpu, "MB": run.megabytes}


def repeated(
    function: Callable[..., float], name: str, case: tuple[int, int, int], repeats: int, n_jobs: int
) -> tuple[float, float, float]:
    seconds, cpu = [], []
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        value = function(name, case, n_jobs)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return value, min(seconds), min(cpu)


def compare(
    names: list[str],
    case: tuple[int, int, int],
    other: Callable[..., float] | None,
    repeats: int = REPEATS,
    n_jobs: int = 1,
) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        fastest = best(ours, name, case, repeats, n_jobs)
        row: dict[str, Any] = {"score": name, "n": case[0], "z": case[1], "f": case[2], **fastest}
        if other is not None:
            slower = best(other, name, case, 1 if name == "dci" else repeats, n_jobs)
            row["difference"] = float(abs(slower["value"] - fastest["value"]))
            row["their CPU seconds"] = slower["CPU seconds"]
            row["times ours"] = slower["CPU seconds"] / fastest["CPU seconds"]
        rows.append(row)
        print(row, flush=True)
    return rows


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes to come
    twins = ["mutual_information", "mig", "mig_sup", "modularity", "completeness"]
    print(write_table("scores_twins", "Scores: literal twins", compare(twins, SMALL, twin)))
    peers = ["mutual_information", "sap", "explicitness", "dci"]
    print(write_table("scores_peers", "Scores: as published", compare(peers, MIDDLE, published)))
    title = "Scores: 5,000 rows, 10 latents, 5 factors, one thread"
    print(write_table("scores", title, with_total(compare([*LIBRARY], MIDDLE, None))))
    title = "Scores: 100,000 rows, 64 latents, 10 factors, two threads"
    rows = compare([*LIBRARY], LARGE, None, repeats=1, n_jobs=2)
    print(write_table("scores_large", title, with_total(rows)))


def with_total(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    boosted = {"dci", "downstream trees"}
    plain = [row for row in rows if row["score"] not in boosted]
    return [*rows, total("all but boosted", plain), total("all", rows)]


def total(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    summed = {key: sum(row[key] for row in rows) for key in ("seconds", "CPU seconds")}
    return {"score": name, **summed, "MB": max(row["MB"] for row in rows)}


if __name__ == "__main__":
    main()
