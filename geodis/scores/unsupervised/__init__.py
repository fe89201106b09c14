"""Scores without factors: dependence of latents, and agreement of models."""
