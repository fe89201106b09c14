"""Every score of one pair of arrays, with chance levels and intervals."""
