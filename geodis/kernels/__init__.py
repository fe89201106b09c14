"""Differentiable rank correlation, and reconstruction losses learnt with it (torch).

`soft_rank`, `soft_sort` and `soft_spearman` are differentiable and need no torch for arrays.
`LossKernel` and `FeatureLoss` are reconstruction losses that also compare augmented images, and
`learn_kernel` and `learn_features` fit them to ground-truth distances.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
