"""A journal gives back what it was given, whatever killed the process between."""

import json
import os

import pytest

from geodis.base.check import InputError
from geodis.base.journal import Journal, plain_digest, read_item, write_item


def test_numbers_come_back_bit_for_bit(tmp_path, rng):
    numbers = [*rng.standard_normal(50), float("nan"), float("inf"), 5e-324]
    with Journal(tmp_path / "j", {"seed": 0}) as journal:
        journal.add("a", [list(map(float, numbers)), "é"])
    with Journal(tmp_path / "j", {"seed": 0}) as journal:
        found, text = journal.entries["a"]
    assert list(map(float.hex, found)) == list(map(float.hex, map(float, numbers))) and text == "é"


def test_any_end_loses_at_most_the_last_line(tmp_path):
    with Journal(tmp_path / "j", {"seed": 0}) as journal:
        for i in range(5):
            journal.add(str(i), i)
    whole = (tmp_path / "j").read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole) + 1):
        (tmp_path / "j").write_bytes(whole[:cut])
        with Journal(tmp_path / "j", {"seed": 0}) as journal:
            kept = max(0, sum(end <= cut for end in ends) - 1)
            assert journal.entries == {str(i): i for i in range(kept)}
            journal.add("new", 1)
        for line in (tmp_path / "j").read_bytes().splitlines():
            json.loads(line)


def test_other_settings_and_other_files_are_refused_and_left(tmp_path):
    path = tmp_path / "j"
    with Journal(path, {"seed": 0, "bins": None}) as journal:
        journal.add("a", 1)
    before = path.read_bytes()
    with pytest.raises(
        InputError, match=r"got bins 5 instead of None and seed 1 instead of 0 in j\."
    ):
        Journal(path, {"seed": 1, "bins": 5}).__enter__()
    assert path.read_bytes() == before
    with Journal(tmp_path / "none", {"seed": 0}):
        pass  # nothing is lost where nothing was done
    with Journal(tmp_path / "none", {"seed": 1}) as journal:
        journal.add("a", 1)
    with pytest.raises(InputError, match="got seed 0 instead of 1"):
        Journal(tmp_path / "none", {"seed": 0}).__enter__()
    path.write_text("model,value\na,1\n")
    with pytest.raises(InputError, match="A journal must begin with its settings; got j"):
        Journal(path, {"seed": 0}).__enter__()
    assert path.read_text() == "model,value\na,1\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such lock")
def test_two_cannot_have_it_open(tmp_path):
    with (
        Journal(tmp_path / "j", {}),
        pytest.raises(InputError, match="j must be used by one process at a time"),
    ):
        Journal(tmp_path / "j", {}).__enter__()
    with Journal(tmp_path / "j", {}):
        pass


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full disk is Linux's")  # noqa: PTH110
def test_a_full_disk_is_a_sentence_and_keeps_what_is_finished(tmp_path):
    with Journal(tmp_path / "j", {}) as journal:
        journal.add("a", 1)
        file, journal._file = journal._file, open("/dev/full", "wb")  # noqa: PTH123, SIM115
        with pytest.raises(InputError, match=r"No space left.* continues from there\."):
            journal.add("b", 2)
        journal._close()
        journal._file = file
    with Journal(tmp_path / "j", {}) as journal:
        assert journal.entries == {"a": 1}


def test_a_closed_journal_takes_nothing(tmp_path):
    with pytest.raises(InputError, match="must be open"):
        Journal(tmp_path / "j", {}).add("a", 1)


def test_an_item_comes_back_and_a_damaged_one_is_refused(tmp_path):
    path = tmp_path / "row.json"
    assert read_item(path) is None
    write_item(path, {"score": 0.1, "steps": (1, 2), "none": float("nan")})
    assert read_item(path) == {"score": 0.1, "steps": [1, 2], "none": None}
    path.write_text(path.read_text().replace("0.1", "0.2"))
    with pytest.raises(
        InputError, match=r"must have its original checksum; .* Remove it to compute it ag"
    ):
        read_item(path)
    path.write_text("{")
    with pytest.raises(InputError, match=r"cannot be read .* remove it to compute it again"):
        read_item(path)


def test_digests_count_names_values_and_bytes():
    own = plain_digest({"a": 1, "b": [2.0]}, [b"xy"])
    assert own == plain_digest({"b": (2.0,), "a": 1}, [b"xy"])
    others = [({"a": 2, "b": [2.0]}, [b"xy"]), ({"a": 1}, [b"xy"]), ({"a": 1, "b": [2.0]}, [b"xz"])]
    assert own not in [plain_digest(*other) for other in others]
