"""Checkpoints: the state that comes back, and one sentence about altered ones."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from geodis.base.check import InputError
from geodis.base.safetensors_files import read_tensors
from geodis.models import VAE, FactorVAE, TrainOptions, train
from geodis.models.training.checkpoints import write_state


def run(folder, steps, model=None):
    model = VAE((4,), 2) if model is None else model
    x = torch.rand(20, 4, generator=torch.Generator().manual_seed(0))
    return train(model, x, steps, batch_size=4, checkpoint=folder, verbose=0)


@pytest.fixture
def file(tmp_path):
    run(tmp_path, 2)
    return tmp_path / "checkpoint.safetensors"


def forge(file, tensors, note):
    """Write what was altered with the checksum that fits, in the place of both files."""
    note.pop("checksum")
    write_state(file.parent, tensors, note)
    (file.parent / "checkpoint-older.safetensors").unlink()


def test_a_run_goes_on(file):
    assert run(file.parent, 3).steps == 3


@pytest.mark.parametrize(
    ("keys", "to", "message"),
    [
        (["run", "format"], 1, "by another version of geodis: name another folder"),
        (["run", "model"], None, "is a checkpoint of None, and the model is VAE"),
        (["run", "model", "shape"], [5], r"trained with shape = \[5\]; got \[4\]"),
        (["run", "model", "loss"], None, "trained with loss = None; got mse"),
        (["run"], 3, "is not a checkpoint of a training run"),
        (["run", "rows"], None, "trained with rows = None; got 20"),
    ],
)
def test_a_state_of_another_run_gets_one_sentence(keys, to, message, file):
    tensors, note = read_tensors(file)
    entry = note
    for key in keys[:-1]:
        entry = entry[key]
    if to is None:
        del entry[keys[-1]]
    else:
        entry[keys[-1]] = to
    forge(file, tensors, note)
    with pytest.raises(InputError, match=message):
        run(file.parent, 3)


def test_both_players_come_back(tmp_path):
    run(tmp_path, 2, FactorVAE((4,), 2, discriminator_width=9))
    assert run(tmp_path, 3, FactorVAE((4,), 2, discriminator_width=9)).steps == 3


# Two files, of which one may be damaged


@pytest.fixture
def two_files(tmp_path):
    """A run with a newer checkpoint at step 4 and an older one at step 2."""
    run(tmp_path, 2)
    run(tmp_path, 4)
    newer, older = (tmp_path / f"checkpoint{end}.safetensors" for end in ("", "-older"))
    assert [read_tensors(file)[1]["steps"] for file in (newer, older)] == [4, 2]
    return newer, older


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip_a_bit(file):
    whole = bytearray(file.read_bytes())
    whole[-5] ^= 1  # in the last tensor
    file.write_bytes(whole)


def edit_the_note(file):
    whole = file.read_bytes()
    assert whole.count(b"batch_size") == 1
    place = whole.index(b"batch_size") + len(b'batch_size\\": ')
    file.write_bytes(whole[:place] + b"5" + whole[place + 1 :])


@pytest.mark.parametrize(
    "damage", [cut, flip_a_bit, edit_the_note, lambda file: file.write_bytes(b"")]
)
def test_the_older_file_is_gone_on_from_where_the_newer_is_damaged(damage, two_files, tmp_path):
    newer, _ = two_files
    damage(newer)
    model = VAE((4,), 2)
    with pytest.warns(UserWarning, match="goes on from the older .*of step 2"):
        assert run(newer.parent, 6, model).steps == 6
    unbroken = VAE((4,), 2)
    run(tmp_path / "unbroken", 6, unbroken)
    for name, value in unbroken.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name


def test_a_run_killed_between_the_two_names_goes_on(two_files):
    newer, _ = two_files
    newer.unlink()
    assert run(newer.parent, 5).steps == 5


def test_the_file_that_was_gone_on_from_is_kept(two_files, tmp_path):
    """The newer one is damaged, and after the next state is written damaged again."""
    newer, _ = two_files
    flip_a_bit(newer)
    with pytest.warns(UserWarning, match="is checkpoint-damaged.safetensors now, and .* of step 2"):
        run(newer.parent, 6)
    assert [read_tensors(file)[1]["steps"] for file in two_files] == [6, 2]
    flip_a_bit(newer)
    model, unbroken = VAE((4,), 2), VAE((4,), 2)
    with pytest.warns(UserWarning, match="goes on from the older .*of step 2"):
        run(newer.parent, 9, model)
    run(tmp_path / "unbroken", 9, unbroken)
    for name, value in unbroken.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name


@pytest.mark.parametrize("damaged", [False, True])
def test_a_kill_at_any_name_leaves_a_state(damaged, two_files, monkeypatch):
    newer, older = two_files
    if damaged:
        flip_a_bit(newer)
    rename, left = Path.replace, []

    def dies(path, target):
        rename(path, target)
        left.append(Path(target).name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):  # noqa: PT012
        patch.setattr(Path, "replace", dies)
        run(newer.parent, 6)
    assert left == ["checkpoint-damaged.safetensors" if damaged else older.name]
    assert run(newer.parent, 7).steps == 7


@pytest.mark.parametrize("which", [0, 1])
def test_a_folder_of_that_name_is_said_at_the_start(which, two_files):
    two_files[which].unlink()
    two_files[which].mkdir()
    with pytest.raises(InputError, match=f"{two_files[which].name} must be a file, .* got a fold"):
        run(two_files[0].parent, 5)


def test_what_killed_runs_left_is_removed(two_files):
    folder = two_files[0].parent
    orphans = [folder / f".{name}" for name in ("checkpoint-1.safetensors", "model-2.safetensors")]
    kept = folder / ".notes-3.safetensors"
    for path in (*orphans, folder / ".config-4.json", kept):
        path.touch()
    run(folder, 5)
    assert [path for path in folder.iterdir() if path.name.startswith(".")] == [kept]


def test_two_damaged_files_are_said_in_one_sentence(two_files):
    for file in two_files:
        flip_a_bit(file)
    with pytest.raises(InputError, match="must have the checksum that it was written with"):
        run(two_files[0].parent, 5)


def test_a_file_of_another_run_is_refused_and_not_passed_over(two_files):
    newer, _ = two_files
    with pytest.raises(InputError, match="trained with latents = 2; got 3"):
        run(newer.parent, 5, VAE((4,), 3))


# Modules of one's own


class Spare(nn.Module):
    """Features, and a layer that no gradient reaches."""

    def __init__(self):
        super().__init__()
        self.layer, self.spare = nn.Linear(4, 8), nn.Linear(4, 8)

    def forward(self, x):
        return self.layer(x)


class Noted(Spare):
    def get_extra_state(self):
        return {"calls": 3}

    def set_extra_state(self, state):
        pass


def encoding_by(kind):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return VAE((4,), 2, encoder=kind())


def test_a_layer_that_learns_nothing_goes_on(tmp_path):
    run(tmp_path, 2, encoding_by(Spare))
    in_two, at_once = encoding_by(Spare), encoding_by(Spare)
    run(tmp_path, 4, in_two)
    run(tmp_path / "at once", 4, at_once)
    for name, value in at_once.state_dict().items():
        assert torch.equal(value, in_two.state_dict()[name]), name


def test_a_state_that_is_no_tensor_is_said(tmp_path):
    with pytest.raises(InputError, match=r"state in tensors.* VAE has body\._extra_state, .* dict"):
        run(tmp_path, 2, encoding_by(Noted))
    assert run(None, 2, encoding_by(Noted)).steps == 2


# What the system does


def test_a_full_disk_is_said_in_one_sentence_and_what_stood_there_stays(two_files, monkeypatch):
    newer, older = two_files
    before = newer.read_bytes(), older.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"Step 6 could not be .* \(No space left on device\): what"):
        run(newer.parent, 6)
    assert (newer.read_bytes(), older.read_bytes()) == before
    assert not [path for path in newer.parent.iterdir() if path.name.startswith(".checkpoint")]
    monkeypatch.undo()
    assert run(newer.parent, 6).steps == 6


LIMITED = """
import resource, signal, sys, torch
from geodis.models import VAE, train
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    train(VAE((4,), 2), torch.rand(20, 4), 2, batch_size=4, checkpoint=sys.argv[1], verbose=0)
except OSError as error:
    print(error)
"""


def test_a_file_that_the_system_cuts_short_never_gets_its_name(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "Step 2 could not be written to" in done.stdout and "make room" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_request_to_end_is_as_ctrl_c(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    ends = {"end": lambda model: signal.raise_signal(signal.SIGTERM)}
    x = torch.rand(20, 4, generator=torch.Generator().manual_seed(0))
    options = {"batch_size": 4, "checkpoint": tmp_path, "verbose": 0}
    with pytest.raises(KeyboardInterrupt):
        train(VAE((4,), 2), x, 9, options=TrainOptions(callbacks=ends, callback_every=3), **options)
    assert signal.getsignal(signal.SIGTERM) is before
    assert read_tensors(tmp_path / "checkpoint.safetensors")[1]["steps"] == 3
    assert train(VAE((4,), 2), x, 9, **options).steps == 9
