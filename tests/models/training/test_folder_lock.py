"""The lock of a folder: run at a time, and nothing left to clear after a kill."""

import errno
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest
import torch

from geodis.base import write as folder_lock
from geodis.base.check import InputError
from geodis.base.write import LOCK, FolderLock
from geodis.models import VAE, train

HOLD = """
import sys, time
from geodis.base.write import FolderLock
with FolderLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder until it is told to go, or killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_a_second_trainer_is_refused_and_told_who_is_at_work(holder, tmp_path):
    message = f"run at a time; got a second one while process {holder.pid} on "
    with pytest.raises(InputError, match=message):
        train(VAE((4,), 2), torch.rand(8, 4), 1, checkpoint=tmp_path, verbose=0)
    holder.communicate("")
    assert not (tmp_path / LOCK).exists()
    assert train(VAE((4,), 2), torch.rand(8, 4), 1, checkpoint=tmp_path, verbose=0).steps == 1
    assert not (tmp_path / LOCK).exists()


def test_the_lock_of_a_killed_process_is_open(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert json.loads((tmp_path / LOCK).read_text())["process"] == holder.pid
    with FolderLock(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()
    assert not (tmp_path / LOCK).exists()


def test_threads_are_told_apart_too(tmp_path):
    refused = []

    def try_it():
        try:
            with FolderLock(tmp_path):
                pass
        except InputError:
            refused.append(1)

    with FolderLock(tmp_path):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    assert refused


def test_a_lock_that_says_nonsense_is_still_a_lock(tmp_path):
    (tmp_path / LOCK).write_text("{")
    with FolderLock(tmp_path):
        (tmp_path / LOCK).write_text("[3]")
        with pytest.raises(InputError, match="while another process is at work"):
            FolderLock(tmp_path).__enter__()


def _count_in(folder, turns):
    """Add one to a file again and again, reading and writing it apart, each time under the lock."""
    done = 0
    while done < turns:
        try:
            with FolderLock(folder):
                file = folder / "count"
                file.write_text(str(int(file.read_text()) + 1))
                done += 1
        except InputError:
            continue


def test_two_processes_never_hold_it_at_once(tmp_path):
    (tmp_path / "count").write_text("0")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_count_in, args=(tmp_path, 200)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (tmp_path / "count").read_text() == "400"


def test_a_file_system_without_locks_is_warned_of(tmp_path, monkeypatch):
    def no_locks(handle):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(folder_lock, "lock_file", no_locks)
    with pytest.warns(UserWarning, match="cannot be locked .* no other run"), FolderLock(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with (
        pytest.raises(InputError, match="must be a folder to write to; got Permission denied"),
        FolderLock(tmp_path),
    ):
        pass
