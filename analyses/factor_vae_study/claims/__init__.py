"""What seed 003 claims, row by row, with verdicts and their power."""
