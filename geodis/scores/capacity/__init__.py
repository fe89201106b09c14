"""Scores of how large a model must be before it can use the latents."""
