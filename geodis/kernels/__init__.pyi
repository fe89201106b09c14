"""Public names, and where each lives: what runs and what type checkers read."""

from .ranks.soft_ranks import (
    soft_rank as soft_rank,
    soft_sort as soft_sort,
    soft_rank_vjp as soft_rank_vjp,
    soft_sort_vjp as soft_sort_vjp,
)
from .ranks.spearman import (
    soft_spearman as soft_spearman,
    pearson as pearson,
    relative_strength as relative_strength,
)
from .losses.convolution import convolve as convolve
from .losses.loss_kernel import LossKernel as LossKernel
from .losses.feature_loss import FeatureLoss as FeatureLoss
from .learning.learn_kernel import learn_kernel as learn_kernel
from .learning.learn_features import learn_features as learn_features
from .losses.storage import save_kernel as save_kernel, load_kernel as load_kernel
