"""A script for a Python in which dadapy is installed: files of tables in, estimates out.

Reads names of npz files from its input, a line each, and writes a line of JSON for each.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

MOST_NEIGHBORS, FEWEST_NEIGHBORS, PART = 256, 8, 8
OF = " | "
# Of all columns the others were never right where they were not on the kept directions too.
ALL, ON_ALL = "all columns", "gride"


def two_neighbors(data: Any, _: int) -> dict[str, float]:
    """The two nearest neighbours, of all rows and of random parts of them (the lowest)."""
    few = max(20, len(data.X) // 64)
    scales = data.return_id_scaling_2NN(n_min=few)[0]
    return {"all rows": float(scales[0]), "lowest over parts of the rows": float(np.min(scales))}


def gride(data: Any, most: int) -> dict[str, float]:
    """Over scales: the lowest, where it changes least from one to the next, and two fixed ones."""
    scales = np.asarray(data.return_id_scaling_gride(range_max=most)[0])  # ranks 2, 4, 8, ...
    found = {"lowest": float(scales.min())}
    if len(scales) > 1:
        steps = np.abs(np.diff(np.log(scales)))
        at = int(np.argmin(steps))
        found["plateau"] = float(scales[at : at + 2].mean())
    for rank in (32, 64):
        place = min(int(np.log2(rank)), len(scales)) - 1
        found[f"rank {rank}"] = float(scales[place])
    return found


def adaptive(data: Any, _: int) -> dict[str, float]:
    """Neighbourhoods as large as the density stays even, and the dimension again (ABIDE)."""
    return {"": float(data.return_ids_kstar_binomial()[0][-1])}


def binomial(data: Any, most: int) -> dict[str, float]:
    """Counts within two radii, of which the larger reaches so many neighbours."""
    found = {}
    for count in (50, 100, 200):
        value = data.compute_id_binomial_k(min(count, most - 1), 0.7)
        found[f"{count} neighbours"] = float(value[0]) if np.ndim(value) else float("nan")
    return found


METHODS: dict[str, Callable[[Any, int], dict[str, float]]] = {
    "2NN": two_neighbors,
    "gride": gride,
    "ABIDE": adaptive,
    "binomial": binomial,
}


def answer(path: str) -> dict[str, dict[str, float]]:
    """Every estimate of every table of a file, and CPU seconds of a table with one setting."""
    from dadapy import Data

    found: dict[str, float] = {}
    used: dict[str, list[float]] = {name: [] for name in METHODS}
    with np.load(path) as stored:
        for table in stored.files:
            points = stored[table]
            most = max(FEWEST_NEIGHBORS, min(len(points) // PART, MOST_NEIGHBORS))
            data = Data(points, maxk=most, verbose=False)
            for name, method in METHODS.items():
                if table == ALL and name != ON_ALL:
                    continue
                np.random.seed(0)
                begun = time.process_time()
                try:
                    own = method(data, most)
                except Exception as error:  # a rival's failure is a result
                    print(f"dadapy {name}, {table}: {error}", file=sys.stderr)
                    own = {"failed": float("nan")}
                used[name] += [(time.process_time() - begun) / len(own)]
                for setting, value in own.items():
                    label = ", ".join(filter(None, (setting, table)))
                    found[f"{name}{OF}{label}"] = value
    cpu = {name: round(float(np.mean(values)), 3) for name, values in used.items()}
    return {"found": found, "cpu": cpu}


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        with contextlib.redirect_stdout(sys.stderr):  # it tells of its steps
            told = answer(line.strip())
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
