"""Public names, and where each lives: what runs and what type checkers read."""

from .learn_kernel import learn_features as learn_features
from .learn_kernel import learn_kernel as learn_kernel
from .learning_task import FeatureOptions as FeatureOptions, KernelOptions as KernelOptions
from .augmented import AugmentedLoss as AugmentedLoss
from .augmented import convolve as convolve
from .loss_kernel import FeatureLoss as FeatureLoss
from .loss_kernel import LossKernel as LossKernel
from .storage import load_kernel as load_kernel, save_kernel as save_kernel
from .soft_ranks import (
    soft_rank as soft_rank,
    soft_rank_vjp as soft_rank_vjp,
    soft_sort as soft_sort,
    soft_sort_vjp as soft_sort_vjp,
)
from .spearman import (
    pearson as pearson,
    relative_strength as relative_strength,
    soft_spearman as soft_spearman,
)
