"""Whether every term of the loss is a number, without a wait for the device at every step."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import torch
from torch import Tensor


class TermsWatch:
    """Keeps the terms of steps until somebody looks, and says which of them was no number.

    A look makes the processor wait for the device. On the CPU, where there is nothing to wait for,
    every step is looked at.

    Parameters
    ----------
    device : torch.device

    Examples
    --------
    >>> watch = TermsWatch(torch.device("cpu"))
    >>> watch.note({"kl": torch.tensor(torch.nan)}, 7)
    Traceback (most recent call last):
    FloatingPointError: kl became nan at step 7, in batch 7: lower the learning rate, or look at ...
    """

    def __init__(self, device: torch.device) -> None:
        self._at_once = device.type == "cpu"
        self._unseen: list[tuple[int, tuple[str, ...], Tensor]] = []

    def note(self, terms: Mapping[str, Tensor], step: int) -> None:
        """Keep the terms of a step."""
        values = torch.stack([value.detach().float() for value in terms.values()])
        self._unseen.append((step, tuple(terms), values))
        if self._at_once:
            self.look()

    def look(self) -> None:
        """Raise a FloatingPointError if any term since the last look is no number."""
        unseen, self._unseen = self._unseen, []
        if not unseen or torch.cat([values for _, _, values in unseen]).isfinite().all():
            return
        for step, names, values in unseen:
            for name, value in zip(names, values.tolist(), strict=True):
                if not isfinite(value):
                    raise FloatingPointError(
                        f"{name} became {value} at step {step}, in batch {step}: lower the "
                        "learning rate, or look at that batch."
                    )
