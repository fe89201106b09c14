"""geodis: geometry-first disentanglement analysis of points, latents and images.

Importing this package is cheap: a public name is imported when it is first used, so torch,
matplotlib and pynndescent load only where they are needed.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
