"""Autoencoders, GANs and encoders, whose latents geodis analyses (torch)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
