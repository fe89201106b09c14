"""How disentangled latents are, by every score in use: one family of scores a file."""

from __future__ import annotations

from geodis._lazy import lazy_names

# Public names, and the file each lives in.
_HOME: dict[str, str] = {
    "mutual_information": "information",
    "mig": "information",
    "robust_mig": "information",
    "mig_sup": "information",
    "modularity": "information",
    "completeness": "information",
    "sap": "predictive",
    "explicitness": "predictive",
    "informativeness_r2": "predictive",
    "dci": "model_importance",
    "downstream": "sample_efficiency",
    "bin_factors": "binning",
    "bootstrap_interval": "intervals",
    "disentanglement_of": "importance",
    "completeness_of": "importance",
    "modularity_of": "importance",
    "compactness_of": "importance",
    "gap_of": "importance",
    "beta_vae": "interventional",
    "factor_vae": "interventional",
    "irs": "robustness",
    "linearity_ratio": "ratios",
    "axis_ratio": "ratios",
    "axis_orientation": "ratios",
    "flatness": "ratios",
    "distance_correlation": "ratios",
    "gaussian_total_correlation": "unsupervised",
    "wasserstein_correlation": "unsupervised",
    "mutual_info_score": "unsupervised",
    "udr": "unsupervised",
    "agreement": "across_models",
    "variance_explained": "across_models",
    "Agreement": "across_models",
    "score_latents": "table",
    "ScoreTable": "_score_table",
}

__all__ = list(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME)
