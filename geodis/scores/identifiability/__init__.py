"""Scores of identifiability: latents as functions of factors, up to what cannot be known."""
