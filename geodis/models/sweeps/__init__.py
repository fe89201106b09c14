"""Sweeps: training and scoring a grid of models, settings, data sets and seeds."""
