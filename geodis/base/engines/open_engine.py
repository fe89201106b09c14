"""From what a user says of a cluster to an engine, closed again whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from geodis.base.check import InputError
from geodis.base.engines.engine import Engine
from geodis.base.engines.serial_engine import SerialEngine
from geodis.base.jobs import check_jobs

LOCAL = "local"


@contextmanager
def open_engine(cluster: Any = None, *, n_workers: int | None = None) -> Iterator[Engine]:
    """Open what runs tasks, and close what was opened at the end.

    Parameters
    ----------
    cluster : None, str or distributed.Client
        None for one task after the other in this process, "local" for processes on this machine,
        the address of the scheduler of a Dask cluster, as tcp://10.0.0.1:8786, or a client.
    n_workers : int, optional
        Of "local" alone: processes of one thread each; by default, and for -1, one a core.

    Yields
    ------
    Engine

    Raises
    ------
    EngineError
        If the cluster cannot be reached, or has no geodis or another version of it.
    MissingExtraError
        If a cluster is asked for and distributed is not installed.

    Examples
    --------
    >>> with open_engine() as engine:
    ...     print([outcome.value for _, outcome in engine.run(abs, [-1, 2])])
    [1, 2]
    """
    check_jobs(n_workers, default=-1)
    address = isinstance(cluster, str)
    if not (cluster is None or address or hasattr(cluster, "scheduler_info")):
        raise InputError(
            "cluster must be None, 'local', the address of a Dask scheduler or a "
            f"distributed.Client; got {cluster!r}."
        )
    if n_workers is not None and cluster != LOCAL:
        raise InputError(
            f"n_workers must be left out unless cluster is 'local'; got {n_workers} with "
            f"cluster={cluster!r}."
        )
    if cluster is None:
        yield SerialEngine()
        return
    from geodis.base.engines.dask_clients import connected, local_client
    from geodis.base.engines.dask_engine import DaskEngine

    if cluster == LOCAL:
        opened = local_client(check_jobs(n_workers, default=-1))
    else:
        opened = connected(cluster)
    with opened as client:
        yield DaskEngine(client)
