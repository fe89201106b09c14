"""Files that replace what stood in a folder all together, or not at all."""

import signal

import pytest

from geodis.base import whole_set as module
from geodis.base.whole_set import whole_set


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def write(folder, text):
    (folder / "figures").mkdir()
    (folder / "figures" / text).write_text(text)
    (folder / "page").write_text(text)


def test_what_has_the_same_name_is_replaced_and_the_rest_stays(tmp_path):
    for text in ("one", "two"):
        with whole_set(tmp_path / "out") as made:
            write(made, text)
        (tmp_path / "out" / "own").write_text("mine")
    assert contents(tmp_path / "out") == {"page": "two", "figures/two": "two", "own": "mine"}


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path, problem):
    (tmp_path / "page").write_text("before")

    def failing(folder):
        with whole_set(folder) as made:
            write(made, "new")
            raise problem

    for folder in (tmp_path, tmp_path / "a" / "b"):
        with pytest.raises(problem):
            failing(folder)
    assert contents(tmp_path) == {"page": "before"} and len(list(tmp_path.iterdir())) == 1


def test_a_move_that_fails_halfway_is_undone(tmp_path, monkeypatch):
    with whole_set(tmp_path) as made:
        write(made, "before")
    rename, count = module.Path.rename, []

    def failing(self, target):
        count.append(target)
        if len(count) == 4:  # both old ones are away, one new one is there
            raise OSError("full")
        return rename(self, target)

    monkeypatch.setattr(module.Path, "rename", failing)

    def replacing():
        with whole_set(tmp_path) as made:
            write(made, "new")

    with pytest.raises(OSError, match="full"):
        replacing()
    assert contents(tmp_path) == {"page": "before", "figures/before": "before"}


def test_an_interrupt_while_files_are_moved_comes_after_all_are(tmp_path, monkeypatch):
    rename = module.Path.rename

    def interrupted(self, target):
        signal.raise_signal(signal.SIGINT)
        return rename(self, target)

    monkeypatch.setattr(module.Path, "rename", interrupted)

    def replacing():
        with whole_set(tmp_path) as made:
            write(made, "new")

    with pytest.raises(KeyboardInterrupt):
        replacing()
    assert contents(tmp_path) == {"page": "new", "figures/new": "new"}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
