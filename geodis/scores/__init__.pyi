"""Public names, and where each lives: what runs and what type checkers read."""

from .information.mutual_information import mutual_information as mutual_information
from .information.mig import mig as mig, robust_mig as robust_mig
from .information.mig import mig_sup as mig_sup
from .information.modularity import modularity as modularity
from .information.modularity import completeness as completeness
from .information.infomec import infomec as infomec
from .information.modularity import jemmig as jemmig
from .information.modularity import dcimig as dcimig
from .information.modularity import med as med
from .information.edi import edi as edi
from .information.t_mex import minimality as minimality, sufficiency as sufficiency
from .information.t_mex import t_mex as t_mex
from .predictive.sap import sap as sap
from .predictive.dci import dci as dci
from .predictive.explicitness import explicitness as explicitness
from .predictive.explicitness import informativeness_r2 as informativeness_r2
from .predictive.downstream import downstream as downstream
from .predictive.dci import dci_es as dci_es
from .interventional.beta_vae import beta_vae as beta_vae
from .interventional.factor_vae import factor_vae as factor_vae
from .interventional.irs import irs as irs
from .interventional.beta_vae import z_max_variance as z_max_variance
from .geometry.linearity_ratio import linearity_ratio as linearity_ratio
from .geometry.linearity_ratio import axis_ratio as axis_ratio
from .geometry.linearity_ratio import axis_orientation as axis_orientation
from .geometry.flatness import flatness as flatness
from .geometry.flatness import distance_correlation as distance_correlation
from .unsupervised.gaussian import gaussian_total_correlation as gaussian_total_correlation
from .unsupervised.gaussian import wasserstein_correlation as wasserstein_correlation
from .unsupervised.gaussian import mutual_info_score as mutual_info_score
from .unsupervised.windin import windin as windin
from .unsupervised.udr import udr as udr
from .many.score_agreement import agreement as agreement, Agreement as Agreement
from .many.score_agreement import variance_explained as variance_explained
from .many.score_many import score_many as score_many
from .many.many_scores import ManyScores as ManyScores
from .predictive.mcc import mcc as mcc
from .predictive.mcc import weak_mcc as weak_mcc
from .predictive.mcc import snc as snc
from .predictive.block_r2 import block_r2 as block_r2
from .match_given_factors import (
    match_given_factors as match_given_factors,
    MatchedFactor as MatchedFactor,
)
from .geometry.tangent_match import tangent_match as tangent_match
from .geometry.d_lsbd import d_lsbd as d_lsbd
from .geometry.d_lsbd import equivariance as equivariance
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
from .card import Score as Score
from .registry import register_score as register_score, unregister_score as unregister_score
from .score_latents import score_latents as score_latents
from .score_table import ScoreTable as ScoreTable
