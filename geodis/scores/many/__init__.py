"""Scores of many models: computing, comparing and summarising them."""
