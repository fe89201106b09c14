"""Public names, and where each lives: what runs and what type checkers read."""

from .learning.learn_features import learn_features as learn_features
from .learning.learn_kernel import learn_kernel as learn_kernel
from .learning.loss_options import FeatureOptions as FeatureOptions, KernelOptions as KernelOptions
from .losses.augmented import AugmentedLoss as AugmentedLoss
from .losses.convolution import convolve as convolve
from .losses.feature_loss import FeatureLoss as FeatureLoss
from .losses.loss_kernel import LossKernel as LossKernel
from .losses.storage import load_kernel as load_kernel, save_kernel as save_kernel
from .ranks.soft_ranks import (
    soft_rank as soft_rank,
    soft_rank_vjp as soft_rank_vjp,
    soft_sort as soft_sort,
    soft_sort_vjp as soft_sort_vjp,
)
from .ranks.spearman import (
    pearson as pearson,
    relative_strength as relative_strength,
    soft_spearman as soft_spearman,
)
