"""Public names, and where each lives: what runs and what type checkers read."""

from .factor_distances import ground_truth as ground_truth, FactorKinds as FactorKinds
from .factor_distances import perceived as perceived, latent as latent, LatentKind as LatentKind
from .image_losses import Loss as Loss, LossLike as LossLike, resolve_loss as resolve_loss
from .image_blocks import (
    distance_blocks as distance_blocks,
    DistanceBlock as DistanceBlock,
    nearest_images as nearest_images,
    NearestImages as NearestImages,
)
from .blurred import (
    BlurredLoss as BlurredLoss,
    box_blur as box_blur,
    gaussian_blur as gaussian_blur,
)
from .grid_distances import (
    GROUND_TRUTH as GROUND_TRUTH,
    PERCEIVED as PERCEIVED,
    LATENT as LATENT,
    GridDistances as GridDistances,
    DistanceSource as DistanceSource,
    perceived_between as perceived_between,
    code_of_rows as code_of_rows,
)
from .sampling import (
    sample_pairs as sample_pairs,
    sample_triplets as sample_triplets,
    PairsBy as PairsBy,
    TripletsBy as TripletsBy,
)
from .correlations import (
    correlation as correlation,
    Correlation as Correlation,
    triplet_agreement as triplet_agreement,
    geometric_mean as geometric_mean,
)
from .distance_agreement import (
    distance_correlations as distance_correlations,
    random_pairs as random_pairs,
)
from .distance_agreement import DistanceCorrelations as DistanceCorrelations, RANDOM as RANDOM
from .along_factors import (
    traversal_matrix as traversal_matrix,
    traversal_matrices as traversal_matrices,
    factor_importance as factor_importance,
    FactorImportance as FactorImportance,
)
from .representations import cka as cka, procrustes as procrustes, rsa as rsa
from .along_factors import overlap as overlap, Overlap as Overlap, FactorOverlap as FactorOverlap
