"""The package as a whole: what importing it costs, its names, and what its rooms may import."""

import ast
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

import geodis
from tests import ROOT

PACKAGE = ROOT / "geodis"


def test_import_loads_nothing_heavy():
    heavy = ["torch", "geomstats", "matplotlib", "pynndescent", "sklearn", "pandas", "scipy"]
    program = f"import sys, geodis; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", geodis.__all__)
def test_every_public_name_exists_and_is_documented(name):
    value = getattr(geodis, name)
    assert name == "__version__" or value.__doc__
    assert name == "__version__" or name in dir(geodis)


@pytest.mark.parametrize("name", geodis.manifold.__all__)
def test_every_stage_is_reached_from_its_room(name):
    assert getattr(geodis.manifold, name).__doc__
    assert name in dir(geodis.manifold)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No geodis attribute no_such_name"):
        geodis.no_such_name  # noqa: B018


# What may import what. The linter is run on the tree as it is, and on a tree of empty rooms into
# which each kind of wrong line is put on purpose.


def lint(folder):
    """Exit code of the linter of imports in a folder, and what it says, on one line."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".ci"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def empty_rooms(tmp_path_factory):
    """The rooms of the package without what is in them, analyses and benchmarks beside them."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for path in (*PACKAGE.glob("*.py"), *PACKAGE.glob("*/__init__.py")):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True, parents=True)
        copy.touch()
    for name in ("analyses", "benchmarks"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
    return folder


@pytest.fixture
def put_in(empty_rooms):
    """Write a file into the tree; it is gone after the test."""
    written = []

    def write(path, text):
        written.append(empty_rooms / path)
        written[-1].parent.mkdir(exist_ok=True)
        written[-1].write_text(text, encoding="utf-8")

    yield write
    for path in written:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()


@pytest.mark.long
def test_imports_are_as_the_rules_want_them():
    code, said = lint(ROOT)
    assert code == 0, said


def test_empty_rooms_break_no_rule(empty_rooms):
    code, said = lint(empty_rooms)
    assert code == 0, said


LAYERS = [
    "geodis.cli",
    "geodis.commands",
    "geodis.report",
    "geodis.plots",
    "geodis.models",
    "geodis.scores",
    "geodis.distances",
    "geodis.manifold",
    "geodis.base",
]


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        *((lower, higher) for higher, lower in pairwise(LAYERS)),
        ("geodis.kernels", "geodis.scores"),
        ("geodis.scores", "geodis.kernels"),
        ("geodis.scores", "geodis.inspection"),
        ("geodis.inspection", "geodis.kernels"),
        ("geodis.manifold", "geodis.data"),
        ("geodis.data", "geodis.manifold"),
        ("geodis.base", "geodis.plots"),
    ],
)
def test_no_room_imports_upwards_or_sideways(empty_rooms, put_in, lower, higher):
    in_a_function = f"def later():\n    import {higher}\n"
    in_a_folder = (empty_rooms / lower.replace(".", "/")).is_dir()
    path = lower.replace(".", "/") + ("/wrong.py" if in_a_folder else ".py")
    if in_a_folder:
        put_in(path, in_a_function)
        code, said = lint(empty_rooms)
    else:
        (empty_rooms / path).write_text(in_a_function)
        code, said = lint(empty_rooms)
        (empty_rooms / path).write_text("")
    assert code == 1
    assert f"{lower} is not allowed to import {higher}" in said
    assert "Rooms stand on the rooms below them BROKEN" in said


