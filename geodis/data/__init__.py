"""Sources of points, images and factors: sampled manifolds, rendered images, users' files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
