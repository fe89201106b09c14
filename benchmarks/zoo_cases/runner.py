"""Worker processes that fit cases; one that takes too long is stopped and replaced."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from benchmarks.zoo_cases.judge import Answer

ZOO = "benchmarks.zoo_cases.case"  # the module whose `all_cases` has the cases
LIMIT = 120.0  # processor seconds for one case
WAIT = 10 * LIMIT  # seconds on a machine that is shared
START = 600.0  # seconds for a worker to import, compile and fit once
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def serve(pipe: Connection, collection: str) -> None:
    """Fit the cases whose names come in; the first fit of all compiles."""
    from benchmarks.zoo_cases.case import Case
    from benchmarks.zoo_cases.clouds import product
    from benchmarks.zoo_cases.judge import answer_of

    cases = {case.name: case for case in import_module(collection).all_cases()}
    answer_of(Case("", lambda seed: product("S^2 x S^1 x S^1", 400, seed), ()), 0)
    pipe.send("ready")
    with suppress(EOFError, BrokenPipeError):  # the parent is gone
        while True:
            name, seed = pipe.recv()
            limit_cpu(LIMIT)
            try:
                answer = answer_of(cases[name], seed)
            except Exception as error:
                answer = Answer(crash=f"{type(error).__name__}: {error}")
            pipe.send(answer)


def limit_cpu(seconds: float) -> None:
    """Let this process have so many processor seconds more before it is ended."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


@dataclass
class Worker:
    """A process, its pipe, the case that it fits now, and until when it may."""

    process: SpawnProcess
    pipe: Connection
    name: str | None = None
    until: float = 0.0

    @classmethod
    def started(cls, collection: str = ZOO) -> Worker:
        """A new process, which compiles first."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, collection), daemon=True)
        process.start()
        there.close()
        return cls(process, here, until=time.monotonic() + START)

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def answers(
    names: list[str], seed: int, jobs: int, collection: str = ZOO
) -> Iterator[tuple[str, Answer]]:
    """Fit cases of a module in `jobs` processes of one thread each; answers as they come."""
    os.environ.update(dict.fromkeys(THREADS, "1"))  # inherited by the workers
    left = list(reversed(names))
    workers = [Worker.started(collection) for _ in range(min(jobs, len(left)))]
    try:
        while workers:
            soonest = min(worker.until for worker in workers)
            ready = wait([w.pipe for w in workers], max(soonest - time.monotonic(), 0.0))
            for worker in list(workers):
                answer = received(worker, worker.pipe in ready)
                if answer is None:
                    continue
                if isinstance(answer, Answer) and worker.name is not None:
                    yield worker.name, answer
                workers.remove(worker)
                if not left:
                    worker.stop()
                    continue
                if not worker.process.is_alive():
                    workers.append(Worker.started(collection))
                    continue
                worker.name, worker.until = left.pop(), time.monotonic() + WAIT
                worker.pipe.send((worker.name, seed))
                workers.append(worker)
    finally:
        for worker in workers:
            worker.stop()


def received(worker: Worker, ready: bool) -> Answer | str | None:
    """What a worker sent, a crash where it died or took too long, None where it goes on."""
    try:
        if ready:
            return worker.pipe.recv()
        if time.monotonic() < worker.until:
            return None
        problem = f"stopped after {WAIT:.0f} s"
    except EOFError:
        worker.process.join()
        code = worker.process.exitcode
        problem = f"died with exit code {code}"
        if code == -signal.SIGXCPU:
            problem = f"stopped after {LIMIT:.0f} processor s"
    worker.stop()
    if worker.name is None:
        raise RuntimeError(f"A worker {problem} before its first case.")
    return Answer(crash=problem)
