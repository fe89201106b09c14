"""The package as a whole: what importing it costs, and the names it promises."""

import subprocess
import sys

import pytest

import geodis


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
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        geodis.no_such_name  # noqa: B018


def test_rooms_depend_downwards_only():
    program = (
        "import sys, geodis.manifold.local.graph, geodis.manifold.principal;"
        "print([name for name in sys.modules if name.startswith(('torch', 'geodis.cli', "
        "'geodis.plots', 'geodis.inspection'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
