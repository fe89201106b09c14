"""Batches, schedules, the loop, checkpoints, and scores while it runs."""
