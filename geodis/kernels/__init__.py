"""Differentiable rank correlation, and reconstruction losses learnt with it (torch).

In order: `soft_rank` and `soft_sort` of values, `soft_spearman` of two sets of them (arrays need
no torch); `LossKernel` and `FeatureLoss`, reconstruction losses that also compare augmented
images; `learn_kernel` and `learn_features`, which fit those to ground-truth distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodis._lazy import lazy_names

if TYPE_CHECKING:  # for editors and type checkers; `_HOME` is what runs
    from geodis.kernels.convolution import convolve
    from geodis.kernels.feature_learning import learn_features
    from geodis.kernels.features import FeatureLoss
    from geodis.kernels.learning import learn_kernel
    from geodis.kernels.loss_kernel import LossKernel
    from geodis.kernels.soft_ranks import soft_rank_vjp, soft_sort, soft_sort_vjp
    from geodis.kernels.spearman import pearson, relative_strength, soft_spearman
    from geodis.kernels.storage import load_kernel, save_kernel

# Public names, and the file each lives in.
_HOME: dict[str, str] = {
    "soft_rank": "soft_ranks",
    "soft_sort": "soft_ranks",
    "soft_rank_vjp": "soft_ranks",
    "soft_sort_vjp": "soft_ranks",
    "soft_spearman": "spearman",
    "pearson": "spearman",
    "relative_strength": "spearman",
    "convolve": "convolution",
    "LossKernel": "loss_kernel",
    "FeatureLoss": "features",
    "learn_kernel": "learning",
    "learn_features": "feature_learning",
    "save_kernel": "storage",
    "load_kernel": "storage",
}

__all__ = list(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME)
