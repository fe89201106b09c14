"""Commands of other packages: one is added in a few lines, and a broken one is a note."""

import sys
from functools import partial
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from geodis import cli
from geodis.base.check import InputError
from geodis.base.plugins import load_plugins

MEAN = """
from typing import Annotated

import typer

import geodis as gd
from geodis.cli import register_command
from geodis.commands.options import CommonOptions, FileArgument


def mean_command(
    *,
    file: FileArgument,
    digits: Annotated[int, typer.Option(min=0, help="Digits to show.")] = 2,
    common: CommonOptions,
) -> None:
    'Print the mean of every column.'
    print(*gd.load_array(file).mean(axis=0).round(digits))

register_command(mean_command, heading="Arithmetic")
"""
UNREADABLE = """
from geodis.cli import register_command

def odd(value: str | int) -> None:
    pass

register_command(odd)
"""


@pytest.fixture
def declare(monkeypatch, tmp_path):
    """Declare modules of these sources in the group "geodis.commands", as packages do."""
    monkeypatch.syspath_prepend(tmp_path)
    load_plugins.cache_clear()

    def with_modules(**sources):
        for name, source in sources.items():
            (tmp_path / f"{name}.py").write_text(source)
        entries = [EntryPoint(name, name, "geodis.commands") for name in sources]
        monkeypatch.setattr("geodis.base.plugins.entry_points", lambda group: entries)

    yield with_modules
    for command in [*cli.app.registered_commands]:
        if command.name not in cli.OWN_COMMANDS:
            cli.unregister_command(str(command.name))
    for name in ("plugin_mean", "plugin_broken", "plugin_unreadable"):
        sys.modules.pop(name, None)
    load_plugins.cache_clear()


def test_a_command_of_another_package_is_one_of_ours(declare, geodis, tmp_path):
    assert len(MEAN.strip().splitlines()) <= 20
    declare(plugin_mean=MEAN)
    np.save(tmp_path / "x.npy", [[1.0, 2.0], [2.0, 4.0]])
    assert geodis("mean", tmp_path / "x.npy", "--digits", 1) == (0, "1.5 3.0\n", "")
    code, out, _ = geodis("--help")
    assert code == 0 and out.index("Models") < out.index("Arithmetic") < out.index("mean")
    code, _, err = geodis("mean", tmp_path / "none.npy")
    assert code == 2 and "none.npy" in err and len(err.splitlines()) == 1
    assert "Digits to show." in geodis("mean", "--help")[1]


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("plugin_broken", "import no_such_package", "No module named 'no_such_package'"),
        ("plugin_broken", "import sys\nsys.exit('no licence')", "SystemExit: no licence"),
        ("plugin_unreadable", UNREADABLE, "support Union types"),
    ],
)
def test_a_broken_command_is_a_note_and_the_others_work(declare, geodis, name, source, message):
    declare(plugin_mean=MEAN, **{name: source})
    code, out, err = geodis("--help")
    assert code == 0 and "inspect" in out and "mean" in out
    assert err.startswith(f"note: {name} of {name}") and message in err
    assert len(err.splitlines()) == 1


def test_a_name_is_taken_once():
    with pytest.raises(InputError, match="got 'train', which is taken"):
        cli.register_command(lambda: None, name="train")


@pytest.mark.parametrize("name", ["two words", "-x", "", "snake_case", "a/b", "é", None, 5])
def test_a_name_is_a_word(name):
    with pytest.raises(InputError, match=r"letters, digits and '-', .*; got "):
        cli.register_command(lambda: None, name=name)


def test_what_has_no_name_needs_one():
    with pytest.raises(InputError, match="got '<lambda>'"):
        cli.register_command(lambda: None)
    with pytest.raises(InputError, match="got ''"):
        cli.register_command(partial(print, "a"))


def test_a_command_goes_again():
    before = [*cli.app.registered_commands]
    cli.register_command(lambda: None, name="nothing")
    assert cli.app.registered_commands[-1].name == "nothing"
    cli.unregister_command("nothing")
    assert cli.app.registered_commands == before
    for name in ("nothing", "train"):
        with pytest.raises(InputError, match=f"an added command; got '{name}'"):
            cli.unregister_command(name)
