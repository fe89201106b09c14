"""Tasks come back once each, with their values or exceptions, whatever runs them."""

import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from geodis.base import dask_engine
from geodis.base import dask_engine as dask_clients
from geodis.base import engine as task_progress
from geodis.base.check import InputError, MissingExtraError
from geodis.base.dask_engine import DaskEngine
from geodis.base.engine import EngineError, SerialEngine, TaskOutcome, open_engine, tell_progress
from tests import ROOT
from tests.base import tasks_of_tests as tasks


def shown(outcomes):
    """What a test compares: exceptions by their texts."""
    return {
        i: outcome.value if outcome.error is None else str(outcome.error) for i, outcome in outcomes
    }


def test_engines_agree(client):
    with open_engine(client) as engine:
        assert isinstance(engine, DaskEngine) and engine.n_workers == 2
        got = shown(engine.run(tasks.doubled, range(20), shared=(1, 10)))
    wanted = shown(SerialEngine().run(tasks.doubled, range(20), shared=(1, 10)))
    assert got == wanted
    assert wanted[7] == "seven" and wanted[8] == 27 and len(wanted) == 20


def test_no_tasks_no_outcomes(client):
    assert not list(DaskEngine(client).run(abs, []))
    assert not list(SerialEngine().run(abs, []))


def test_functions_of_a_notebook_run_too(client):
    # Of no module that a worker could import.
    assert shown(DaskEngine(client).run(lambda x: x + 1, [1, 2])) == {0: 2, 1: 3}


def test_a_killed_worker_costs_no_outcome(client, tmp_path):
    got = shown(DaskEngine(client).run(tasks.dies_once, range(10), shared=(str(tmp_path),)))
    assert (tmp_path / "3").exists() and got == {i: i for i in range(10)}


def test_a_task_that_always_kills_is_given_up_and_no_other(client):
    got = shown(DaskEngine(client).run(tasks.always_dies, range(6)))
    assert got.pop(1).startswith("Every worker that ran this task died")
    assert got == {i: i for i in (0, 2, 3, 4, 5)}


@pytest.mark.parametrize("on_cluster", [False, True])
def test_few_tasks_are_taken_at_a_time(client, on_cluster):
    taken = []

    def counted(number):
        taken.append(number)
        return number

    engine = DaskEngine(client) if on_cluster else SerialEngine()
    outcomes = engine.run(abs, map(counted, range(1000)))
    for _ in range(10):
        next(outcomes)
    assert len(taken) <= 10 + dask_engine.A_THREAD * 2
    outcomes.close()


@pytest.mark.parametrize("on_cluster", [False, True])
def test_long_tasks_tell_how_far_they_are(client, on_cluster):
    engine = DaskEngine(client) if on_cluster else SerialEngine()
    heard: list[tuple[int, float]] = []
    outcomes = shown(
        engine.run(tasks.tells, range(2), told=lambda index, share: heard.append((index, share)))
    )
    assert outcomes == {0: 0, 1: 1}
    for index in range(2):
        shares = [share for i, share in heard if i == index]
        assert shares == sorted(shares) and shares[0] == 0
    before = len(heard)
    tell_progress(0.5)  # outside of a task nobody hears it
    assert len(heard) == before


def test_a_task_is_heard_now_and_then(monkeypatch):
    clock = iter([0.0, 0.1, 0.4, 0.6, 0.7, 1.2])
    # Of that module alone: Dask's loop, in a thread of this process, has the clock of all.
    monkeypatch.setattr(task_progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    heard: list[float] = []
    with task_progress.heard_by(heard.append):
        for share in range(6):
            tell_progress(share)
    assert heard == [0, 3, 5]


def test_a_listener_that_fails_ends_the_run(client):
    def told(index, share):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(DaskEngine(client).run(tasks.tells, [1], told=told))


def test_exceptions_that_cannot_travel_say_what_they_said(client):
    assert shown(DaskEngine(client).run(tasks.awkward, [0])) == {0: "AwkwardError: this and that"}


def test_what_cannot_be_sent_is_one_sentence(client):
    with pytest.raises(EngineError, match=r"Tasks of a cluster must be picklable; got .*lock"):
        list(DaskEngine(client).run(abs, [threading.Lock()]))
    with pytest.raises(EngineError, match=r"Tasks of a cluster must be picklable; got .*lock"):
        list(DaskEngine(client).run(abs, [1], shared=(threading.Lock(),)))
    [outcome] = shown(DaskEngine(client).run(lambda _: threading.Lock(), [1])).values()
    assert "pickle" in outcome


def test_an_outcome_gives_its_value_or_raises():
    assert TaskOutcome(2).result() == 2
    with pytest.raises(ZeroDivisionError):
        TaskOutcome(error=ZeroDivisionError()).result()


def test_wrong_clusters_are_refused(monkeypatch):
    monkeypatch.setattr(dask_clients, "PATIENCE", 0.3)
    for cluster in ("tcp://127.0.0.1:1", "nowhere"):
        with pytest.raises(EngineError, match=f"running Dask scheduler.* got '{cluster}'"):
            open_engine(cluster).__enter__()
    with pytest.raises(InputError, match="cluster must be None, 'local'"):
        open_engine(3).__enter__()
    with pytest.raises(InputError, match="n_workers must be left out unless"):
        open_engine(n_workers=2).__enter__()
    with pytest.raises(InputError, match="n_jobs"):
        open_engine("local", n_workers=0).__enter__()


@pytest.mark.parametrize(
    ("version", "got"), [("", "none"), ("0.0.9", "geodis 0.0.9")], ids=["missing", "another"]
)
def test_workers_need_this_geodis(version, got):
    there = SimpleNamespace(
        wait_for_workers=lambda *a, **k: None, run=lambda function: {"tcp://a": version}
    )
    with pytest.raises(EngineError, match=f"got {got} on tcp://a of here"):
        dask_clients.check_workers(there, "here")


def test_a_cluster_without_workers_is_refused():
    def wait(n, timeout):
        raise TimeoutError

    with pytest.raises(EngineError, match=r"A cluster needs a worker; got none at here\."):
        dask_clients.check_workers(SimpleNamespace(wait_for_workers=wait), "here")


def test_without_distributed_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="pip install distributed"):
        open_engine("tcp://127.0.0.1:1").__enter__()


SCRIPT = """
from geodis.base.engine import open_engine
from tests.base.tasks_of_tests import slow

def run():
    with open_engine("local", n_workers=1) as engine:
        print("begun", flush=True)
        list(engine.run(slow, [1, 2]))

"""


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_an_interrupt_ends_running_tasks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "if __name__ == '__main__':\n    run()")
    process = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)  # the task takes a minute
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_a_script_without_its_guard_is_told(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "run()")
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "must be started under `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]
