"""geodis: geometry-first disentanglement analysis of points, latents and images.

Importing this package is cheap: a public name is imported when it is first used, so torch,
matplotlib and pynndescent load only where they are needed.
"""

import importlib
from typing import Any

import lazy_loader

__version__ = "0.1.0"

_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "report":  # the room, which is called as its function: always the same object
        return importlib.import_module("geodis.report")
    return _public_name(name)
