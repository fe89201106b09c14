"""Matplotlib figures, one function each: results in, and an axis if there is one; the axis out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
