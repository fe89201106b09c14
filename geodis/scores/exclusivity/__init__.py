"""Scores of how much a latent and a factor have to themselves."""
