"""What the commands on models share: the run they open, its data and settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis.base.check import InputError
from geodis.commands.shared.data_source import open_data, source_of

if TYPE_CHECKING:
    import numpy as np

    from geodis.data.grids.grid import FactorGrid
    from geodis.models import Model

RunArgument = Annotated[
    Path, typer.Argument(help="Folder that `geodis train` wrote.", show_default=False)
]


def data_of(run: Path, quiet: bool) -> FactorGrid | np.ndarray:
    """The data that a run was trained on."""
    from geodis.models.saving import read_config

    given = read_config(run).get("data")
    if given is None:
        raise InputError(f"{run} does not say what it was trained on: pass --images.")
    return open_data(source_of(given), quiet)


def sampled_rows(n: int, most: int | None, seed: int) -> np.ndarray:
    """At most so many numbers of n rows, drawn at random, in order."""
    import numpy as np

    from geodis.base.check import check_random_state

    if most is None or n <= most:
        return np.arange(n)
    return np.sort(check_random_state(seed).choice(n, most, replace=False))


def images_at(rows: FactorGrid | np.ndarray, index: Any) -> np.ndarray:
    """Some images of a grid, or rows of an array."""
    from geodis.data.grids.grid import FactorGrid

    return rows.images(index, "auto") if isinstance(rows, FactorGrid) else rows[index]


def open_model(run: Path, device: str = "auto") -> Model:
    """The model of a run, on its device."""
    from geodis.models import load_model
    from geodis.models.training.devices import choose_device

    chosen: Any = device  # "cuda:1" too, which the check knows
    return load_model(run).to(choose_device(chosen))


def settings_of(pairs: list[str] | None) -> dict[str, Any]:
    """Settings written as name=value."""
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set takes name=value, such as beta=4; got {pair}.")
        settings[name.replace("-", "_")] = _value(text)
    return settings


def _value(text: str) -> bool | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
