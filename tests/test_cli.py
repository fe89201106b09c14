import json
import sys

import numpy as np
import pytest

from geodis import __version__, cli


def run(monkeypatch, capsys, *arguments):
    """Exit code, standard output and standard error of a command line."""
    monkeypatch.setattr(sys, "argv", ["geodis", *map(str, arguments)])
    code: object = 0
    try:
        cli.main()
    except SystemExit as stopped:
        code = stopped.code
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def geodis(monkeypatch, capsys):
    return lambda *arguments: run(monkeypatch, capsys, *arguments)


def test_version(geodis):
    assert geodis("--version") == (0, f"geodis {__version__}\n", "")


def test_help_lists_the_commands(geodis):
    code, out, _ = geodis("--help")
    assert code == 0
    assert all(command in out for command in ("inspect", "sample", "demo"))


def test_inspect_prints_a_table(geodis, tmp_path):
    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((200, 2)))
    code, out, err = geodis("inspect", tmp_path / "points.npy")
    assert (code, err) == (0, "")
    assert "200 rows x 2 columns, float64" in out


def test_inspect_prints_json_for_machines(geodis, tmp_path):
    np.savez(tmp_path / "run.npz", z=np.random.default_rng(0).standard_normal((200, 2)), y=[1])
    code, out, _ = geodis("inspect", f"{tmp_path / 'run.npz'}:z", "--json")
    assert code == 0
    content = json.loads(out)
    assert (content["n"], content["d"], content["dimension"]["dim"]) == (200, 2, 2)


def test_inspect_writes_a_report(geodis, tmp_path):
    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((200, 2)))
    geodis("inspect", tmp_path / "points.npy", "--out", tmp_path / "out")
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["inspection.json", "inspection.txt", "spectrum.png"]
    assert (tmp_path / "out" / "spectrum.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.npy", None, "missing.npy"),
        ("text.npy", b"not an array", "text.npy"),
        ("empty.csv", b"", "empty.csv"),
        ("points.xyz", b"1 2 3", ".npy"),
        ("short.csv", b"a,b\n1,2\n3,4\n", "at least 4 distinct finite rows; 2 came"),
    ],
)
def test_bad_files_end_with_one_sentence_and_code_2(geodis, tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code, out, err = geodis("inspect", tmp_path / name)
    assert code == 2 and out == ""
    assert err.startswith("geodis: ") and message in err
    assert len(err.strip().splitlines()) == 1


def test_demo_says_what_it_made_and_where(geodis, tmp_path):
    code, out, _ = geodis("demo", "--out", tmp_path / "demo")
    assert code == 0
    for path in (tmp_path / "demo").iterdir():
        assert str(path) in out
    assert np.load(tmp_path / "demo" / "points.npy").shape == (5000, 6)
    assert json.loads((tmp_path / "demo" / "inspection.json").read_text())["dimension"]["dim"] == 4


def test_sample_refuses_other_suffixes(geodis, tmp_path):
    code, _, err = geodis("sample", "S^2", "--out", tmp_path / "points.csv")
    assert code == 2 and "must end in .npy" in err


def test_sample_repeats_with_its_seed(geodis, tmp_path):
    for name in ("a", "b"):
        geodis("sample", "S^2", "--n", 20, "--seed", 3, "--out", tmp_path / f"{name}.npy")
    a, b = (np.load(tmp_path / f"{name}.npy") for name in ("a", "b"))
    np.testing.assert_array_equal(a, b)


def test_interrupt_leaves_no_half_report(geodis, monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((200, 2)))
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", interrupt)
    code, _, err = geodis("inspect", tmp_path / "points.npy", "--out", tmp_path / "out")
    assert code == 130 and "Traceback" not in err  # 128 + SIGINT, as shells have it
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["inspection.json", "inspection.txt"]
