"""Public names, and where each lives: what runs and what type checkers read."""

from .information import (
    mutual_information as mutual_information,
    mig as mig,
    robust_mig as robust_mig,
    mig_sup as mig_sup,
    modularity as modularity,
    completeness as completeness,
)
from .predictive import (
    sap as sap,
    explicitness as explicitness,
    informativeness_r2 as informativeness_r2,
)
from .model_importance import dci as dci
from .sample_efficiency import downstream as downstream
from .binning import bin_factors as bin_factors
from .intervals import bootstrap_interval as bootstrap_interval
from .importance import (
    disentanglement_of as disentanglement_of,
    completeness_of as completeness_of,
    modularity_of as modularity_of,
    compactness_of as compactness_of,
    gap_of as gap_of,
)
from .interventional import beta_vae as beta_vae, factor_vae as factor_vae
from .robustness import irs as irs
from .ratios import (
    linearity_ratio as linearity_ratio,
    axis_ratio as axis_ratio,
    axis_orientation as axis_orientation,
    flatness as flatness,
    distance_correlation as distance_correlation,
)
from .unsupervised import (
    gaussian_total_correlation as gaussian_total_correlation,
    wasserstein_correlation as wasserstein_correlation,
    mutual_info_score as mutual_info_score,
    udr as udr,
)
from .across_models import (
    agreement as agreement,
    variance_explained as variance_explained,
    Agreement as Agreement,
)
from .table import score_latents as score_latents
from ._score_table import ScoreTable as ScoreTable
