"""What seed 000 claims, row by row, with verdicts and their power."""
