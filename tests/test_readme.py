"""The README's Python runs and gives what its comments say."""

import re

import numpy as np

from tests import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_blocks_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["est"].factor_dims_.tolist() == [3, 2]
    assert names["est"].axes_.shape == (5000, 5, 12)
    assert names["est"].subspace(0).shape == (5000, 3, 12)
    angle = names["gd"].subspace_angles(names["subspaces"], names["sample"].tangents).mean()
    np.testing.assert_allclose(angle, 0.001, atol=0.0005)
    assert names["flat"].factor_dims_.tolist() == [1, 1]
    assert names["flat"].flat_coordinates_.shape == (2000, 2)
    assert "2 factors of dimension 3 + 2" in capsys.readouterr().out


def test_links_lead_somewhere_from_the_package_index_too():
    here = re.search(r'^Source = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert here is not None
    targets = re.findall(r"\]\(([^)\s]+)\)|^\[\w+\]: (\S+)$", README, re.MULTILINE)
    targets = [inline or below for inline, below in targets]
    assert targets and all(target.startswith("https://") for target in targets)
    for target in targets:
        path = target.removeprefix(f"{here[1]}/blob/main/")
        assert path == target or (ROOT / path).exists(), target


def test_the_table_of_rooms_has_every_room_and_folder():
    package = ROOT / "geodis"
    named = set()
    for names, folders in re.findall(r"^\| (`geodis[^|]+)\|([^|]+)\|", README, re.MULTILINE):
        rooms = [ROOT / name for name in re.findall(r"`([\w./]+)`", names)]
        inside = {path.parent.name for room in rooms for path in room.glob("*/__init__.py")}
        told = set(re.findall(r"`(\w+)`", folders))
        assert told <= inside
        assert told == inside or "one a family" in folders, names
        named.update(rooms)
    assert named == {path for path in package.iterdir() if re.match(r"[a-z]\w*(\.py)?$", path.name)}
