"""How far a fit can be trusted: how often its factors are found again, and how far they err."""
