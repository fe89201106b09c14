"""Files that replace those of an earlier run in a folder all together, or not at all."""

import os
import signal
import subprocess
import sys

import pytest

from geodis.base import InputError
from geodis.base import whole_set as module
from geodis.base.whole_set import MANIFEST, STAGING, check_whole_set, whole_set


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def write(folder, text):
    (folder / "figures").mkdir()
    (folder / "figures" / text).write_text(text)
    (folder / "page").write_text(text)


def write_set(folder, text):
    with whole_set(folder) as made:
        write(made, text)


def of(text):
    """What a folder holds after `write`."""
    return {"page": text, f"figures/{text}": text}


def leftovers(place):
    return [path for path in place.rglob(".*") if path.name != MANIFEST]


def one_by_one(monkeypatch):
    """As on a system without an exchange of folders."""

    def missing(one, other):
        raise OSError("no such call")

    monkeypatch.setattr(module, "_exchange", missing)


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_set_replaces_the_one_before_and_leaves_nothing_else(tmp_path, monkeypatch, exchanged):
    if not exchanged:
        one_by_one(monkeypatch)
    for text in ("one", "two", "three"):
        write_set(tmp_path / "a" / "out", text)
        assert contents(tmp_path) == {f"a/out/{name}": text for name in of(text)}
    assert not leftovers(tmp_path)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("figures/paper.svg", "figures/paper.svg"),
        ("notes/draft.txt", "notes/draft.txt"),
        (".hidden", ".hidden"),
        ("page", r"page \(changed since\)"),
        ("empty/", "empty/"),
    ],
)
def test_a_folder_with_anything_else_is_refused_before_and_after(tmp_path, name, told):
    folder = tmp_path / "out"
    write_set(folder, "old")

    def add():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text("mine")

    def adding():
        with whole_set(folder) as made:
            write(made, "new")
            add()

    for writing in (adding, lambda: write_set(folder, "new"), lambda: check_whole_set(folder)):
        with pytest.raises(InputError, match=rf"new, empty, or .*; got .*out with {told}: name"):
            writing()
    expected = of("old") | ({} if name.endswith("/") else {name: "mine"})
    assert contents(folder) == expected and not [*tmp_path.glob(".*")]


@pytest.mark.parametrize("manifest", [None, "", "{}", '{"sha256": ["page"]}'])
def test_files_of_others_are_not_replaced_whatever_they_are_called(tmp_path, manifest):
    (tmp_path / "page").write_text("mine")
    if manifest is not None:
        (tmp_path / MANIFEST).write_text(manifest)
    with pytest.raises(InputError, match="page"):
        write_set(tmp_path, "new")
    assert contents(tmp_path) == {"page": "mine"}


def test_no_manifest_reaches_outside_its_folder(tmp_path, monkeypatch):
    one_by_one(monkeypatch)
    folder = tmp_path / "out"
    write_set(folder, "old")
    (tmp_path / "mine").write_text("mine")
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace('"page"', '"page": "", "../mine"'))
    with pytest.raises(InputError, match="changed since"):
        write_set(folder, "new")
    assert (tmp_path / "mine").read_text() == "mine"


def test_what_a_file_browser_wrote_is_nobodys_work(tmp_path):
    write_set(tmp_path / "out", "old")
    (tmp_path / "out" / "figures" / ".DS_Store").write_text("")
    write_set(tmp_path / "out", "new")
    assert contents(tmp_path / "out") == of("new")


def test_the_folder_keeps_its_rights_and_a_link_to_it_stays(tmp_path):
    (tmp_path / "out").mkdir(mode=0o750)
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for text in ("one", "two"):
        write_set(tmp_path / "link", text)
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "link").is_symlink() and contents(tmp_path / "out") == of("two")


def test_the_current_folder_stays_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    for text in ("one", "two"):
        write_set(".", text)
        assert contents(tmp_path) == of(text) and not leftovers(tmp_path)
    assert tmp_path.stat().st_ino == before


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path, problem):
    write_set(tmp_path / "old", "before")

    def failing(folder):
        with whole_set(folder) as made:
            write(made, "new")
            raise problem

    for folder in (tmp_path / "old", tmp_path / "a" / "b"):
        with pytest.raises(problem):
            failing(folder)
    assert contents(tmp_path / "old") == of("before") and len(list(tmp_path.iterdir())) == 1


