"""Public names, and where each lives: what runs and what type checkers read."""

from .information.mutual_information import mutual_information as mutual_information
from .information.mig import mig as mig, robust_mig as robust_mig
from .information.mig_sup import mig_sup as mig_sup
from .information.modularity import modularity as modularity
from .information.completeness import completeness as completeness
from .information.infomec import infomec as infomec
from .information.jemmig import jemmig as jemmig
from .information.dcimig import dcimig as dcimig
from .information.med import med as med
from .exclusivity.edi import edi as edi
from .dependence.minimality import minimality as minimality, sufficiency as sufficiency
from .dependence.t_mex import t_mex as t_mex
from .prediction.sap import sap as sap
from .prediction.dci import dci as dci
from .prediction.explicitness import explicitness as explicitness
from .prediction.informativeness import informativeness_r2 as informativeness_r2
from .prediction.downstream import downstream as downstream
from .capacity.dci_es import dci_es as dci_es
from .intervention.beta_vae import beta_vae as beta_vae
from .intervention.factor_vae import factor_vae as factor_vae
from .intervention.irs import irs as irs
from .intervention.z_max_variance import z_max_variance as z_max_variance
from .traversal.linearity_ratio import linearity_ratio as linearity_ratio
from .traversal.axis_ratio import axis_ratio as axis_ratio
from .traversal.axis_orientation import axis_orientation as axis_orientation
from .traversal.flatness import flatness as flatness
from .traversal.distance_correlation import distance_correlation as distance_correlation
from .unsupervised.gaussian_total_correlation import (
    gaussian_total_correlation as gaussian_total_correlation,
)
from .unsupervised.wasserstein_correlation import (
    wasserstein_correlation as wasserstein_correlation,
)
from .unsupervised.mutual_info_score import mutual_info_score as mutual_info_score
from .posterior.windin import windin as windin
from .unsupervised.udr import udr as udr
from .across_models.score_agreement import agreement as agreement, Agreement as Agreement
from .across_models.variance_explained import variance_explained as variance_explained
from .across_models.score_many import score_many as score_many
from .across_models.many_scores import ManyScores as ManyScores
from .identifiability.mcc import mcc as mcc
from .identifiability.weak_mcc import weak_mcc as weak_mcc
from .identifiability.snc import snc as snc
from .identifiability.block_r2 import block_r2 as block_r2
from .grouping.match_given_factors import (
    match_given_factors as match_given_factors,
    MatchedFactor as MatchedFactor,
)
from .symmetry.tangent_match import tangent_match as tangent_match
from .symmetry.d_lsbd import d_lsbd as d_lsbd
from .symmetry.equivariance import equivariance as equivariance
from .importance import (
    MatrixScore as MatrixScore,
    disentanglement_of as disentanglement_of,
    completeness_of as completeness_of,
    modularity_of as modularity_of,
    compactness_of as compactness_of,
    gap_of as gap_of,
)
from .binning import bin_factors as bin_factors
from .intervals import bootstrap_interval as bootstrap_interval
from .card import Card as Card
from .score import Score as Score
from .registry import register_score as register_score, unregister_score as unregister_score
from .table.score_latents import score_latents as score_latents
from .table.score_table import ScoreTable as ScoreTable
