"""Torch for the files of this room that need it, or a sentence about how to install it."""

from __future__ import annotations

from geodis.base.check import require

require("torch", purpose="Learning and applying loss kernels")

import torch as torch  # noqa: E402