def test_an_interrupt_while_folders_are_moved_comes_after_all_are(tmp_path, monkeypatch):
    exchange = module._exchange

    def interrupted(one, other):
        signal.raise_signal(signal.SIGINT)
        exchange(one, other)

    write_set(tmp_path / "out", "old")
    monkeypatch.setattr(module, "_exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_set(tmp_path / "out", "new")
    assert contents(tmp_path / "out") == of("new") and not leftovers(tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Kills itself at a given call of what changes folders; exits with 0 where there are fewer.
KILLED = """
import os, pathlib, shutil, signal, sys
from geodis.base import whole_set as module
folder, last, exchanged = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
calls = []
def counted(function):
    def call(*given, **options):
        calls.append(function)
        if len(calls) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **options)
    return call
def missing(one, other):
    raise OSError("no such call")
for name in ("rename", "replace", "mkdir", "unlink", "rmdir"):
    setattr(pathlib.Path, name, counted(getattr(pathlib.Path, name)))
module._exchange = counted(module._exchange if exchanged else missing)
module.shutil.rmtree = counted(shutil.rmtree)
with module.whole_set(folder) as made:
    (made / "figures").mkdir()
    (made / "figures" / "new").write_text("new")
    (made / "page").write_text("new")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process can be killed like this")
@pytest.mark.parametrize("before", [{}, of("old")])
@pytest.mark.parametrize("exchanged", [True, False])
def test_a_process_that_is_killed_leaves_one_set_or_the_other(tmp_path, before, exchanged):
    for last in range(1, 100):
        place = tmp_path / str(last)
        place.mkdir()
        if before:
            write_set(place / "out", "old")
        given = [sys.executable, "-c", KILLED, str(place / "out"), str(last), str(exchanged)]
        code = subprocess.run(given, check=False).returncode
        found = contents(place / "out")
        found = {name: text for name, text in found.items() if not name.startswith(STAGING)}
        if exchanged or not before:
            assert found in (before, of("new"))
        else:  # every file is whole, and the page is never missing
            assert found["page"] in ("old", "new") and set(found) <= {*before, *of("new")}
            check_whole_set(place / "out")  # finishes what was begun
            assert contents(place / "out") in (before, of("new"))
        write_set(place / "out", "last")
        assert contents(place) == {f"out/{name}": text for name, text in of("last").items()}
        assert not leftovers(place)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert 3 < last < 99


def test_what_a_living_process_writes_is_left_alone(tmp_path):
    with whole_set(tmp_path / "out") as made:
        write_set(tmp_path / "other", "new")
        write(made, "new")
    assert contents(tmp_path / "out") == contents(tmp_path / "other") == of("new")


def test_leftovers_that_may_be_of_others_are_left(tmp_path):
    other = tmp_path / f"{STAGING}12345678"
    other.mkdir()
    (other / "mine").write_text("mine")
    write_set(tmp_path / "out", "new")
    assert contents(other) == {"mine": "mine"}


def test_a_folder_beside_which_nothing_can_be_written(tmp_path, monkeypatch):
    """As a volume that is mounted into a container."""
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    for text in ("one", "two"):
        write_set(tmp_path / "out", text)
        assert contents(tmp_path) == {f"out/{name}": text for name in of(text)}
    assert not leftovers(tmp_path)


def test_processes_that_write_beside_each_other_do_not_disturb_each_other(tmp_path):
    lines = (
        "import sys\nfrom pathlib import Path\nfrom geodis.base.whole_set import whole_set\n"
        "for i in range(60):\n"
        "    with whole_set(Path(sys.argv[1])) as made:\n"
        "        (made / 'sub').mkdir()\n"
        "        (made / 'sub' / 'page').write_text(str(i))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", lines, str(tmp_path / name)]) for name in "abc"
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]
    assert [(tmp_path / name / "sub" / "page").read_text() for name in "abc"] == ["59"] * 3


def test_a_file_is_no_folder_to_write_to(tmp_path):
    (tmp_path / "f.csv").write_text("mine")
    with pytest.raises(InputError, match=r"f\.csv is a file"), whole_set(tmp_path / "f.csv"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["f.csv"]


def test_a_folder_that_is_protected_is_left_alone(tmp_path, monkeypatch):
    write_set(tmp_path / "r", "old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(InputError, match="cannot be written to"), whole_set(tmp_path / "r"):
        pass
    assert contents(tmp_path / "r") == {"page": "old", "figures/old": "old"}


def test_leftovers_that_cannot_be_looked_at_stop_nobody(tmp_path, monkeypatch):
    """As those of another user in a folder that many write to."""
    (tmp_path / f"{STAGING}aa").mkdir()

    def refused(path):
        raise PermissionError(path)

    monkeypatch.setattr(module, "_is_abandoned", refused)
    write_set(tmp_path / "r", "new")
    assert contents(tmp_path / "r") == {"page": "new", "figures/new": "new"}
