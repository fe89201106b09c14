"""Scores that predict the factors from the latents, and the models that do."""
