"""Scores that predict factors from latents, and their models."""
