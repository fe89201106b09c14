"""Scores from predicting factors: from one latent at a time, or from all of them."""
