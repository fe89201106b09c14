"""Basics for all other packages: checks, atomic writes, parallel jobs, progress."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
