"""A thousand models scored: what it costs beside the scores, and whether kills change the table."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import measure, write_table

MODELS, ROWS, LATENTS, FACTORS = 1000, 2000, 8, 5
SCORES = ("mig", "sap")
ONCE = 200  # calls by which the scores alone are measured
IMAGES = 10_000
FEW = 10  # a run of a tenth of the models tells what starting costs


def make_models(folder: Path, models: int) -> None:
    """Latents that encode the factors more or less, and two files that cannot be scored."""
    random = np.random.default_rng(0)
    factors = random.integers(6, size=(ROWS, FACTORS))
    np.save(folder / "factors.npy", factors)
    (folder / "models").mkdir()
    for i in range(models):
        mixed = np.eye(FACTORS, LATENTS) + random.uniform() * random.standard_normal(
            (FACTORS, LATENTS)
        )
        latents = factors @ mixed + random.uniform(0.1, 2) * random.standard_normal((ROWS, LATENTS))
        np.save(folder / "models" / f"{i:05d}.npy", latents.astype(np.float32))
    (folder / "models" / "bad.npy").write_bytes(b"no array")
    np.save(folder / "models" / "short.npy", np.zeros((10, LATENTS)))


def folder_of_few(folder: Path, models: int) -> str:
    """The first models in a folder of their own: what they cost is what it costs to start."""
    few = folder / "few"
    shutil.rmtree(few, ignore_errors=True)
    few.mkdir()
    for i in range(models):
        (few / f"{i:05d}.npy").symlink_to(folder / "models" / f"{i:05d}.npy")
    for path in folder.glob("few.parquet*"):
        path.unlink()
    return "few"


def command(out: str, *more: str, models: str = "models") -> list[str]:
    words = ["scores-many", models, "--factors", "factors.npy", "--out", out, "--chance", "0"]
    only = [word for name in SCORES for word in ("--only", name)]
    return [sys.executable, "-m", "geodis", *words, *only, "--quiet", *more]


def run(folder: Path, out: str, *more: str, models: str = "models") -> dict[str, float]:
    """Seconds, and those of the processor in the command and all of its workers."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        command(out, *more, models=models), cwd=folder, stdout=subprocess.DEVNULL, env=environment()
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"the command ended with status {status}")
    return {"s": time.perf_counter() - begun, "CPU s": usage.ru_utime + usage.ru_stime}


def environment() -> dict[str, str]:
    root = str(Path(__file__).parents[1])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": root}


def killed(folder: Path, out: str, kills: int, models: int, *more: str) -> list[int]:
    """Kill the command and its workers again and again; models that were finished at each kill."""
    random = np.random.default_rng(1)
    journal = folder / f"{out}.journal"
    finished = []
    for number in range(kills):
        until = (number + random.uniform(0.3, 0.9)) * models / kills
        process = subprocess.Popen(
            command(out, *more),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
        while process.poll() is None and lines(journal) < until:
            time.sleep(0.02)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        finished.append(lines(journal))
    return finished


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") - 1 if path.exists() else 0


def scores_alone(folder: Path) -> float:
    """Processor seconds of the scores of one model, its latents read and called directly."""
    from geodis import scores
    from geodis.base.jobs import one_thread_each

    factors = np.load(folder / "factors.npy")
    paths = sorted((folder / "models").glob("0*.npy"))[:ONCE]
    functions = [getattr(scores, name) for name in SCORES]
    with one_thread_each():
        for function in functions:
            function(np.load(paths[0]), factors)
        begun = time.process_time()
        for path in paths:
            latents = np.load(path)
            for function in functions:
                function(latents, factors)
        return (time.process_time() - begun) / len(paths)


def nearest(path: str, n_workers: int) -> dict[str, Any]:
    """All pairs of the images in a file, without a cluster or with local workers."""
    from geodis.distances import nearest_images

    begun, clock = processor(), time.perf_counter()
    options: dict[str, Any] = {"cluster": "local", "n_workers": n_workers} if n_workers else {}
    found = nearest_images(path, k=10, **options)
    digest = hashlib.sha256(found.index.tobytes() + found.mean.tobytes()).hexdigest()
    return {"CPU s": processor() - begun, "s": time.perf_counter() - clock, "hash": digest[:8]}


def processor() -> float:
    """Processor seconds of this process and of those it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def images() -> None:
    """All pairs of images in blocks: the same on any number of workers, in little memory."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        path = str(Path(name) / "images.npy")
        shape = (IMAGES, 64, 64)
        np.save(path, np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8))
        for n_workers in (0, 1, 2):
            done = measure(nearest, path, n_workers, warm_up=partial(warm, name))
            row = {"images": IMAGES, "local workers": n_workers, **done.value}
            rows.append({**row, "MB of this process": done.megabytes})
            print(rows[-1], flush=True)
    write_table("many_images", f"All pairs of {IMAGES:,} images of 64 x 64", rows)


def warm(folder: str) -> None:
    path = str(Path(folder) / "few.npy")
    np.save(path, np.zeros((20, 64, 64), np.uint8))
    nearest(path, 0)


def main(arguments: Sequence[str] = ()) -> None:
    models = int(arguments[0]) if arguments else MODELS
    rows: list[dict[str, Any]] = []
    hashes = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_models(folder, models)
        before = scores_alone(folder)
        runs: list[tuple[str, tuple[str, ...]]] = [
            ("serial", ()),
            ("one worker", ("--cluster", "local", "--workers", "1")),
            ("two workers", ("--cluster", "local", "--workers", "2")),
        ]
        for title, more in runs:
            few = run(folder, "few.parquet", *more, models=folder_of_few(folder, models // FEW))
            cost = run(folder, f"{title}.parquet", *more)
            hashes.add(digest(folder / f"{title}.parquet"))
            rows.append(
                {"run": title, "models": models, **cost, "CPU s of the first": few["CPU s"]}
            )
            print(rows[-1], flush=True)
        for title, more in (runs[0], runs[2]):
            out = f"killed {title}.parquet"
            finished = killed(folder, out, 3, models, *more)
            cost = run(folder, out, *more)
            hashes.add(digest(folder / out))
            at = ", ".join(map(str, finished))
            rows.append({"run": f"{title}, killed at {at} models, then", "models": models, **cost})
            print(rows[-1], flush=True)
        cost = run(folder, "serial.parquet")
        rows.append({"run": "all finished before", "models": models, **cost})
        alone = (before + scores_alone(folder)) / 2
    for row in rows[:3]:
        row["scores alone, ms a model"] = 1e3 * alone
        row["beside them, ms a model"] = 1e3 * (row["CPU s"] / models - alone)
        row["of that without start, ms"] = (
            1e3 * (row["CPU s"] - row["CPU s of the first"]) / (models - models // FEW)
            - 1e3 * alone
        )
    rows.append({"run": f"different tables: {len(hashes)}"})
    print(*rows, sep="\n")
    write_table("many_models", f"{models:,} models, {' and '.join(SCORES)} of each", rows)
    images()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main(sys.argv[1:])
