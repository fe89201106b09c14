"""What the commands on models share: the run they open, its data, losses and settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis.base.check import InputError
from geodis.commands._data import open_data

if TYPE_CHECKING:
    from geodis.models.model import Model

RunArgument = Annotated[
    Path, typer.Argument(help="Folder that `geodis train` wrote.", show_default=False)
]


def data_of(run: Path, quiet: bool) -> Any:
    """The data that a run was trained on."""
    from geodis.models.saving import read_config

    source = read_config(run).get("data")
    if source is None:
        raise InputError(f"{run} does not say what it was trained on: pass --images.")
    return open_data(source, quiet)


def open_model(run: Path, device: str = "auto") -> Model:
    """The model of a run, on its device."""
    from geodis.models.saving import load_model
    from geodis.models.training.loop import choose_device

    return load_model(run).to(choose_device(device))


def loss_named(name: str) -> Any:
    """A reconstruction loss by its name on the command line."""
    from geodis.models.autoencoders import LOSSES

    if name in LOSSES:
        return name
    from geodis.kernels.losses.loss_kernel import LossKernel
    from geodis.kernels.losses.storage import load_kernel

    if name.endswith(".safetensors"):
        return load_kernel(name)
    kind, _, radius = name.partition(":")
    if kind in ("box", "gaussian") and radius.isdigit():
        return getattr(LossKernel, kind)(int(radius))
    raise InputError(
        f"--loss must be {', '.join(LOSSES)}, box:RADIUS, gaussian:RADIUS or the file of a learnt "
        f"kernel, kernel.safetensors; {name} came."
    )


def settings_of(pairs: list[str] | None) -> dict[str, Any]:
    """Settings written as name=value."""
    found: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set takes name=value, such as beta=4; {pair} came.")
        found[name.replace("-", "_")] = _value(text)
    return found


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
