"""Points larger than memory: an atlas beside the fit, and parts that are killed, resumed, shared.

``python -m benchmarks.scale [--preset quick|full] [--folder PATH]``. Full takes 10 million rows of
20 columns, some 5 GB of disk and three minutes of one processor. Every run of parts is a process of
its own: its processor seconds and those of its workers are counted by the system, and the most
memory of any of them is read while it runs. Seconds on the clock feel what else the machine does;
the load is told.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import geodis as gd
from benchmarks._measure import most_memory, write_table

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"rows": 1_000_000, "sample": 20_000, "part": 100_000, "fitted": [10_000]},
    "full": {"rows": 10_000_000, "sample": 100_000, "part": 250_000, "fitted": [10_000, 100_000]},
}
KILLED = {"rows": 1_000_000, "sample": 20_000, "part": 100_000}
NOISE, CHECKED, NEW = 0.02, 2000, 200_000
SPEC, COLUMNS = "S^2 x S^2", 20
# How often the memory of processes is looked at.
LOOK = 0.2


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=PRESETS, default="quick")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=["atlas", "parts", "killed"])
    told = parser.parse_args(arguments)
    chosen = PRESETS[told.preset]
    if told.only in (None, "atlas"):
        rows = [one for n in chosen["fitted"] for noise in (0.0, NOISE) for one in atlas(n, noise)]
        write_table("scale_atlas", f"New points by an atlas: {SPEC} in {COLUMNS} columns", rows)
    with tempfile.TemporaryDirectory(dir=told.folder) as folder:
        if told.only in (None, "parts"):
            rows = parts(Path(folder), chosen)
            title = f"{chosen['rows']:,} rows of {COLUMNS} columns mapped in parts"
            write_table("scale_parts", title, rows)
        if told.only in (None, "killed"):
            write_table("scale_killed", "Killed and begun again", killed(Path(folder)))


def atlas(n: int, noise: float) -> list[dict[str, Any]]:
    """Processor seconds a million new points, and errors, of `at` and of an atlas."""
    sample = gd.product_manifold(
        SPEC, n + NEW, random_state=0, rotate=True, pad=COLUMNS - 6, noise=noise
    )
    points = sample.points.astype(np.float32)
    true = [own[n : n + CHECKED] for own in sample.tangents]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = gd.GeoManCER(verbose=0, n_jobs=1).fit(points[:n])
        est.maps_  # noqa: B018, made once
        start = time.process_time()
        made = est.atlas()
        once = time.process_time() - start
        new = points[n:]
        made.at(new[:100_000], reduced=True, dtype=np.float32)  # trees are built
        rows = []
        ways: list[tuple[str, Callable[[np.ndarray], Any], int]] = [
            ("at", est.at, CHECKED),
            ("transform", est.transform, CHECKED),
            ("atlas", lambda X: made.at(X, reduced=True, dtype=np.float32), NEW),
        ]
        for name, tell, count in ways:
            start = time.process_time()
            tell(new[:count])
            seconds = (time.process_time() - start) / count * 1e6
            axes: Any = {"at": est.at, "atlas": made.axes}.get(name)
            error = None
            if axes is not None:
                found = axes(new[:CHECKED])
                error = gd.subspace_angles([found[:, :2], found[:, 2:]], true)
            rows.append(
                {
                    "fitted": n,
                    "noise": noise,
                    "by": name,
                    "s a million": seconds,
                    "mean error": None if error is None else float(error.mean()),
                    "largest": None if error is None else float(error.max()),
                    "s to make": once if name == "atlas" else None,
                }
            )
            print(rows[-1], flush=True)
    return rows


def write_points(path: Path, rows: int) -> None:
    """Write points to a file, a block at a time."""
    table = np.lib.format.open_memmap(path, "w+", np.float32, (rows, COLUMNS))
    generator = np.random.default_rng(0)
    turn = np.linalg.qr(generator.standard_normal((COLUMNS, COLUMNS)))[0][:6].astype(np.float32)
    for start in range(0, rows, 250_000):
        stop = min(start + 250_000, rows)
        pair = generator.standard_normal((stop - start, 2, 3)).astype(np.float32)
        pair /= np.linalg.norm(pair, axis=2, keepdims=True)
        table[start:stop] = pair.reshape(-1, 6) @ turn
    table.flush()


def parts(folder: Path, chosen: dict[str, Any]) -> list[dict[str, Any]]:
    """The same rows one part after the other, on one worker and on two."""
    file = folder / "big.npy"
    write_points(file, chosen["rows"])
    fitted = folder / "fitted"
    rows = [Run(file, fitted, chosen, "serial").until_parts(1).row("fit, sample and atlas")]
    for path in fitted.glob("part-*"):
        path.unlink()
    wanted = ""
    for name, where in (("serial", "serial"), ("one worker", "1"), ("two workers", "2")):
        out = folder / "out"
        shutil.copytree(fitted, out)
        rows.append(Run(file, out, chosen, where).to_the_end().row(f"map, {name}"))
        left = hashed(out)
        wanted = wanted or left
        rows[-1]["same bytes"] = left == wanted
        print(rows[-1], flush=True)
        shutil.rmtree(out)
    return rows


def killed(folder: Path) -> list[dict[str, Any]]:
    """Runs that were killed, and gone on with: what they leave beside what others leave."""
    file = folder / "some.npy"
    write_points(file, KILLED["rows"])
    rows = []
    whole = Run(file, folder / "whole", KILLED, "serial").to_the_end()
    rows.append(whole.row("whole"))
    wanted = hashed(folder / "whole")
    for name, where, begun in (
        ("a worker", "2", lambda run: run.kill_a_worker()),
        ("the command, serial", "serial", lambda run: run.kill_command()),
        ("the command, two workers", "2", lambda run: run.kill_command()),
    ):
        out = folder / name.replace(" ", "_").replace(",", "")
        run = Run(file, out, KILLED, where).until_parts(4, kill=False)
        begun(run)
        if "command" in name:
            run = Run(file, out, KILLED, where)
        rows.append(run.to_the_end().row(f"killed: {name}"))
        rows[-1]["same bytes"] = hashed(out) == wanted
        print(rows[-1], flush=True)
    return rows


def hashed(folder: Path) -> str:
    """One hash of all files of a run."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("[!.]*")):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    return digest.hexdigest()


