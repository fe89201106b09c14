"""The set-up script: what it repeats, what it repairs, and what it says."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT


@pytest.fixture
def set_up(tmp_path, monkeypatch):
    """The script as a module, on a copy of the project's files, with every command recorded."""
    spec = importlib.util.spec_from_file_location("set_up", ROOT / ".ci" / "set_up.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "set_up.py").write_text((ROOT / ".ci" / "set_up.py").read_text())
    venv = tmp_path / ".venv"
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(venv))
    monkeypatch.setattr(module, "VENV_PYTHON", str(venv / "bin" / "python"))
    monkeypatch.setattr(module, "READY", str(venv / ".ready"))
    monkeypatch.setattr(module, "READY_DEMO", str(venv / ".ready_demo"))
    monkeypatch.setattr(module, "STARTED", str(venv / ".started"))
    module.commands = []

    def record(command, purpose=None, env=None):
        module.commands.append(command)
        if "venv" in command:
            (venv / "bin").mkdir()
            (venv / "bin" / "python").symlink_to(sys.executable)
        return 0, "none"

    monkeypatch.setattr(module, "run", record)
    monkeypatch.setattr(module, "call", record)
    return module


def test_the_second_run_does_nothing(set_up):
    set_up.main()
    assert any("venv" in command for command in set_up.commands)
    [install] = [command for command in set_up.commands if ".[all,dev]" in command]
    assert "editable_mode=compat" in install  # a plain path, which type checkers follow
    set_up.commands.clear()
    set_up.main()
    assert set_up.commands == []


def test_the_demo_needs_less_and_everything_comes_on_top_of_it(set_up):
    set_up.main(demo=True)
    told = [word for command in set_up.commands for word in command]
    assert ".[topology]" in told and "torch" not in told and "torchsort" not in told
    set_up.commands.clear()
    set_up.main(demo=True)
    assert set_up.commands == []
    set_up.main()
    assert not any("venv" in command for command in set_up.commands)
    assert any(".[all,dev]" in command for command in set_up.commands)
    set_up.commands.clear()
    set_up.main(demo=True)
    assert set_up.commands == []


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_requirement_installs_again_into_the_same_environment(set_up, name):
    set_up.main()
    set_up.commands.clear()
    path = Path(set_up.ROOT) / name
    path.write_text(path.read_text() + "\n# changed\n")
    set_up.main()
    assert any(".[all,dev]" in command for command in set_up.commands)
    assert not any("venv" in command for command in set_up.commands)


def test_an_interrupted_set_up_starts_afresh(set_up, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(set_up, "install_torchsort", interrupt)
        with pytest.raises(KeyboardInterrupt):
            set_up.main()
    left_over = Path(set_up.VENV) / "half-installed"
    left_over.write_text("")
    set_up.commands.clear()
    set_up.main()
    assert any("venv" in command for command in set_up.commands)
    assert not left_over.exists()


def test_nvcc_is_hidden_and_its_neighbours_are_not(set_up, tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("nvcc", "gcc"):
        (tools / name).write_text("#!/bin/sh\necho release 13.0\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    with set_up.path_without_nvcc() as path:
        assert set_up.shutil.which("nvcc", path=path) is None
        assert set_up.shutil.which("gcc", path=path) is not None
    monkeypatch.setattr(set_up, "torch_cuda_release", lambda: "13")
    monkeypatch.setattr(set_up, "nvcc_release", lambda: "13")
    with set_up.path_without_nvcc() as path:
        assert path == str(tools)


def test_a_torchsort_that_does_not_build_is_a_notice(set_up, capsys, monkeypatch):
    (Path(set_up.VENV)).mkdir()
    monkeypatch.setattr(set_up, "call", lambda *_, **__: (1, "error: no compiler"))
    set_up.install_torchsort()
    assert "notice: torchsort did not build" in capsys.readouterr().out
    assert "no compiler" in (Path(set_up.VENV) / "torchsort.log").read_text()


def test_an_old_python_is_told_what_is_needed():
    source = (ROOT / ".ci" / "set_up.py").read_text()
    pretend = "import sys; sys.version_info = (3, 9, 18)\n"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            pretend + source.replace("from __future__ import print_function", ""),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
        check=False,
    )
    assert done.returncode == 1
    assert "geodis needs Python 3.10 or later" in done.stderr
