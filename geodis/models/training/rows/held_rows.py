"""Rows of data where they are computed with: held on the device, or sent there batch by batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError
from geodis.models.model import Model
from geodis.models.model_inputs import as_rows, dtype_of, scaled, sent
from geodis.models.training.train_options import RowsOn

# Of the memory that a device has free, what rows may take where nobody asked for it.
SHARE = 0.25
# Rows that are drawn or read at once where all are held.
BLOCK = 512


class HeldRows:
    """Rows by their indices, floats, on a device.

    Parameters
    ----------
    model : Model
        Whose shape rows have, and whether they must be in [0, 1].
    read : callable
        Indices (b,) -> rows, as for `model_inputs.as_rows`.
    n : int
        Rows there are.
    device : torch.device
    hold : bool
        Keep all rows on the device, bytes as bytes, and index them there; otherwise the rows of
        every batch are read, and sent.
    """

    def __init__(
        self,
        model: Model,
        read: Callable[[np.ndarray], Any],
        n: int,
        device: torch.device,
        hold: bool,
    ) -> None:
        self._model, self._read, self._device = model, read, device
        self._held: Tensor | None = self._all(n) if hold else None

    @property
    def held(self) -> bool:
        """Whether all rows are on the device."""
        return self._held is not None

    def __call__(self, index: np.ndarray, step: int) -> Tensor:
        """Rows (b, ...) of the batch of a step."""
        if self._held is not None:
            rows = self._held[sent(torch.from_numpy(index), self._device)]
            return scaled(rows, dtype_of(self._model))
        return checked_rows(self._read(index), self._model, f"batch {step}", self._device)

    def _all(self, n: int) -> Tensor:
        """All rows on the device; a tensor that is there is not copied."""
        held: Tensor | None = None
        for start in range(0, n, BLOCK):
            index = np.arange(start, min(start + BLOCK, n))
            rows = as_rows(self._read(index), self._model.shape)
            if rows.device.type == "cpu":
                check_range(self._model, rows, "the data")
            rows = sent(rows, self._device, dtype_of(self._model))
            if held is None:
                kind = torch.uint8 if rows.dtype == torch.uint8 else dtype_of(self._model)
                held = torch.empty(n, *rows.shape[1:], dtype=kind, device=self._device)
            held[start : start + len(rows)] = rows
        assert held is not None
        return held


def checked_rows(rows: Any, model: Model, where: str, device: torch.device) -> Tensor:
    """Rows as a model takes them, on a device; what is wrong with them is said before they go."""
    checked = as_rows(rows, model.shape)
    if checked.device.type == "cpu":  # a look at another device would be a wait for it
        check_range(model, checked, where)
    dtype = dtype_of(model)
    return scaled(sent(checked, device, dtype), dtype)


def check_range(model: Model, rows: Tensor, where: str) -> None:
    """Require rows in [0, 1] where the model does; bytes are."""
    if not model.unit_range or rows.dtype in (torch.uint8, torch.bool) or not rows.numel():
        return
    low, high = (float(each) for each in rows.aminmax())
    if low < 0 or high > 1:
        other = " or use loss='mse'" if hasattr(model.settings, "loss") else ""
        raise InputError(
            f"{model.unit_range} needs data in [0, 1]; got {low:g} to {high:g} in {where}: "
            f"scale the data{other}."
        )


def holds_rows(
    rows_on: RowsOn, device: torch.device, n: int, shape: tuple[int, ...], drawn: int | None
) -> bool:
    """Whether all n rows of a shape go to the device.

    Where nobody says, they do if a GPU has room for them, and if at least as many will be `drawn`
    in the training.
    """
    if rows_on != "auto":
        return rows_on == "device"
    needed = 4 * n * math.prod(shape)
    enough = drawn is None or n <= drawn
    return enough and needed <= SHARE * free_bytes(device)


def free_bytes(device: torch.device) -> int:
    """Memory that a GPU has free; none where rows are at hand already, or nobody can tell."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 0
