"""Time, memory and accuracy against peers and literal twins, measured in the same run."""
