"""Compiled functions where numba finds no folder to keep them in."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from geodis.base.jobs import njit


def test_options_reach_numba_and_the_cache_is_kept_where_it_can_be():
    @njit(cache=True, nogil=True, fastmath={"nnan"}, error_model="numpy")
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == float("inf")  # Python's error model raises
    options = {"nogil": True, "fastmath": {"nnan"}, "error_model": "numpy"}
    assert options.items() <= ratio.targetoptions.items()
    assert ratio.stats.cache_path is not None


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """Geodis and pynndescent where no cache can be written, which holds for root as well.

    A file stands where the folder of the cache would be made, and another is the home folder.
    """
    folder = tmp_path_factory.mktemp("installed")
    for name in ("geodis", "pynndescent"):
        source = Path(__import__(name).__file__).parent
        shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for place in [folder / name, *(p for p in (folder / name).rglob("*") if p.is_dir())]:
            (place / "__pycache__").touch()
    (folder / "home").touch()
    return folder


def run(folder, *words):
    removed = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "GEODIS_")
    environ = {name: text for name, text in os.environ.items() if not name.startswith(removed)}
    environ |= {"HOME": str(folder / "home"), "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder, capture_output=True, text=True, check=False, env=environ,
    )  # fmt: skip


def test_every_module_is_imported_without_a_cache(read_only):
    modules = [
        ".".join(path.relative_to(read_only).with_suffix("").parts)
        for path in (read_only / "geodis").rglob("*.py")
        if "njit(" in path.read_text(encoding="utf-8")
    ]
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n    importlib.import_module(name)\n"
        "print(sys.modules['geodis'].__file__)\n"
    )
    made = run(read_only, "-c", program, *modules)
    assert (made.returncode, made.stderr) == (0, "") and len(modules) > 20
    assert made.stdout.strip() == str(read_only / "geodis" / "__init__.py")


@pytest.mark.long  # everything is compiled anew, in each of the processes
@pytest.mark.parametrize("method", ["a report", "pynndescent"])
def test_a_read_only_installation_works(read_only, method):
    program = (
        "import numpy as np\n"
        "turn = 6.28 * np.random.default_rng(0).random(250)\n"
        "np.save('z.npy', np.stack([np.cos(turn), np.sin(turn)], axis=1))\n"
    )
    if method == "pynndescent":
        program += (
            "from geodis.manifold.local.neighbors import nearest_neighbors\n"
            "print(nearest_neighbors(np.load('z.npy'), 5, method='pynndescent').method)\n"
        )
    made = run(read_only, "-c", program)
    assert (made.returncode, made.stderr) == (0, "")
    if method == "a report":
        made = run(read_only, "-m", "geodis", "report", "z.npy", "--quiet")
        assert (made.returncode, made.stderr) == (0, "")
        told = json.loads((read_only / "report" / "results.json").read_text())
        assert told["manifold"]["factor_dims"] == [1]
    else:
        assert made.stdout.strip() == method
