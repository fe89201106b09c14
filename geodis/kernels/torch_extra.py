"""Torch for the files of this room that cannot do without it, or the extra that brings it."""

from __future__ import annotations

from geodis.base.check import require

require("torch", extra="torch", purpose="Learning and applying loss kernels")

import torch as torch  # noqa: E402
