"""Scores from the mutual information between every latent and every factor."""
