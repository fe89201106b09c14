"""Import torch, or raise an error that explains how to install it."""

from __future__ import annotations

from geodis.base.check import require

require("torch", purpose="Learning and applying loss kernels")

import torch as torch  # noqa: E402
