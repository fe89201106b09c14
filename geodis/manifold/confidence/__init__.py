"""How far a fit can be trusted: how often refits give the same factors, and how far they err."""
