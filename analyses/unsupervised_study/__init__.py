"""What decides how well models disentangle: hundreds of models in one sweep (seeds 000, 004)."""
