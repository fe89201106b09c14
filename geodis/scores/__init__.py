"""How disentangled latents are, by every score in use: one family of scores a file."""

from __future__ import annotations

from geodis._lazy import lazy_names

# Public names, and the file each lives in.
_HOME: dict[str, str] = {
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
}

__all__ = list(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME)
