"""Options in groups: dataclasses in a command, flat options on the command line."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from geodis.base.check import InputError
from geodis.commands.options import (
    CommonOptions,
    DataSource,
    flat_options,
    open_data,
    periods_of,
    source_of,
)


@dataclass(frozen=True)
class Size:
    height: Annotated[int, typer.Option(help="How high.")]
    width: Annotated[int, typer.Option("--wide", min=1, help="How wide.")] = 2


def area(*, name: str, size: Size, times: int = 1, common: CommonOptions) -> None:
    """Multiply."""
    print(name, size.height * size.width * times, common.seed, common.verbose)


def test_fields_stand_in_the_place_of_their_group():
    signature = inspect.signature(flat_options(area))
    common = ["as_json", "seed", "quiet"]
    assert [*signature.parameters] == ["name", "height", "width", "times", *common]
    assert signature.parameters["height"].default is inspect.Parameter.empty
    assert signature.parameters["width"].default == 2
    assert flat_options(area).__doc__ == "Multiply."


def test_options_are_packed_for_the_call():
    app = typer.Typer()
    app.command()(flat_options(area))
    run = CliRunner().invoke
    done = run(app, ["box", "--height", "3", "--wide", "4", "--times", "2", "--quiet"])
    assert (done.exit_code, done.output) == (0, "box 24 0 False\n")
    assert run(app, ["box"]).exit_code == 2  # no height
    assert run(app, ["box", "--height", "3", "--wide", "0"]).exit_code == 2
    assert "How wide." in run(app, ["--help"]).output


def test_a_source_is_read_as_it_was_written():
    source = source_of({"data": "dsprites", "path": "a/b.npz"})
    assert source.given() == {"data": "dsprites", "path": "a/b.npz"}
    assert source == source_of(source.given()) and DataSource().given() == {}
    with pytest.raises(InputError, match=r"data, spacing, .*, factors, period, .*; got place"):
        source_of({"place": "here"})


@pytest.mark.parametrize("pair", ["angle", "=360", "angle=", "angle=round"])
def test_a_period_is_a_name_and_a_number(pair):
    with pytest.raises(InputError, match=f"--period takes name=number, .*; got {pair}"):
        periods_of(["hue=1", pair])


def test_periods_belong_to_factors_of_files():
    with pytest.raises(InputError, match="--period needs --factors; got --data"):
        open_data(DataSource(data="xysquares", period=["x=3"]), quiet=True)


def test_a_source_may_be_a_variant_of_a_set(tmp_path):
    np.save(tmp_path / "p.npy", np.zeros((70, 70, 3), np.uint8))
    given = {"data": "sprites", "variant": "scream", "picture": str(tmp_path / "p.npy")}
    grid = open_data(source_of(given), quiet=True)
    assert type(grid).__name__ == "ScreamVariant" and source_of(given).given() == given
    again = open_data(source_of(given), quiet=True)
    assert (grid.images([5]) == again.images([5])).all()
    masked = open_data(DataSource(data="sprites", variant="foreground", visibility=25), quiet=True)
    assert (masked.where, masked.visibility) == ("foreground", 25)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"picture": "p.png"}, "--picture needs --variant; got it without"),
        ({"visibility": 5.0}, "--visibility needs --variant; got it without"),
        ({"variant": "grey"}, "variant must be one of 'color', .*; got 'grey'"),
    ],
)
def test_what_is_no_variant_gets_a_sentence(given, message):
    with pytest.raises(InputError, match=message):
        open_data(source_of({"data": "sprites", **given}), quiet=True)


def test_images_without_factors_have_no_variant(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((4, 8, 8), np.uint8))
    with pytest.raises(InputError, match="--variant needs --factors with --images; got none"):
        open_data(DataSource(images=str(tmp_path / "x.npy"), variant="color"), quiet=True)
