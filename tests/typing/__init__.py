"""Code of a user, which type checkers read."""
