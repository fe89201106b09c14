"""Where points, images and factors come from: sampled manifolds, drawn images, users' files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