ONLY_FOR_TYPES = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import torch\n"
SHARED = {
    "geodis/data/_hidden.py": "",
    "geodis/data/grids.py": "class Grid:\n    def _check(self): ...\n\n\ndef _draw(): ...\n",
}


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("geodis/scores/wrong.py", "import torch", "geodis.scores is not allowed to import torch"),
        ("geodis/report/wrong.py", ONLY_FOR_TYPES, "geodis.report is not allowed to import torch"),
        (
            "geodis/data/wrong.py",
            "def later():\n    from torch.nn import Module",
            "geodis.data is not allowed to import torch",
        ),
        ("geodis/base/wrong.py", "import analyses", "geodis is not allowed to import analyses"),
        (
            "geodis/scores/wrong.py",
            "from geodis.data._hidden import anything",
            "geodis.scores.wrong:1 imports geodis.data._hidden.anything, "
            "which is private to geodis.data",
        ),
        (
            "geodis/scores/wrong.py",
            "from geodis.data.grids import (\n    Grid,\n    _draw,\n)",
            "geodis.scores.wrong:1 imports geodis.data.grids._draw, "
            "which is private to geodis.data",
        ),
        (
            "geodis/scores/wrong.py",
            "def score(grid):\n    return grid._check()",
            "geodis.scores.wrong:2 uses _check, which is private to geodis.data",
        ),
        (
            "geodis/__init__.pyi",
            "from .data._hidden import anything as anything",
            "geodis:1 imports geodis.data._hidden.anything, which is private to geodis.data",
        ),
        (
            "analyses/wrong.py",
            "from geodis.data import _hidden",
            "analyses.wrong:1 imports geodis.data._hidden, which is private to geodis.data",
        ),
        (
            "benchmarks/wrong.py",
            "from geodis.data import grids\n\ngrids._draw()",
            "benchmarks.wrong:3 uses _draw, which is private to geodis.data",
        ),
        (
            "geodis/base/wrong.py",
            "from geodis import GeoManCER",
            "geodis.base.wrong:1 imports geodis.GeoManCER through the front door",
        ),
        (
            "geodis/base/wrong.py",
            "import geodis as gd",
            "geodis.base.wrong:1 imports geodis through the front door",
        ),
        (
            "geodis/scores/wrong.py",
            "from geodis.base.check import require\n\n\ndef later():\n"
            '    return require("torch", purpose="A score")',
            "geodis.scores.wrong:5 imports torch by its name",
        ),
        (
            "geodis/base/wrong.py",
            'import importlib\n\nnn = importlib.import_module("torch.nn")',
            "geodis.base.wrong:3 imports torch.nn by its name",
        ),
        (
            "geodis/data/wrong.py",
            'from importlib import import_module\n\nimport_module(name="torchsort")',
            "geodis.data.wrong:3 imports torchsort by its name",
        ),
        (
            "geodis/report/wrong.py",
            '__import__("safetensors.torch")',
            "geodis.report.wrong:1 imports safetensors.torch by its name",
        ),
        (
            "geodis/commands/demo.py",
            'from geodis.base.check import require\n\nrequire("torch.nn")',
            "geodis.commands.demo:3 imports torch.nn by its name",
        ),
        (
            "geodis/scores/wrong.py",
            'import importlib\n\nimportlib.import_module("geodis.report.build")',
            "geodis.scores.wrong:3 imports geodis.report by its name, which is not below it",
        ),
        (
            "geodis/kernels/wrong.py",
            'def later():\n    return __import__("geodis.scores")',
            "geodis.kernels.wrong:2 imports geodis.scores by its name",
        ),
        (
            "geodis/data/wrong.py",
            'from importlib import import_module\n\nimport_module("..plots", "geodis.data")',
            "geodis.data.wrong:3 imports geodis.plots by its name",
        ),
        (
            "geodis/base/wrong.py",
            '__import__("geodis")',
            "geodis.base.wrong:1 imports geodis by its name",
        ),
        ("geodis/annex/__init__.py", "", "annex"),
    ],
)
def test_a_wrong_line_is_named(empty_rooms, put_in, path, text, says):
    for shared, contents in SHARED.items():
        put_in(shared, contents)
    assert lint(empty_rooms)[0] == 0
    put_in(path, text + "\n")
    code, said = lint(empty_rooms)
    assert code == 1
    assert says in said


