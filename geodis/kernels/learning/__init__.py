"""Pairs with ground-truth distances -> a loss that sees them."""
