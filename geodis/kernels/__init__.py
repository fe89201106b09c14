"""Differentiable rank correlation, and reconstruction losses learnt with it (torch).

In order: `soft_rank` and `soft_sort` of values, `soft_spearman` of two sets of them (arrays need
no torch); `LossKernel` and `FeatureLoss`, reconstruction losses that also compare augmented
images; `learn_kernel` and `learn_features`, which fit those to ground-truth distances.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