class Run:
    """A command that maps parts, in a process of its own."""

    def __init__(self, file: Path, out: Path, chosen: dict[str, Any], where: str) -> None:
        self.out, self.part = out, chosen["part"]
        self.load = os.getloadavg()[0]
        self.start = time.perf_counter()
        self.before = resource.getrusage(resource.RUSAGE_CHILDREN)
        options = ["--sample", chosen["sample"], "--part-rows", chosen["part"], "--out", out]
        if where != "serial":
            options += ["--cluster", "local", "--workers", where]
        command = [sys.executable, "-m", "geodis", "factorise", str(file), *map(str, options)]
        command += ["--dim", "4", "--quiet"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.megabytes = 0.0
        self.watched = threading.Thread(target=self._look_at_memory, daemon=True)
        self.watched.start()

    def until_parts(self, count: int, *, kill: bool = True) -> Run:
        """Wait for the first parts; the command then ends, or goes on."""
        while self.process.poll() is None and len([*self.out.glob("part-*")]) < count:
            time.sleep(0.02)
        if kill:
            self.kill_command()
        return self

    def kill_command(self) -> None:
        """End it without a word."""
        self.process.send_signal(signal.SIGKILL)
        self._is_over()

    def kill_a_worker(self) -> None:
        """End one of its workers without a word."""
        workers = [pid for pid in descendants(self.process.pid) if is_worker(pid)]
        os.kill(workers[0], signal.SIGKILL)

    def to_the_end(self) -> Run:
        """Wait until it is done."""
        if self.process.wait():
            raise RuntimeError(f"the command ended with {self.process.returncode}")
        self._is_over()
        return self

    def row(self, name: str) -> dict[str, Any]:
        """What it took."""
        return {
            "run": name,
            "processor s": self.cpu,
            "s": self.seconds,
            "rows/s once begun": self.pace,
            "most MB of a process": self.megabytes,
            "load before": self.load,
        }

    def _is_over(self) -> None:
        self.process.wait()
        self.seconds = time.perf_counter() - self.start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - self.before.ru_utime - self.before.ru_stime
        self.watched.join()
        times = sorted(path.stat().st_mtime for path in self.out.glob("part-*"))
        rows = (len(times) - 1) * self.part
        self.pace = rows / (times[-1] - times[0]) if len(times) > 2 else None

    def _look_at_memory(self) -> None:
        while self.process.poll() is None:
            for pid in (self.process.pid, *descendants(self.process.pid)):
                self.megabytes = max(self.megabytes, most_memory(pid))
            time.sleep(LOOK)


def descendants(pid: int) -> list[int]:
    """Processes that a process started, and those started."""
    found = []
    for path in Path("/proc").glob(f"{pid}/task/*/children"):
        try:
            own = [int(child) for child in path.read_text().split()]
        except OSError:
            continue
        for child in own:
            found += [child, *descendants(child)]
    return found


def is_worker(pid: int) -> bool:
    """Whether a process is a worker of the cluster, not a helper of the processes."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


if __name__ == "__main__":
    main()
    print(json.dumps({"load": os.getloadavg()}))
