"""Clients of Dask clusters: of processes on this machine, of an address, of a user's own."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from geodis.base.engines.dask_engine import require_distributed
from geodis.base.engines.engine import EngineError, innermost

# How long a scheduler may take to answer, and to name its first worker.
PATIENCE = 10
# How long workers may take to end when nothing is under way.
GOODBYE = 2

# A worker on this machine needs no statistical profile of its tasks (a sample every ten
# milliseconds), no balance of memory, nothing on a page. A compiled kernel may keep the
# interpreter for minutes: it is not dead. Looking at itself fifty times a second costs a process a
# hundredth of a core and more. Memory given back to the system at every chance, as
# Dask's variables for the allocator ask, costs more time than small tasks take themselves.
LOCAL_SETTINGS: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.allowed-failures": 1,
    "distributed.nanny.pre-spawn-environ": {},
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
}


@contextmanager
def local_client(n_workers: int) -> Iterator[Any]:
    """Start processes of one thread each, and end them whatever they do.

    Parameters
    ----------
    n_workers : int

    Yields
    ------
    distributed.Client
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        sys.exit(1)  # a worker that imports the script; the process that started it says why
    distributed = require_distributed()
    import dask

    variables = dict(os.environ)
    cluster = client = None
    finished = False
    with dask.config.set(LOCAL_SETTINGS), _quiet():
        try:
            try:
                with _interrupts_later():
                    cluster = distributed.LocalCluster(
                        n_workers=n_workers,
                        threads_per_worker=1,
                        processes=True,
                        silence_logs=logging.CRITICAL,
                        # No page, and any port that is free.
                        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                    )
                client = distributed.Client(cluster, set_as_default=False)
            except (OSError, RuntimeError, asyncio.TimeoutError) as error:
                raise EngineError(
                    "Worker processes could not be started; a script that asks for them must do "
                    f"so under `if __name__ == '__main__':` ({innermost(error)})."
                ) from error
            yield client
            finished = True
        finally:
            if cluster is not None:
                _end(cluster, client, at_once=not finished)
            _restore(variables)


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave it to outcomes and errors to say what happened; Dask logs the same as tracebacks.

    After an error it stays like that: Dask goes on telling of it from threads of its own.
    """
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    yield
    log.setLevel(level)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Keep Ctrl-C waiting, and from threads and processes that start meanwhile for good.

    A cluster that is half made cannot be closed, and workers would print where they were.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which lets signals through where it is first called
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(cluster: Any, client: Any, at_once: bool) -> None:
    """Close a local cluster; at once means in the middle of a task."""
    nannies = list(cluster.workers.values())
    pids = [nanny.pid for nanny in nannies]
    if at_once:
        for nanny, pid in zip(nannies, pids, strict=True):
            nanny.auto_restart = False
            nanny.close_gracefully()
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    with suppress(Exception):
        if client is not None:
            client.close(timeout=GOODBYE)
    with suppress(Exception):
        cluster.close(timeout=GOODBYE)


def _restore(variables: dict[str, str]) -> None:
    """Take back what Dask sets in the environment of this process for its workers."""
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    os.environ.update(variables)


@contextmanager
def connected(cluster: Any) -> Iterator[Any]:
    """Connect to a cluster by its address, or take a client, and see that its workers can help.

    Parameters
    ----------
    cluster : str or distributed.Client

    Yields
    ------
    distributed.Client
    """
    distributed = require_distributed()
    if not isinstance(cluster, str):
        check_workers(cluster, "the client's cluster")
        yield cluster
        return
    with _quiet(), _client_at(distributed, cluster) as client:
        check_workers(client, cluster)
        yield client


@contextmanager
def _client_at(distributed: Any, cluster: str) -> Iterator[Any]:
    # In two steps, to have what failed in hand: left to the garbage collector, Dask's client closes
    # itself in the midst of whatever runs then, and can wait for a lock that its own thread holds.
    client = distributed.Client.__new__(distributed.Client)
    try:
        try:
            client.__init__(cluster, timeout=PATIENCE, set_as_default=False)
        except (OSError, asyncio.TimeoutError, ValueError) as error:
            raise EngineError(
                f"cluster must be the address of a running Dask scheduler, or 'local'; got "
                f"{cluster!r}, where none answered."
            ) from error
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=GOODBYE)


def check_workers(client: Any, where: str) -> None:
    """Require workers that have geodis of the version here."""
    from geodis import __version__

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except (TimeoutError, asyncio.TimeoutError) as error:
        raise EngineError(f"A cluster needs a worker; got none at {where}.") from error

    def version() -> str:  # a function in a function is sent by value: geodis is not asked for
        try:
            from geodis import __version__
        except ImportError:
            return ""
        return __version__

    for worker, found in client.run(version).items():
        if found != __version__:
            got = f"geodis {found}" if found else "none"
            raise EngineError(
                f"Every worker needs geodis {__version__}; got {got} on {worker} of {where}."
            )
