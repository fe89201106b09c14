"""Differentiable rank correlation, and reconstruction losses learnt with it (torch)."""

from __future__ import annotations

from geodis._lazy import lazy_names

# Public names, and the file each lives in.
_HOME: dict[str, str] = {}

__all__ = list(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME)
