"""The page "Adding your own": its examples make a package, which geodis finds and uses."""

import os
import re
import subprocess
import sys
from typing import get_args

import pytest

from geodis.base.plugins import Group
from tests import ROOT

PAGE = (ROOT / "docs" / "pages" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
# A block that begins with the name of a file is that file; the others use what the files add.
FILES = {
    match[1]: block for block in BLOCKS if (match := re.match(r"# (my_package/\w+\.py)\n", block))
}
USES = [block for block in BLOCKS if block not in FILES.values()]
COMMANDS = re.findall(r"^(geodis .*)$", PAGE, re.MULTILINE)
[DECLARED] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def installed(tmp_path):
    """A folder in which the package of the page is installed, as an installer leaves it."""
    for name, block in {"my_package/__init__.py": "", **FILES}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(block, encoding="utf-8")
    metadata = tmp_path / "my_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    groups = re.sub(r'\[project\.entry-points\."([\w.]+)"\]', r"[\1]", DECLARED)
    (metadata / "entry_points.txt").write_text(groups.replace('"', ""))
    return tmp_path


def test_every_group_is_declared_with_a_file_of_the_page():
    declared = dict(re.findall(r'"(geodis\.\w+)"\]\n\w+ = "(my_package\.\w+)"', DECLARED))
    assert declared.keys() == set(get_args(Group))
    files = {f"{module.replace('.', '/')}.py" for module in declared.values()}
    assert files == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_an_example_has_at_most_20_lines(name):
    assert len(FILES[name].splitlines()) <= 20


@pytest.mark.long
def test_the_examples_are_found_by_their_entry_points_and_used(installed):
    (installed / "use.py").write_text("\n".join(USES), encoding="utf-8")
    assert not any("my_package" in text for text in (*USES, *COMMANDS))
    for arguments in (["use.py"], *(["-m", *line.split()] for line in COMMANDS)):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=installed,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout == "300 rows\n"
    assert (installed / "run" / "model.safetensors").exists()
