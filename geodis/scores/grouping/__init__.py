"""Factors of several columns, and groups of latents."""
