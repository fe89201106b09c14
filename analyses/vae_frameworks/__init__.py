"""Two frameworks on sets that are easy or hard to perceive (seed 001)."""
