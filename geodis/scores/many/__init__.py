"""Scores of many models."""