def test_what_a_room_does_at_home_is_its_own_affair(empty_rooms, put_in):
    for shared, contents in SHARED.items():
        put_in(shared, contents)
    put_in(
        "geodis/data/at_home.py",
        "import geodis.base\nfrom geodis import __version__, base\n"
        "from geodis.data._hidden import anything\nfrom geodis.data.grids import _draw\n",
    )
    put_in(
        "geodis/models/at_home.py",
        'import torch\n\n\ndef own(network):\n    network.register_buffer("_fixed", None)\n'
        "    return network._fixed, torch._standard_gamma\n",
    )
    put_in(
        "geodis/kernels/at_home.py", 'from importlib import import_module\n\nimport_module("torch")'
    )
    put_in(
        "geodis/plots/at_home.py", '__import__("geodis.scores")\n__import__("geodis.plots.style")'
    )
    code, said = lint(empty_rooms)
    assert code == 0, said


# Folders. What a reader must look through at a glance; a package lists its public names beside.

MOST_FILES = 13
SOURCES = (".py", ".pyi", ".js", ".css")


def crowded(root):
    """Folders with more files of source than that."""
    counts = Counter(path.parent for path in root.rglob("*") if path.suffix in SOURCES)
    return {str(folder.relative_to(ROOT)) for folder, count in counts.items() if count > MOST_FILES}


def test_folders_of_files_that_can_be_read_at_a_glance():
    for name in ("geodis/report", "geodis/plots", "geodis/distances", "analyses"):
        assert crowded(ROOT / name) == set()


# Names. A file may have the name of what is in it, and the file of a command, of figures and of a
# section that of what it runs, draws and shows; otherwise a name means one thing.

NAMED_AFTER_OTHERS = ("commands", "plots", "plots/geometry", "report/sections")

# These stand in several rooms, and mean the same in each.
MEANT_TWICE = {
    "geometry": "figures, and scores, of directions in space",
    "load": "what reads files of users, and what reads a fit",
    "registry": "what is registered in the room, by name",
    "report": "the room is called as its function",
    "unsupervised": "without labels: the scores, and the models",
}


def meanings(package):
    """Every name of a module, public class or public function, with the places that have it."""
    places = defaultdict(set)
    for path in sorted(package.rglob("*.py")):
        where = path.relative_to(package)
        names = {
            node.name
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        }
        if path.stem == "__init__":
            names |= {path.parent.name} - {package.name}
        elif where.parent.as_posix() not in NAMED_AFTER_OTHERS:
            names |= {path.stem}
        for name in names:
            places[name].add(str(where))
    return places


def meant_twice(package):
    """The names that mean more than one thing, a line each."""
    return [
        f"{name}: {', '.join(sorted(places))}"
        for name, places in sorted(meanings(package).items())
        if len(places) > 1
    ]


def test_a_name_means_one_thing():
    twice = meant_twice(PACKAGE)
    assert [line for line in twice if line.partition(":")[0] not in MEANT_TWICE] == []
    assert len(twice) == len(MEANT_TWICE), "a name of MEANT_TWICE means one thing now"


def test_a_name_that_means_two_things_is_seen(tmp_path):
    for path, text in {
        "scores/mig.py": "def mig(): ...",
        "scores/parts.py": "class Split: ...\ndef _helper(): ...",
        "manifold/split.py": "class Split: ...\ndef _helper(): ...",
        "manifold/parts.py": "",
        "plots/scores.py": "",
        "plots/parts.py": "class Split: ...",
        "scores/__init__.py": "",
        "commands/scores.py": "def scores_command(): ...",
        "commands/mig.py": "def mig_command(): ...",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert meant_twice(tmp_path) == [
        "Split: manifold/split.py, plots/parts.py, scores/parts.py",
        "parts: manifold/parts.py, scores/parts.py",
    ]
