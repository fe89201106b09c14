"""What goes to the package index: its metadata agree, and a hole in it is seen."""

import importlib.util
import io
import re
import tarfile
import zipfile
from importlib import import_module

import pytest

import geodis
from tests import ROOT

PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture
def check_dist(tmp_path, monkeypatch):
    """The script that checks distributions, on a repository of four files."""
    spec = importlib.util.spec_from_file_location("check_dist", ROOT / ".ci" / "check_dist.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "geodis").mkdir()
    for name in ("geodis/__init__.py", "geodis/py.typed"):
        (tmp_path / name).touch()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(
        module, "tracked_files", lambda: {"README.md", "tests/golden/a.json", "geodis/py.typed"}
    )
    return module


def write_distributions(folder, in_archive, in_wheel):
    """A source distribution and a wheel of empty files."""
    with tarfile.open(folder / "geodis_learn-1.tar.gz", "w:gz") as archive:
        for name in in_archive:
            archive.addfile(tarfile.TarInfo(f"geodis_learn-1/{name}"), io.BytesIO())
    with zipfile.ZipFile(folder / "geodis_learn-1-py3-none-any.whl", "w") as wheel:
        for name in (*in_wheel, "geodis_learn-1.dist-info/METADATA"):
            wheel.writestr(name, "")


WHOLE = ["README.md", "tests/golden/a.json", "geodis/__init__.py", "geodis/py.typed"]


def test_whole_distributions_are_counted(check_dist, tmp_path, capsys):
    write_distributions(tmp_path, [*WHOLE, "PKG-INFO"], WHOLE[2:])
    check_dist.main(tmp_path)
    assert capsys.readouterr().out == (
        "geodis_learn-1.tar.gz: 5 files; geodis_learn-1-py3-none-any.whl: 2 files\n"
    )


@pytest.mark.parametrize(
    ("in_archive", "in_wheel", "says"),
    [
        (WHOLE[:1] + WHOLE[2:], WHOLE[2:], "tar.gz .*lacks .'tests/golden/a.json'. and .*nothing"),
        (WHOLE[:2] + WHOLE[3:], WHOLE[2:], "tar.gz .*lacks .'geodis/__init__.py'."),
        (WHOLE, WHOLE[2:3], "whl .*lacks .'geodis/py.typed'."),
        (WHOLE, WHOLE[1:], "whl .*lacks nothing and has besides .'tests/golden/a.json'."),
    ],
)
def test_what_is_missing_or_stray_is_named(check_dist, tmp_path, in_archive, in_wheel, says):
    write_distributions(tmp_path, in_archive, in_wheel)
    with pytest.raises(SystemExit, match=says):
        check_dist.main(tmp_path)


def test_the_distribution_has_a_name_of_its_own():
    assert re.search(r'^name = "geodis-learn"$', PYPROJECT, re.MULTILINE)
    everywhere = [PYPROJECT, *(path.read_text() for path in (ROOT / "geodis").rglob("*.py"))]
    assert not any(re.search(r"['\"]geodis\[\w", text) for text in everywhere)
    # It is on no index yet: messages name the packages that are missing, which are.
    assert not any("geodis-learn[" in text for text in everywhere[1:])


def test_citation_and_metadata_agree():
    citation = import_module("yaml").safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert [author["name"] for author in citation["authors"]] == ["The geodis authors"]
    assert citation["version"] == geodis.__version__
    assert f'version = "{geodis.__version__}"' in PYPROJECT
    assert f'Source = "{citation["repository-code"]}"' in PYPROJECT
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    for reference in citation["references"]:
        assert f"*{reference['title']}.*" in readme
        for author in reference["authors"]:
            assert author["family-names"] in readme


def test_pins_fit_what_is_asked_for():
    asked = set(re.findall(r'^    "([\w.-]+)(?:\[\w+\])?[><=]', PYPROJECT, re.MULTILINE))
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert asked - set(pinned) == {"setuptools"}
