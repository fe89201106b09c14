"""Distances between images: losses, with blur or without, and the sums behind them."""
