import json

import numpy as np
import pytest

from geodis.base.write import left_behind, whole_file, write_json


def test_what_was_written_before_survives_a_failure(tmp_path):
    target = tmp_path / "result.txt"
    target.write_text("before")
    with pytest.raises(KeyboardInterrupt), whole_file(target) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_the_new_file_appears_at_the_end_with_ordinary_rights(tmp_path):
    target = tmp_path / "new" / "result.txt"
    with whole_file(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists() and temporary.suffix == ".txt"
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    assert target.read_text() == "whole"
    assert target.stat().st_mode == plain.stat().st_mode


def test_numpy_values_become_json(tmp_path):
    content = {
        "array": np.arange(3),
        "float": np.float32(0.5),
        "nan": np.nan,
        "flag": np.bool_(True),
        "nested": [(np.int64(1), {"key": np.inf})],
        3: "text",
    }
    written = json.loads(write_json(tmp_path / "content.json", content).read_text())
    assert written == {
        "array": [0, 1, 2],
        "float": 0.5,
        "nan": None,
        "flag": True,
        "nested": [[1, {"key": None}]],
        "3": "text",
    }


def test_what_stood_there_is_kept_as_the_older_file(tmp_path):
    path, older = tmp_path / "a.txt", tmp_path / "older.txt"
    for text in ("1", "2", "3"):
        with whole_file(path, durable=True, older=older) as temporary:
            temporary.write_text(text)
    assert (path.read_text(), older.read_text()) == ("3", "2")
    with pytest.raises(ZeroDivisionError), whole_file(path, durable=True, older=older):
        raise ZeroDivisionError
    assert (path.read_text(), older.read_text()) == ("3", "2")
    assert len(list(tmp_path.iterdir())) == 2


def test_what_a_killed_write_left_is_found(tmp_path):
    path, others = tmp_path / "a.txt", ("a.txt", "a-older.txt", ".a-x.csv", ".ab-x.txt")
    for name in others:
        (tmp_path / name).touch()
    with whole_file(path) as temporary:
        assert left_behind(path) == [temporary]
    assert left_behind(path) == []
