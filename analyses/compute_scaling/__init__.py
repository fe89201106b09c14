"""Scores against compute, and of encoders that were not trained to disentangle (seed 004)."""
